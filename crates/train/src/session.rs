//! One training as it is recorded: its run, its events, its checkpoints.
//!
//! A run that was killed goes on from its last checkpoint and computes the steps behind it again, to
//! the same bits. Their events are there already and are not written twice: a step has one event,
//! however often it was computed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use whetstone_core::config::Config;
use whetstone_record::atomic;
use whetstone_record::event::{Event, Outcome, TimedEvent, now_ms};
use whetstone_record::outputs::{checkpoint_name, checkpoints, prune};
use whetstone_record::run_dir::RunDir;
use whetstone_rollout::collect::{Gathered, Rolled};
use whetstone_rollout::measure::Tally;

use crate::error::TrainError;
use crate::optimizer::Optimizer;
use crate::student::Student;

/// The directory of what is trained when all is done.
pub const FINAL_MODEL: &str = "final_model";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "training_state.json";
const STATE_VERSION: u64 = 1;

/// How far a training has come: what a checkpoint knows beside weights and means.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    v: u64,
    /// The training, e.g. `grpo`.
    pub stage: String,
    /// Steps that are done.
    pub step: u64,
    /// Items that were taken.
    pub position: u64,
    /// Updates that the optimizer made.
    pub updates: u64,
    /// Of each task: rollouts and how many of them passed before this epoch, and the same in all.
    pub solved: BTreeMap<String, [u64; 4]>,
    /// Steps in a row without a group that has variance.
    pub dead_steps: u64,
    /// Steps in a row without a rollout that passed a test.
    pub unsolved_steps: u64,
}

/// A run that is being written.
#[derive(Debug)]
pub struct Session {
    run: RunDir,
    stage: &'static str,
    /// Steps whose metrics are recorded.
    recorded: u64,
    keep: usize,
    every: u64,
}

/// A batch that could not be learnt from, as it is kept.
#[derive(Serialize)]
struct Kept<'a, T> {
    v: u64,
    stage: &'static str,
    step: u64,
    problem: &'a str,
    #[serde(flatten)]
    batch: T,
}

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The folder of all runs.
    pub root: &'a Path,
    /// The run's name.
    pub name: &'a str,
}

impl Session {
    /// Begins a new run.
    ///
    /// # Errors
    ///
    /// If there is such a run, or it cannot be written.
    pub fn create(
        place: Place<'_>,
        stage: &'static str,
        (config, config_text, command): (&Config, &str, &str),
    ) -> Result<Self, TrainError> {
        let run = RunDir::create(place.root, place.name, config_text, now_ms())?;
        let mut session =
            Self { run, stage, recorded: 0, keep: kept(config), every: every(config) };
        session.event(Event::RunStarted {
            command: command.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: config.seed,
        })?;
        Ok(session)
    }

    /// Goes on with a run, and says from which checkpoint; there may be none yet.
    ///
    /// # Errors
    ///
    /// If there is no such run, somebody writes it, or it cannot be read.
    pub fn resume(
        place: Place<'_>,
        stage: &'static str,
        config: &Config,
    ) -> Result<(Self, Option<PathBuf>), TrainError> {
        let (run, _) = RunDir::resume(place.root, place.name, now_ms())?;
        let mut session =
            Self { run, stage, recorded: 0, keep: kept(config), every: every(config) };
        let saved = session.read_events()?;
        let found = checkpoints(&session.run.view().outputs_dir())?;
        for (step, _) in &found {
            // Killed between the checkpoint and its event.
            if !saved.contains(step) {
                session.event(saved_event(*step))?;
            }
        }
        // A run that is done goes on from its end.
        let done = session.run.view().outputs_dir().join(FINAL_MODEL);
        let newest = found.into_iter().next_back().map(|(_, path)| path);
        Ok((session, if done.is_dir() { Some(done) } else { newest }))
    }

    /// Learns which steps are recorded; returns the steps of the checkpoints that are.
    fn read_events(&mut self) -> Result<Vec<u64>, TrainError> {
        let mut saved = Vec::new();
        for event in self.run.view().events()? {
            match event?.1.event {
                Event::Metrics { stage, step, .. } if stage == self.stage => {
                    self.recorded = self.recorded.max(step);
                }
                Event::CheckpointSaved { step, .. } => saved.push(step),
                _ => {}
            }
        }
        Ok(saved)
    }

    /// The run's directory.
    pub fn dir(&self) -> &Path {
        self.run.view().dir()
    }

    /// The run itself.
    pub fn run(&self) -> &RunDir {
        &self.run
    }

    /// Whether a step's event was written before this process began.
    pub fn is_recorded(&self, step: u64) -> bool {
        step <= self.recorded
    }

    /// Records a step, unless it is recorded. Steps are counted from 1.
    pub(crate) fn metrics(
        &mut self,
        step: u64,
        values: BTreeMap<String, f64>,
    ) -> Result<(), TrainError> {
        if self.is_recorded(step) {
            return Ok(());
        }
        let stage = self.stage.to_owned();
        self.event(Event::Metrics { stage, step, values })
    }

    /// Records something that a person should look at, unless its step is recorded.
    pub(crate) fn warn(
        &mut self,
        step: u64,
        code: &str,
        message: String,
    ) -> Result<(), TrainError> {
        if self.is_recorded(step) {
            return Ok(());
        }
        self.event(Event::Warning { code: code.to_owned(), message })
    }

    /// Records how the run ended.
    pub fn finish(&mut self, outcome: Outcome, message: String) -> Result<(), TrainError> {
        self.event(Event::RunFinished { outcome, message })?;
        Ok(self.run.sync()?)
    }

    fn event(&mut self, event: Event) -> Result<(), TrainError> {
        self.run.append_event(&TimedEvent { time_ms: now_ms(), event })?;
        Ok(())
    }

