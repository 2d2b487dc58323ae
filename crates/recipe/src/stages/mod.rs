//! The stages of a file, one after another, in one run: `whet run`.
//!
//! ```text
//! file ─► plan: order, settings, inputs ─► compare with what the run was begun with ─► each stage in turn
//! ```
//!
//! A stage is one of the [`kinds`]: the same recipe as a command of its own, with inputs taken from the
//! stages before it. Its files stand in a directory of its own, and it is recorded as begun before it
//! writes anything and as done when all of it is on the disk (`whetstone_record::stages`). To resume is
//! to run the file again: stages that are done are passed over, and the one that was begun goes on as its
//! command would.

mod changed;
mod data;
mod digest;
mod dpo;
mod dry_run;
mod eval;
mod grpo;
pub mod job;
pub mod kinds;
mod measured;
mod models;
mod new_model;
mod pages;
mod pairs;
pub mod plan;
mod ppo;
mod prm;
mod rm;
mod sample;
mod score;
mod sft;
mod teach;
mod trained;
mod turn;
mod validate;
pub mod what;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use whetstone_config::StageFile;
use whetstone_core::config::DeviceChoice;
use whetstone_core::with_causes;
use whetstone_record::atomic;
use whetstone_record::event::{Event, Outcome as Ending, TimedEvent, now_ms};
use whetstone_record::program;
use whetstone_record::run_dir::RunDir;
use whetstone_record::stages::{STAGES_DIR, StageRecord, StageState, Stages, stage_dir};

pub use self::dry_run::StagesPlan;
pub use self::pages::write_stage_pages;
use self::plan::Plan;
use self::turn::Turn;
use crate::failure::Failure;
use crate::observer::Observer;

/// The folder of merged models in a run.
const MODELS: &str = "models";
/// The stage file as the run keeps it.
const FILE: &str = "stages.toml";

/// Stages to run.
#[derive(Debug, Clone)]
pub struct StagesRequest {
    /// The file.
    pub file: StageFile,
    /// The run's name, if not that of the file.
    pub name: Option<String>,
    /// The run must be there.
    pub resume: bool,
    /// The stage to start again from.
    pub from: Option<String>,
    /// The last stage to run.
    pub until: Option<String>,
    /// Only the plan is wanted.
    pub dry_run: bool,
    /// The device, over the setting `run.device`.
    pub device: Option<DeviceChoice>,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
    /// Keys over all settings of the file.
    pub set: Vec<String>,
}

/// Flags by which stages are stopped.
#[derive(Debug, Clone, Copy)]
pub struct StopFlags<'a> {
    /// Set if the run shall stop.
    pub stop: &'a AtomicBool,
    /// Whether the present stage may be ended at any moment.
    pub at_once: &'a AtomicBool,
}

/// What came of stages.
#[derive(Debug)]
pub enum StagesOutcome {
    /// The plan, where only that was wanted.
    Planned(Box<StagesPlan>),
    /// They ran.
    Ran(StagesEnd),
}

/// Stages that ran.
#[derive(Debug, Clone, Serialize)]
pub struct StagesEnd {
    /// The version of this document.
    pub v: u64,
    /// Whether all stages of the file are done.
    pub done: bool,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// The run's directory.
    pub run: String,
    /// The stages.
    pub stages: Vec<StageRecord>,
    /// The page over all stages.
    pub page: Option<String>,
}

/// Runs the stages of a file.
///
/// # Errors
///
/// If the file cannot be used, the run was begun with another one, or a stage fails.
pub fn run(
    request: &StagesRequest,
    flags: StopFlags<'_>,
    observer: &dyn Observer,
) -> Result<StagesOutcome, Failure> {
    let plan = Plan::new(request.file.clone(), &request.set)?;
    let (from, until) = bounds(request, &plan)?;
    plan.check_files()?;
    let name = request.name.as_ref().unwrap_or(&plan.file.name);
    let runs = PathBuf::from(&plan.loaded.config.run.dir);
    let known = known(request, &runs, name)?;
    let again = from.map(|from| plan.and_after(from)).unwrap_or_default();
    let dir = runs.join(name);
    changed::check(&plan, known.as_ref(), &again, &dir)?;
    if request.dry_run {
        let rehearsal = dry_run::Rehearsal { request, plan: &plan, dir: &dir, flags, observer };
        let planned = rehearsal.run(known.as_ref(), &again, until)?;
        return Ok(StagesOutcome::Planned(Box::new(planned)));
    }
    let run = open(&plan, &runs, name, known.is_some())?;
    let stages = begin(&plan, &run, known, &again, observer)?;
    let mut turn = Turn { request, plan: &plan, run, stages, flags, observer };
    let ended = turn.go(until);
    let (ending, message) = match &ended {
        Ok(true) => (Ending::Completed, String::new()),
        Ok(false) => (Ending::Interrupted, "told to stop".to_owned()),
        Err(err) => (Ending::Failed, with_causes(err)),
    };
    let event = Event::RunFinished { outcome: ending, message };
    let finished = turn.run.append_event(&TimedEvent { time_ms: now_ms(), event });
    // What broke a stage may have broken the record too, and is what must be told.
    let whole = ended?;
    finished?;
    turn.end(whole).map(StagesOutcome::Ran)
}

