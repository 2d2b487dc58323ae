//! What an outside validator answers: one JSON object, the `validation` of a reply as far as the validator goes.
//!
//! Read strictly: fields that are not known, twice there or of another type are refused, and so is an answer that
//! contradicts itself. The guide `docs/guides/phaser.md` has the table of fields.

use serde::Deserialize;
use whetstone_phaser::check::{
    ApiFindings, FewArguments, Findings, Lifecycle, MAX_FINDINGS, ParseError, ParseFindings,
    ParseMode, UnknownName,
};
use whetstone_sandbox::phaser::{FailureClass, ObjectState, Stage};

use super::super::checks::CheckResult;
use super::super::validation::{FormatFindings, OBJECTS, RuntimeFindings, Validation};
use super::Question;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    format: Option<FormatAnswer>,
    parse: ParseAnswer,
    api: Option<ApiAnswer>,
    lifecycle: Option<LifecycleAnswer>,
    runtime: Option<RuntimeAnswer>,
    task: Option<Vec<CheckResult>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FormatAnswer {
    plan: Option<f64>,
    block: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParseAnswer {
    ok: bool,
    #[serde(default)]
    mode: ParseMode,
    #[serde(default)]
    errors: Vec<ParseError>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApiAnswer {
    resolved: u32,
    #[serde(default)]
    unknown: Vec<UnknownName>,
    #[serde(default)]
    few_args: Vec<FewArguments>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the answer")]
struct LifecycleAnswer {
    create: bool,
    new_game: bool,
    #[serde(default)]
    preload: bool,
    #[serde(default)]
    update: bool,
    #[serde(default)]
    scene_class: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeAnswer {
    stage: Stage,
    ok: bool,
    object_count: usize,
    class: Option<FailureClass>,
    error: Option<String>,
    line: Option<u32>,
    #[serde(default)]
    frames: u32,
    #[serde(default)]
    scenes: Vec<String>,
    #[serde(default)]
    objects: Vec<ObjectState>,
    #[serde(default)]
    assets: Vec<String>,
}

/// Reads the validation in an answer; the error says why the answer is not a validation.
pub(super) fn read(
    bytes: &[u8],
    own: FormatFindings,
    question: &Question<'_>,
) -> Result<Validation, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let format = format(answer.format.as_ref(), own)?;
    let parse = answer.parse;
    let missing = |field: &str| format!("field `{field}` is missing, and the program parses");
    let api = answer.api.map_or_else(
        || if parse.ok { Err(missing("api")) } else { Ok(ApiFindings::default()) },
        |api| Ok(api.into()),
    )?;
    let lifecycle = answer.lifecycle.map_or_else(
        || if parse.ok { Err(missing("lifecycle")) } else { Ok(Lifecycle::default()) },
        |parts| Ok(parts.into()),
    )?;
    let parse = ParseFindings { ok: parse.ok, mode: parse.mode, errors: few(parse.errors) };
    let mut validation = Validation::of(format, Findings { parse, api, lifecycle });
    match (answer.runtime, answer.task) {
        (None, None) => {}
        (Some(_), _) if question.skip_runtime => {
            return Err("field `runtime` is there, and `skip_runtime` was true".to_owned());
        }
        (Some(run), Some(task)) if validation.parse.ok => {
            let asked = question.checks.len();
            if task.len() != asked {
                return Err(format!("`task` has {} results of {asked} checks", task.len()));
            }
            (validation.runtime, validation.task) = (Some(run.findings()?), task);
        }
        (Some(_), Some(_)) => return Err("field `runtime` is of a program that parses".to_owned()),
        (Some(_), None) => return Err("field `task` is missing, and `runtime` is there".to_owned()),
        (None, Some(_)) => return Err("field `runtime` is missing, and `task` is there".to_owned()),
    }
    Ok(validation)
}

/// What the validator says of the format; what it does not say is what extraction found.
fn format(answer: Option<&FormatAnswer>, own: FormatFindings) -> Result<FormatFindings, String> {
    let Some(&FormatAnswer { plan, block }) = answer else { return Ok(own) };
    if plan.is_some_and(|plan| !(0.0..=1.0).contains(&plan)) {
        return Err("`format.plan` is not from 0 to 1".to_owned());
    }
    Ok(FormatFindings { plan, block, code: own.code })
}

/// As many findings as our own check keeps.
fn few<T>(mut findings: Vec<T>) -> Vec<T> {
    findings.truncate(MAX_FINDINGS);
    findings
}

impl From<ApiAnswer> for ApiFindings {
    fn from(ApiAnswer { resolved, unknown, few_args }: ApiAnswer) -> Self {
        Self { resolved, unknown: few(unknown), few_args: few(few_args) }
    }
}

impl From<LifecycleAnswer> for Lifecycle {
    fn from(parts: LifecycleAnswer) -> Self {
        let LifecycleAnswer { create, new_game, preload, update, scene_class } = parts;
        Self { preload, create, update, scene_class, new_game }
    }
}

impl RuntimeAnswer {
    fn findings(self) -> Result<RuntimeFindings, String> {
        if self.ok != self.class.is_none() || self.ok != (self.stage == Stage::Done) {
            return Err("`runtime` contradicts itself: a run that is `ok` has the stage `done` and no `class`, \
                        any other has a `class` and an earlier stage"
                .to_owned());
        }
        let Self { stage, ok, class, error, line, frames, scenes, mut objects, assets, .. } = self;
        let object_count = self.object_count;
        objects.truncate(OBJECTS);
        Ok(RuntimeFindings {
            stage,
            ok,
            class,
            error,
            line,
            frames,
            scenes,
            object_count,
            objects,
            assets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::checks::{Check, CheckOutcome};
    use super::*;

    const STATIC: &str = r#""parse":{"ok":true},"api":{"resolved":9},
        "lifecycle":{"create":true,"new_game":true}"#;
    const RUN: &str = r#""runtime":{"stage":"done","ok":true,"object_count":2}"#;
    const TASK: &str = r#""task":[{"check":"it moves","outcome":"passed"}]"#;
    const OWN: FormatFindings = FormatFindings { plan: Some(0.5), block: true, code: true };

    fn answered(text: &str, skip_runtime: bool) -> Result<Validation, String> {
        let checks: Vec<Check> =
            serde_json::from_str(r#"[{"kind":"count","select":{},"at_least":1}]"#).expect("JSON");
        let question = Question { checks: &checks, skip_runtime, ..Question::default() };
        read(format!("{{{text}}}").as_bytes(), OWN, &question)
    }

    #[test]
    fn the_least_answer_is_three_parts_and_the_format_is_ours() {
        let seen = answered(STATIC, true).expect("an answer");
        assert_eq!((seen.format, seen.api.resolved, seen.runtime), (OWN, 9, None));
        assert!(seen.parse.ok && seen.lifecycle.create && !seen.lifecycle.update);
        let broken = answered(r#""parse":{"ok":false}"#, true).expect("an answer");
        assert!(!broken.parse.ok && !broken.lifecycle.new_game);
    }

    #[test]
    fn a_run_comes_with_the_results_of_all_checks() {
        let seen = answered(&format!("{STATIC},{RUN},{TASK}"), false).expect("an answer");
        assert_eq!(seen.task[0].outcome, CheckOutcome::Passed);
        assert_eq!(seen.runtime.expect("a run").object_count, 2);
        let refused = |text: &str, skip| answered(text, skip).expect_err("no answer");
        assert!(refused(&format!("{STATIC},{RUN}"), false).contains("field `task` is missing"));
        assert!(refused(&format!("{STATIC},{TASK}"), false).contains("field `runtime` is missing"));
        assert!(refused(&format!("{STATIC},{RUN},{TASK}"), true).contains("`skip_runtime`"));
        let none = format!(r#"{STATIC},{RUN},"task":[]"#);
        assert_eq!(refused(&none, false), "`task` has 0 results of 1 checks");
    }

    #[test]
    fn an_answer_that_is_no_validation_is_refused() {
        let contradicts = format!(
            "{STATIC},{},{TASK}",
            RUN.replace(r#""ok":true"#, r#""ok":true,"class":"timeout""#)
        );
        for (text, reason) in [
            (r#""parse":{"ok":1}"#, "invalid type"),
            (r#""parse":{"ok":true}"#, "field `api` is missing"),
            (r#""parse":{"ok":false},"parse":{"ok":true}"#, "duplicate field `parse`"),
            (r#""parse":{"ok":false},"total":1"#, "unknown field `total`"),
            (r#""parse":{"ok":false},"format":{"block":true,"plan":2}"#, "not from 0 to 1"),
            (r#""parse":{"ok":false"#, "EOF"),
            (r#""parse":{"ok":false}} {"#, "trailing characters"),
            (contradicts.as_str(), "contradicts itself"),
        ] {
            let said = answered(text, false).expect_err(text);
            assert!(said.contains(reason), "{text}: {said}");
        }
    }
}