    /// Whether a checkpoint is to be written after a step; after the last there is the final model.
    pub(crate) fn is_due(&self, step: u64, steps: u64) -> bool {
        self.every > 0 && step.is_multiple_of(self.every) && step < steps
    }

    /// Writes a checkpoint, and removes those that are too many.
    pub(crate) fn checkpoint(
        &mut self,
        student: &Student,
        (optimizer, progress): (&Optimizer, &Progress),
    ) -> Result<(), TrainError> {
        self.write(&checkpoint_name(progress.step), student, (optimizer, progress))?;
        self.event(saved_event(progress.step))?;
        if self.keep > 0 {
            prune(&self.run.view().outputs_dir(), self.keep)?;
        }
        Ok(())
    }

    /// Writes what is trained as the final model.
    pub(crate) fn final_model(
        &mut self,
        student: &Student,
        state: (&Optimizer, &Progress),
    ) -> Result<PathBuf, TrainError> {
        self.write(FINAL_MODEL, student, state)?;
        Ok(self.run.view().outputs_dir().join(FINAL_MODEL))
    }

    fn write(
        &self,
        name: &str,
        student: &Student,
        (optimizer, progress): (&Optimizer, &Progress),
    ) -> Result<(), TrainError> {
        let staged = self.run.stage_output(name)?;
        student.save(staged.path())?;
        let with = (student.decoder.device(), student.decoder.parameters());
        staged.stream(OPTIMIZER, |out| optimizer.write(with, out))?;
        let text = serde_json::to_string_pretty(progress).expect("plain data");
        staged.put(STATE, format!("{text}\n").as_bytes())?;
        Ok(staged.commit()?)
    }

    /// Says of numbers that are none where their batch is: it is kept, for a replay.
    pub(crate) fn with_batch<T: Serialize>(
        &self,
        err: TrainError,
        step: u64,
        batch: impl FnOnce() -> T,
    ) -> TrainError {
        let what = match err {
            TrainError::Algo(err) => err.to_string(),
            TrainError::NoNumber(what) => what,
            other => return other,
        };
        let kept = Kept { v: 1, stage: self.stage, step, problem: &what, batch: batch() };
        match self.keep_batch(step, &kept) {
            Ok(saved) => TrainError::NotFinite { step, what, saved },
            Err(err) => err,
        }
    }

    /// Looks whether the run is still there: a removed directory takes writes without a word.
    pub(crate) fn check_there(&self) -> Result<(), TrainError> {
        if self.run.view().config_path().exists() {
            return Ok(());
        }
        Err(TrainError::Gone(self.dir().to_owned()))
    }

    fn keep_batch(&self, step: u64, batch: &impl Serialize) -> Result<PathBuf, TrainError> {
        let path = self.run.view().logs_dir().join(format!("batch-of-step-{step}.json"));
        let text = serde_json::to_vec(batch).expect("plain data");
        atomic::replace(&path, &text)?;
        Ok(path)
    }
}

impl Progress {
    /// The beginning of a training.
    pub(crate) fn new(stage: &str) -> Self {
        Self { v: STATE_VERSION, stage: stage.to_owned(), ..Self::default() }
    }

    /// Counts the rollouts of a step.
    pub(crate) fn count(&mut self, groups: &[Gathered]) {
        let mut any = false;
        for group in groups {
            let [.., seen, passed] = self.solved.entry(group.task.to_string()).or_default();
            let Tally { samples, passed: more, .. } = Tally::of(group);
            (*seen, *passed) = (*seen + samples, *passed + more);
            let tests = |it: &Rolled| it.outcome.judgement.counts().passed > 0;
            any |= group.rollouts.iter().any(tests);
        }
        self.unsolved_steps = if any { 0 } else { self.unsolved_steps + 1 };
        let alive = groups.iter().any(|group| !group.is_dead());
        self.dead_steps = if alive { 0 } else { self.dead_steps + 1 };
    }

    /// What is known now is what the next epoch's order is made from.
    pub(crate) fn begin_epoch(&mut self) {
        for counts in self.solved.values_mut() {
            (counts[0], counts[1]) = (counts[2], counts[3]);
        }
    }
}

/// The optimizer and the progress of a checkpoint; without one, those of a beginning.
///
/// # Errors
///
/// If the checkpoint cannot be read, or is one of another training.
pub(crate) fn restore(
    student: &Student,
    stage: &str,
    checkpoint: Option<&Path>,
) -> Result<(Optimizer, Progress), TrainError> {
    let with = (student.decoder.device(), student.decoder.parameters());
    let Some(dir) = checkpoint else {
        return Ok((Optimizer::new(with.0, with.1), Progress::new(stage)));
    };
    let refuse = |problem: String| TrainError::Checkpoint { path: dir.to_owned(), problem };
    let text = std::fs::read(dir.join(STATE)).map_err(|err| refuse(err.to_string()))?;
    let progress: Progress =
        serde_json::from_slice(&text).map_err(|err| refuse(format!("`{STATE}`: {err}")))?;
    if progress.v != STATE_VERSION {
        return Err(refuse(format!("`{STATE}` has version {}", progress.v)));
    }
    if progress.stage != stage {
        return Err(refuse(format!("it is one of `whet train {}`", progress.stage)));
    }
    let optimizer = Optimizer::read(with, &dir.join(OPTIMIZER), progress.updates)
        .map_err(TrainError::Weights)?;
    Ok((optimizer, progress))
}

fn saved_event(step: u64) -> Event {
    Event::CheckpointSaved { step, path: format!("outputs/{}", checkpoint_name(step)) }
}

fn every(config: &Config) -> u64 {
    u64::from(config.training.save_steps)
}

fn kept(config: &Config) -> usize {
    config.training.save_total_limit as usize
}
