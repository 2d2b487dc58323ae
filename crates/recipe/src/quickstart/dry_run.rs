//! The plan of a quickstart: as many tasks as one step takes go all the way, in a folder that is thrown away.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_core::config::Config;
use whetstone_data::prepare::TRAIN;
use whetstone_env::registry::Environments;
use whetstone_train::TrainError;
use whetstone_train::grpo::Source;
use whetstone_train::plan::Plan;
use whetstone_train::probe::Probe;

use super::traces::{self, JudgedFolder};
use crate::dry_run::DryRun;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::scratch::Scratch;
use crate::student::{Origin, unpack_into};
use crate::tasks::{self, Tasks};
use crate::training::grpo;
use crate::training::inputs::read_traces;
use crate::training::planned::Planned;
use crate::training::steps::{self, Training};
use crate::training::taught::{TraceFile, with_traces};
use crate::training::{RunRequest, begin};
use crate::{TRACES, number};

/// A quickstart that has not started.
pub(super) struct Trial<'a> {
    pub(super) run: &'a RunRequest,
    pub(super) config: &'a Config,
    pub(super) environment: &'a Environments,
    pub(super) stop: &'a AtomicBool,
    pub(super) observer: &'a dyn Observer,
}

/// The plan of a quickstart.
pub(super) fn run(trial: &Trial<'_>) -> Result<DryRun, Failure> {
    let Trial { run, config, environment, stop, observer } = *trial;
    let scratch = Scratch::new()?;
    let dir = Path::new(&config.run.dir).join(&run.name);
    let mut whole = DryRun::of("whet quickstart");
    let mut config = config.clone();
    match Origin::of(&config, &dir) {
        Origin::Embedded(_) => {
            let student = scratch.path().join("student");
            unpack_into(&student).map_err(TrainError::from)?;
            config.student.model_name = student.display().to_string();
            whole.reads("the student that ships with whet");
        }
        Origin::Given(path) => whole.reads(format!("{}: the student", path.display())),
    }
    let Tasks { train, held_out } = tasks::compose(&config)?;
    let plan = Plan::grpo(&config, train.len())?;
    let few = train.len().min(usize::try_from(plan.items_per_step).unwrap_or(usize::MAX));
    let few = &train[..few];
    tasks::write(&scratch.path().join(TRAIN), few)?;
    let folder = JudgedFolder { config: &config, dir: scratch.path(), environment };
    let taught = traces::judge(folder, observer)?;
    let path = scratch.path().join(TRACES);
    let file = TraceFile { path: Some(&path), traces: read_traces(&path)? };
    let mut student = begin::student(run, &config, None, observer)?;
    let taught_rows = file.teach(few.iter().map(|task| &task.id), &student, &config)?;
    taught_rows.left_out.warn(observer);
    let planned = Planned { name: &run.name, student: &student, config: &config, plan: &plan };
    planned.rollouts(held_out.len(), &mut whole);
    whole.count("held_out_tasks", held_out.len() as u64);
    let (measured, samples) = (held_out.len(), config.eval.num_samples);
    whole
        .does(format!("pass@k on {measured} held-out tasks × {samples} samples, before and after"));
    whole.writes(format!("{}: everything", dir.display()));
    let tasks = with_traces(few, &taught_rows.rows);
    let training = Training {
        reward_model: None,
        process_model: None,
        teacher: None,
        config: &config,
        source: Source::Tasks(&tasks),
        shown: grpo::SHOWN,
        held_out: &held_out,
        environment,
        checkpoint: None,
        stop,
    };
    match steps::probe(&mut student, &training, observer)? {
        None => whole.note("stopped before the step was done"),
        Some(probe) => {
            let probe = Probe { steps: plan.steps, ..probe };
            let traces = taught.seconds / number(few.len() as u64) * number(train.len() as u64);
            let around = traces + measuring(&config, &probe, held_out.len());
            whole.stepped(&probe);
            whole.probed_with(around);
        }
    }
    Ok(whole)
}

/// Estimated seconds of both evaluations, from the held-out tasks of the probed step.
fn measuring(config: &Config, probe: &Probe, tasks: usize) -> f64 {
    let Some(took) = probe.held_out else { return 0.0 };
    let probed = tasks.min(config.held_out.max_tasks as usize).max(1) as u64;
    let samples =
        f64::from(config.eval.num_samples) / f64::from(config.held_out.num_samples.max(1));
    2.0 * took.as_secs_f64() * samples * number(tasks as u64) / number(probed)
}