/// The stages to start again from, and to end with.
fn bounds(request: &StagesRequest, plan: &Plan) -> Result<(Option<usize>, usize), Failure> {
    let find = |name: &Option<String>| name.as_deref().map(|name| plan.find(name)).transpose();
    let (from, until) = (find(&request.from)?, find(&request.until)?);
    match (from, until) {
        (Some(from), Some(until)) if until < from => Err(Failure::Stages {
            problem: format!(
                "`--until {}` comes before `--from {}`",
                plan.stages[until].entry.name, plan.stages[from].entry.name
            ),
            hint: "name stages in the order in which they run".to_owned(),
        }),
        (from, until) => Ok((from, until.unwrap_or(plan.stages.len() - 1))),
    }
}

/// The stages of the run, if it is there.
fn known(request: &StagesRequest, runs: &Path, name: &str) -> Result<Option<Stages>, Failure> {
    let Ok(view) = RunDir::open_read_only(runs, name) else {
        let flag = match (request.resume, &request.from) {
            (true, _) => "--resume",
            (_, Some(_)) => "--from",
            _ => return Ok(None),
        };
        return Err(Failure::Stages {
            problem: format!(
                "there is no run `{}`, so `{flag}` has nothing to go on with",
                runs.join(name).display()
            ),
            hint: format!("leave `{flag}` out to begin with the first stage"),
        });
    };
    match Stages::load(&view)? {
        Some(stages) => Ok(Some(stages)),
        None if was_begun(&view) => Err(Failure::Stages {
            problem: format!(
                "the run `{}` exists already, and was not made by `whet run`",
                view.dir().display()
            ),
            hint: "give this one another name: `--run NAME`".to_owned(),
        }),
        // Killed between the creation of the run and that of its record.
        None => Ok(Some(Stages::new(Vec::new()))),
    }
}

/// Whether something was recorded in a run.
fn was_begun(view: &whetstone_record::run_dir::RunView) -> bool {
    !view.dir().join(FILE).exists() && view.events().is_ok_and(|mut events| events.next().is_some())
}

/// The run itself, which this process alone writes.
fn open(plan: &Plan, runs: &Path, name: &str, exists: bool) -> Result<RunDir, Failure> {
    let now = now_ms();
    if exists {
        return Ok(RunDir::resume(runs, name, now)?.0);
    }
    let mut run = RunDir::create(runs, name, &whetstone_config::show(&plan.loaded), now)?;
    let command: Vec<String> = std::env::args().collect();
    let event = Event::RunStarted {
        command: command.join(" "),
        version: program::version().to_owned(),
        seed: plan.loaded.config.seed,
    };
    run.append_event(&TimedEvent { time_ms: now, event })?;
    Ok(run)
}

/// The records of a plan: what is known of its stages, but of those that begin again.
fn begin(
    plan: &Plan,
    run: &RunDir,
    known: Option<Stages>,
    again: &BTreeSet<String>,
    observer: &dyn Observer,
) -> Result<Stages, Failure> {
    let dir = run.view().dir();
    atomic::replace(&dir.join(FILE), plan.file.text.as_bytes())?;
    let known: BTreeMap<String, StageRecord> = known
        .into_iter()
        .flat_map(|known| known.stages)
        .map(|one| (one.name.clone(), one))
        .collect();
    let records = plan.stages.iter().map(|stage| {
        let name = &stage.entry.name;
        let waiting = StageRecord {
            name: name.clone(),
            kind: stage.kind.name.to_owned(),
            ..StageRecord::default()
        };
        known.get(name).filter(|_| !again.contains(name)).cloned().unwrap_or(waiting)
    });
    let stages = Stages::new(records.collect());
    stages.save(run.view())?;
    let all = dir.join(STAGES_DIR);
    fs::create_dir_all(&all)
        .map_err(|err| Failure::io(format!("cannot create `{}`", all.display()), err))?;
    // Nothing of a stage that was not begun belongs to this run.
    for stage in stages.stages.iter().filter(|stage| stage.state == StageState::Waiting) {
        for made in [stage_dir(dir, &stage.name), dir.join(MODELS).join(&stage.name)] {
            if made.exists() {
                observer.note(&format_args!(
                    "{} starts again: {} is removed",
                    stage.name,
                    made.display()
                ));
                fs::remove_dir_all(&made).map_err(|err| {
                    Failure::io(format!("cannot remove `{}`", made.display()), err)
                })?;
            }
        }
    }
    Ok(stages)
}
