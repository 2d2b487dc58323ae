//! Whether stages that were begun are still those of the file, and their inputs the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use whetstone_core::config::Config;
use whetstone_record::stages::{StageFileDigest, StageRecord, StageState, Stages, stage_dir};

use super::digest::digest;
use super::plan::{Origin, Plan, PlannedStage};
use super::what::What;
use crate::failure::Failure;

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// Refuses to go on if a stage that was begun is another one now; those of `again` begin anew.
pub(super) fn check(
    plan: &Plan,
    known: Option<&Stages>,
    again: &BTreeSet<String>,
    run: &Path,
) -> Result<(), Failure> {
    let Some(known) = known else { return Ok(()) };
    for stage in &plan.stages {
        let name = &stage.entry.name;
        let record = known.get(name).filter(|record| record.state != StageState::Waiting);
        if let Some(record) = record.filter(|_| !again.contains(name))
            && let Some(what) = difference(stage, record, plan, run)?
        {
            return Err(Failure::Stages {
                problem: format!("the stage `{name}` was begun with something else: {what}"),
                hint: format!(
                    "`--from {name}` starts again from there, `--run NAME` makes another run; or undo the change"
                ),
            });
        }
    }
    Ok(())
}

/// The first thing that differs.
fn difference(
    stage: &PlannedStage,
    record: &StageRecord,
    plan: &Plan,
    run: &Path,
) -> Result<Option<String>, Failure> {
    if record.kind != stage.kind.name {
        return Ok(Some(format!("its kind was `{}`, and is `{}`", record.kind, stage.kind.name)));
    }
    let options = options(stage)?;
    if record.options != options {
        return Ok(Some(format!("its options were {}, and are {options}", record.options)));
    }
    if let Some(key) = other_setting(&record.settings, &settings(stage)) {
        return Ok(Some(key));
    }
    for input in inputs(stage, plan, run)? {
        let before = record.inputs.iter().find(|before| before.what == input.what);
        match before {
            None => return Ok(Some(format!("it had no {}", input.what))),
            Some(before) if before.path != input.path => {
                let (what, path) = (&input.what, &input.path);
                return Ok(Some(format!(
                    "its {what} were those of `{}`, and are those of `{path}`",
                    before.path
                )));
            }
            Some(before) if before.blake3 != input.blake3 => {
                return Ok(Some(format!(
                    "`{}`, its {}, has changed since",
                    input.path, input.what
                )));
            }
            Some(_) => {}
        }
    }
    let is_gone = |before: &&StageFileDigest| {
        !stage.inputs.iter().any(|(what, _)| what.name() == before.what)
    };
    if let Some(gone) = record.inputs.iter().find(is_gone) {
        return Ok(Some(format!("it had {} of `{}`", gone.what, gone.path)));
    }
    for output in &record.outputs {
        let path = run.join(&output.path);
        if !path.exists() {
            return Ok(Some(format!("`{}`, which it made, is gone", path.display())));
        }
        if digest(&path)? != output.blake3 {
            return Ok(Some(format!("`{}`, which it made, has changed since", path.display())));
        }
    }
    Ok(None)
}

/// The first setting that differs, as text.
fn other_setting(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Option<String> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let key = keys.into_iter().find(|key| before.get(*key) != now.get(*key))?;
    let value = |map: &BTreeMap<String, String>| match map.get(key) {
        Some(value) => crate::text::plain(value, SHOWN),
        None => "the default".to_owned(),
    };
    Some(format!("`{key}` was {}, and is {}", value(before), value(now)))
}

/// The options of a stage, as JSON.
pub(super) fn options(stage: &PlannedStage) -> Result<String, Failure> {
    let options: Value = stage.entry.options().map_err(|problem| Failure::Config(vec![problem]))?;
    Ok(options.to_string())
}

/// The settings of a stage that are not defaults: those on which what it makes depends.
pub(super) fn settings(stage: &PlannedStage) -> BTreeMap<String, String> {
    changed_settings(&stage.loaded.config, stage.kind.sections)
}

fn changed_settings(config: &Config, sections: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let [ours, defaults] =
        [config, &Config::default()].map(|config| serde_json::to_value(config).unwrap_or_default());
    differing("", &ours, &defaults, &mut found);
    found.retain(|key, _| {
        let section = key.split('.').next().unwrap_or_default();
        section == "seed" || sections.contains(&section)
    });
    found
}

fn differing(path: &str, ours: &Value, defaults: &Value, found: &mut BTreeMap<String, String>) {
    if let Value::Object(keys) = ours {
        for (key, value) in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            differing(&path, value, &defaults[key], found);
        }
    } else if ours != defaults {
        found.insert(path.to_owned(), ours.to_string());
    }
}

/// The inputs of a stage that are there, each with its digest.
pub(super) fn inputs(
    stage: &PlannedStage,
    plan: &Plan,
    run: &Path,
) -> Result<Vec<StageFileDigest>, Failure> {
    let mut found = Vec::new();
    for (what, origin) in &stage.inputs {
        let path = path_of(*what, origin, plan, run);
        if path.exists() {
            let from = match origin {
                Origin::Stage(name) => name.clone(),
                Origin::Path(path) => path.display().to_string(),
            };
            let blake3 = digest(&path)?;
            found.push(StageFileDigest { what: what.name().to_owned(), path: from, blake3 });
        }
    }
    Ok(found)
}

/// The path of an input.
pub(super) fn path_of(what: What, origin: &Origin, plan: &Plan, run: &Path) -> PathBuf {
    let name = match origin {
        Origin::Path(path) => return path.clone(),
        Origin::Stage(name) => name,
    };
    let maker = plan.stages.iter().find(|stage| stage.entry.name == *name);
    let made = maker.and_then(|maker| maker.kind.makes.iter().find(|(made, _)| *made == what));
    stage_dir(run, name).join(made.map_or("", |(_, file)| file))
}

#[cfg(test)]
mod tests {
    use super::super::kinds::KINDS;
    use super::*;

    #[test]
    fn a_kind_depends_on_sections_that_there_are() {
        let config = serde_json::to_value(Config::default()).unwrap();
        for kind in KINDS {
            for section in kind.sections {
                assert!(config[section].is_object(), "{}: {section}", kind.name);
            }
        }
    }

    #[test]
    fn settings_are_those_that_are_not_defaults_and_the_first_that_differs_is_named() {
        let mut config = Config::default();
        config.training.max_steps = 7;
        config.run.dir = "elsewhere".to_owned();
        config.rm.epochs = 3;
        let now = changed_settings(&config, &["training"]);
        assert_eq!(now, BTreeMap::from([("training.max_steps".to_owned(), "7".to_owned())]));
        let before = changed_settings(&Config::default(), &["training"]);
        let said = "`training.max_steps` was the default, and is 7";
        assert_eq!(other_setting(&before, &now).as_deref(), Some(said));
        assert_eq!(other_setting(&now, &now), None);
    }
}
