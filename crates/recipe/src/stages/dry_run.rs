//! The plan of stages: the dry run of each, with stand-ins for inputs that no stage has made yet.
//!
//! A stand-in is made of a few generated tasks in a folder that is thrown away: tasks, held-out tasks, and
//! the traces that they bring along; the base, or an untrained model of a `new_model` stage, stands for a model.
//! Prepared tasks are the real ones where that takes no download.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_core::config::Config;
use whetstone_core::{Seed, Task};
use whetstone_data::Partition;
use whetstone_data::embedded::Generator;
use whetstone_record::stages::{STAGES_DIR, StageState, Stages};

use super::changed::path_of;
use super::job::{Input, Job};
use super::plan::{Origin, Plan, PlannedStage};
use super::what::What;
use super::{MODELS, StagesRequest, StopFlags, data, new_model};
use crate::dry_run::{DryRun, Outcome};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::scratch::Scratch;
use crate::tasks;
use crate::teaching::{self, TeachRequest, TeacherChoice};
use crate::text::duration;

/// Tasks of each half that stand for tasks which are not there.
const STAND_INS: usize = 32;

/// The plan of a stage file.
#[derive(Debug, Serialize)]
pub struct StagesPlan {
    v: u32,
    #[serde(rename = "dry_run")]
    is_dry: bool,
    /// The run's directory.
    run: String,
    /// In the order in which they run.
    stages: Vec<StagePlan>,
    /// Seconds of all stages whose time is known.
    estimate_seconds: f64,
    /// Stages whose time is not known.
    unknown: Vec<String>,
}

/// The plan of a stage.
#[derive(Debug, Serialize)]
struct StagePlan {
    name: String,
    kind: &'static str,
    state: StageState,
    /// Where inputs come from.
    inputs: BTreeMap<&'static str, String>,
    /// What it would do; `None` if it is done, or not to be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Box<DryRun>>,
}

/// A run that is tried out.
pub(super) struct Rehearsal<'a> {
    pub(super) request: &'a StagesRequest,
    pub(super) plan: &'a Plan,
    pub(super) dir: &'a Path,
    pub(super) flags: StopFlags<'a>,
    pub(super) observer: &'a dyn Observer,
}

impl Rehearsal<'_> {
    /// The plan of every stage up to one; those that are done have none, but for `again`.
    pub(super) fn run(
        &self,
        known: Option<&Stages>,
        again: &BTreeSet<String>,
        until: usize,
    ) -> Result<StagesPlan, Failure> {
        let scratch = Scratch::new()?;
        let mut props = Props {
            folder: scratch.path(),
            prepared: BTreeMap::new(),
            new_model: None,
            has_stand_ins: false,
        };
        let mut planned = StagesPlan {
            v: 1,
            is_dry: true,
            run: self.dir.display().to_string(),
            stages: Vec::new(),
            estimate_seconds: 0.0,
            unknown: Vec::new(),
        };
        for (at, stage) in self.plan.stages.iter().enumerate() {
            let name = &stage.entry.name;
            let record = known.and_then(|known| known.get(name)).filter(|_| !again.contains(name));
            let state = record.map_or(StageState::Waiting, |record| record.state);
            let plan = if state == StageState::Done || at > until {
                None
            } else {
                let plan = self.stage(stage, &mut props)?;
                match plan.estimate_seconds() {
                    Some(seconds) => planned.estimate_seconds += seconds,
                    // Preparing tasks takes seconds, or a download of unknown size.
                    None if stage.kind.name == data::KIND.name => {}
                    None => planned.unknown.push(name.clone()),
                }
                Some(plan)
            };
            let inputs = stage.inputs.iter().map(|(what, origin)| (what.name(), shown(origin)));
            let (name, kind, inputs) = (name.clone(), stage.kind.name, inputs.collect());
            planned.stages.push(StagePlan { name, kind, state, inputs, plan });
        }
        Ok(planned)
    }

    /// The stage's own dry run.
    fn stage(&self, stage: &PlannedStage, props: &mut Props<'_>) -> Result<Box<DryRun>, Failure> {
        let mut stand_ins = Vec::new();
        let mut inputs = BTreeMap::new();
        for (what, origin) in &stage.inputs {
            let path = path_of(*what, origin, self.plan, self.dir);
            let from = match origin {
                Origin::Stage(name) => Some(name.clone()),
                Origin::Path(_) => None,
            };
            let path = if path.exists() {
                Some(path)
            } else if let Some(path) = props.prepared(*what, from.as_deref()) {
                Some(path)
            } else {
                stand_ins.push(format!("{} of `{}`", what.name(), shown(origin)));
                props.stand_in(*what, &stage.loaded.config, self.observer)?
            };
            inputs.extend(path.map(|path| (*what, Input { path, stage: from })));
        }
        let job = self.job(stage, inputs, props.folder);
        // The base stands for a model, and the judge pays where there is no reward model yet.
        let stands_in =
            |what: &What| matches!(what, What::Model | What::RewardModel | What::ProcessModel);
        let lacks = |what: &What| !job.inputs.contains_key(what) && !stands_in(what);
        let missing: Vec<What> = stage.inputs.iter().map(|(what, _)| *what).filter(lacks).collect();
        if !missing.is_empty() {
            return Ok(Box::new(unknown(stage, &job, &missing)));
        }
        if stage.kind.name == data::KIND.name {
            props.prepare(&job)?;
        }
        if stage.kind.name == new_model::KIND.name {
            props.new_model = Some(new_model::rehearse(&job, &props.folder.join("_new-models"))?);
        }
        let mut plan = match (stage.kind.run)(&job)? {
            Outcome::Planned(plan) => plan,
            Outcome::Done(_) => Box::new(DryRun::of(stage.kind.command)),
        };
        if !stand_ins.is_empty() {
            plan.note(format!(
                "an estimate, with generated tasks, an untrained or the base model, or nothing in place of {}",
                stand_ins.join(", ")
            ));
        }
        Ok(plan)
    }

    fn job<'j>(
        &'j self,
        stage: &'j PlannedStage,
        inputs: BTreeMap<What, Input>,
        scratch: &Path,
    ) -> Job<'j> {
        Job {
            entry: &stage.entry,
            config: &stage.loaded.config,
            sources: &stage.sources,
            stages: self.dir.join(STAGES_DIR),
            models: scratch.join(MODELS),
            inputs,
            dry_run: true,
            device: self.request.device,
            threads: self.request.threads,
            stop: self.flags.stop,
            observer: self.observer,
        }
    }
}

/// The plan of a stage of whose input nothing is known.
fn unknown(stage: &PlannedStage, job: &Job<'_>, missing: &[What]) -> DryRun {
    let mut plan = DryRun::of(stage.kind.command);
    plan.writes(job.dir().display().to_string());
    let missing: Vec<&str> = missing.iter().map(|what| what.name()).collect();
    plan.note(format!("its {} are not there yet, so its time is not known", missing.join(", ")));
    plan
}

fn shown(origin: &Origin) -> String {
    match origin {
        Origin::Stage(name) => name.clone(),
        Origin::Path(path) => path.display().to_string(),
    }
}

/// Files that stand for those that stages have not made.
struct Props<'a> {
    folder: &'a Path,
    /// Prepared tasks, by their stage.
    prepared: BTreeMap<String, PathBuf>,
    /// The model of the last `new_model` stage, untrained.
    new_model: Option<PathBuf>,
    /// Whether generated tasks and their traces are there.
    has_stand_ins: bool,
}

impl Props<'_> {
    /// Prepares the tasks of a stage for real, unless that takes a download.
    fn prepare(&mut self, job: &Job<'_>) -> Result<(), Failure> {
        let out = self.folder.join(&job.entry.name);
        if data::rehearse(job, out.clone())?.is_some() {
            self.prepared.insert(job.entry.name.clone(), out);
        }
        Ok(())
    }

    fn prepared(&self, what: What, stage: Option<&str>) -> Option<PathBuf> {
        let folder = self.prepared.get(stage?)?;
        let (_, file) = data::KIND.makes.iter().find(|(made, _)| *made == what)?;
        Some(folder.join(file))
    }

    /// What stands for an input; `None` if nothing can.
    fn stand_in(
        &mut self,
        what: What,
        config: &Config,
        observer: &dyn Observer,
    ) -> Result<Option<PathBuf>, Failure> {
        let file = match what {
            What::Tasks => "tasks.jsonl",
            What::HeldOut => "held_out.jsonl",
            What::Traces => "traces.jsonl",
            What::Rows => "rows.jsonl",
            What::Model => return Ok(self.new_model.clone()),
            What::Rollouts
            | What::Pairs
            | What::HeldOutPairs
            | What::RewardModel
            | What::ProcessModel => return Ok(None),
        };
        let folder = self.folder.join("_stand-ins");
        if !self.has_stand_ins {
            make(&folder, config, observer)?;
            self.has_stand_ins = true;
        }
        Ok(Some(folder.join(file)))
    }
}

/// Generates tasks of both halves, and judges the traces that they bring along.
fn make(folder: &Path, config: &Config, observer: &dyn Observer) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|err| Failure::io(format!("cannot create `{}`", folder.display()), err))?;
    let halves = [("tasks.jsonl", Partition::Train), ("held_out.jsonl", Partition::Validation)];
    for (file, half) in halves {
        let made = Generator::new(Seed::new(config.seed)).filter(|made| made.part == half);
        let tasks: Vec<Task> = made.take(STAND_INS).map(|made| made.task).collect();
        tasks::write(&folder.join(file), &tasks)?;
    }
    let request = TeachRequest {
        tasks: folder.join("tasks.jsonl"),
        out: folder.join("traces.jsonl"),
        rows: Some(folder.join("rows.jsonl")),
        teachers: vec![TeacherChoice::Embedded],
        max_tasks: None,
        num_samples: None,
        only_missing: false,
        fresh: true,
        no_judge: false,
        strict: false,
        dry_run: false,
    };
    teaching::run(&request, config, observer)?;
    Ok(())
}

impl StagesPlan {
    /// As a person reads it.
    pub fn text(&self) -> String {
        let mut text = format!("the stages of {}\n", self.run);
        let all = self.stages.len();
        for (at, stage) in self.stages.iter().enumerate() {
            let (number, name, kind) = (at + 1, &stage.name, stage.kind);
            let state = match stage.state {
                StageState::Waiting => "",
                StageState::Begun => ", begun",
                StageState::Done => ", done",
            };
            let _ = write!(text, "\n{number}/{all} {name} ({kind}{state})");
            let inputs = stage.inputs.iter().map(|(what, from)| format!("{what} of {from}"));
            let inputs: Vec<String> = inputs.collect();
            if !inputs.is_empty() {
                let _ = write!(text, ": {}", inputs.join(", "));
            }
            text.push('\n');
            match &stage.plan {
                Some(plan) => text.push_str(&plan.text()),
                None if stage.state == StageState::Done => {}
                None => text.push_str("  not run, by `--until`\n"),
            }
        }
        let _ = write!(text, "\nall stages: about {}", duration(self.estimate_seconds.max(1.0)));
        if !self.unknown.is_empty() {
            let _ = write!(text, ", and {}, whose time is not known", self.unknown.join(", "));
        }
        text.push('\n');
        text
    }
}
