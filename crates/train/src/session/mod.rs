//! One training as it is recorded: its run, its events, its checkpoints.
//!
//! A run that was killed goes on from its last checkpoint and computes the steps behind it again, to
//! the same bits. Their events are there already and are not written twice: a step has one event,
//! however often it was computed. Alarms of a step stand before its measurements: where those are
//! recorded, its alarms are.

mod batch;
mod checkpoint_files;
mod live_metrics;
mod progress;
mod start;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_core::with_causes;
use whetstone_infer::GenerateError;
use whetstone_record::event::{Event, Outcome, TimedEvent, now_ms};
use whetstone_record::outputs::{checkpoint_name, checkpoints, prune};
use whetstone_record::plain_file::open_plain;
use whetstone_record::program;
use whetstone_record::run_dir::RunDir;
use whetstone_rollout::collect::CollectError;

use crate::alarms::{Alarm, Alarms, Suspects, no_suspects};
use crate::card::{self, CARD, Subject};
use crate::error::{CheckpointError, TrainError};
use crate::optimizer::{self, Optimizer};
use crate::student::Student;
use crate::watch::{Ended, StepReport, Warning, Watch};

use self::checkpoint_files::files_of;
use self::live_metrics::LiveMetrics;
pub use self::progress::{Epoch, Progress, stage_of};
pub(crate) use self::progress::{Patience, restore};
pub use self::start::{RunLocation, RunStart};

/// The directory of what is trained when all is done.
pub const FINAL_MODEL: &str = "final_model";
/// The code of what the watchdog says.
const SILENCE: &str = "silence";
/// The file of a checkpoint that says how far its training was.
pub const STATE: &str = "training_state.json";

/// A run that is being written.
#[derive(Debug)]
pub struct Session {
    run: RunDir,
    stage: &'static str,
    /// Steps whose metrics are recorded.
    recorded: u64,
    /// The newest step that was computed.
    newest: u64,
    alarms: Alarms,
    /// Alarms that are recorded, by step and code; a step's own may be there before its metrics.
    rung: Vec<(u64, String)>,
    /// The step of the newest checkpoint.
    saved: Option<u64>,
    keep: usize,
    every: u64,
    live: LiveMetrics,
    /// The settings, for the model card.
    config: Config,
}

impl Session {
    /// Names the student in the model card of the final model, where the settings have the path of a copy.
    pub fn name_student(&mut self, name: &str) {
        name.clone_into(&mut self.config.student.model_name);
    }

    /// Begins a new run.
    ///
    /// # Errors
    ///
    /// If there is such a run, or it cannot be written.
    pub fn create(
        place: RunLocation<'_>,
        stage: &'static str,
        start: RunStart<'_>,
    ) -> Result<Self, TrainError> {
        let RunStart { config, config_text, command } = start;
        let run = RunDir::create(place.root, place.name, config_text, now_ms())?;
        let mut session = Self::new(run, stage, config);
        let started = Event::RunStarted {
            command: command.to_owned(),
            version: program::version().to_owned(),
            seed: config.seed,
        };
        session.event(started).map_err(TrainError::in_creation)?;
        Ok(session)
    }

    /// Begins a new run where another one was: its first checkpoint is a copy of that one's.
    ///
    /// # Errors
    ///
    /// If there is such a run, the checkpoint cannot be read or is one of another training, or the
    /// run cannot be written.
    pub fn create_from(
        place: RunLocation<'_>,
        stage: &'static str,
        start: RunStart<'_>,
        checkpoint: &Path,
    ) -> Result<Self, TrainError> {
        let step = Progress::read(checkpoint, stage)?.step;
        let mut session = Self::create(place, stage, start)?;
        session.adopt(checkpoint, step)?;
        Ok(session)
    }

    /// Goes on with a run, and says from which checkpoint; there may be none yet. Of a run that is
    /// done it is the final model.
    ///
    /// # Errors
    ///
    /// If there is no such run, it is one of another training, somebody writes it, or it cannot be
    /// read.
    pub fn resume(
        place: RunLocation<'_>,
        stage: &'static str,
        config: &Config,
    ) -> Result<(Self, Option<PathBuf>), TrainError> {
        let (run, _) = RunDir::resume(place.root, place.name, now_ms())?;
        let mut session = Self::new(run, stage, config);
        let saved = session.read_events()?;
        let outputs = session.run.view().outputs_dir();
        let found = checkpoints(&outputs)?;
        for (step, _) in &found {
            // Killed between the checkpoint and its event.
            if !saved.contains(step) {
                session.event(saved_event(*step))?;
            }
        }
        session.saved = found.last().map(|(step, _)| *step);
        let done = Some(outputs.join(FINAL_MODEL)).filter(|path| path.is_dir());
        Ok((session, done.or_else(|| found.into_iter().next_back().map(|(_, path)| path))))
    }

    fn new(run: RunDir, stage: &'static str, config: &Config) -> Self {
        let keep = config.training.save_total_limit as usize;
        Self {
            run,
            stage,
            recorded: 0,
            newest: 0,
            alarms: Alarms::new(config, stage),
            rung: Vec::new(),
            saved: None,
            keep,
            every: config.training.save_steps.into(),
            live: LiveMetrics::new(config),
            config: config.clone(),
        }
    }

    /// Copies a checkpoint of another run, to go on from it.
    fn adopt(&mut self, checkpoint: &Path, step: u64) -> Result<(), TrainError> {
        let staged = self.run.stage_output(&checkpoint_name(step))?;
        let unread = |err: io::Error| TrainError::damaged(checkpoint, CheckpointError::Read(err));
        // A model card says what the other run measured.
        for file in files_of(checkpoint).map_err(unread)?.into_iter().filter(|file| file != CARD) {
            let mut from = open_plain(&checkpoint.join(&file)).map_err(unread)?;
            let copy = |out: &mut io::BufWriter<File>| io::copy(&mut from, out).map(drop);
            staged.stream(&file, copy)?;
        }
        staged.commit()?;
        self.saved = Some(step);
        self.event(saved_event(step))
    }

    /// Learns which steps are recorded and what was measured there; returns the steps of the checkpoints
    /// that are.
    fn read_events(&mut self) -> Result<Vec<u64>, TrainError> {
        let mut saved = Vec::new();
        for event in self.run.view().events()? {
            match event?.1.event {
                Event::Metrics { stage, step, values } => {
                    if stage != self.stage {
                        return Err(TrainError::OtherTraining {
                            path: self.dir().to_owned(),
                            stage,
                        });
                    }
                    self.recorded = self.recorded.max(step);
                    self.alarms.see(step, &values, &no_suspects);
                }
                Event::Alarm { step, code, .. } => self.rung.push((step, code)),
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

    /// Records a step, unless it is recorded, with the alarms that it rings and what the watchdog said
    /// of it; then tells of it.
    pub(crate) fn step(
        &mut self,
        mut report: StepReport,
        suspects: Suspects<'_>,
        watch: Watch<'_>,
    ) -> Result<(), TrainError> {
        let (step, again) = (report.step, self.is_recorded(report.step));
        for message in watch.dog.said() {
            self.event(Event::Warning { code: SILENCE.to_owned(), message })?;
        }
        if again {
            report.warnings.clear();
        } else {
            for Warning { code, message } in report.warnings.clone() {
                self.event(Event::Warning { code, message })?;
            }
            for alarm in self.alarms.see(step, &report.values, suspects) {
                self.alarm(&alarm)?;
                (watch.on_alarm)(&alarm);
            }
            let (stage, values) = (self.stage.to_owned(), report.values.clone());
            self.event(Event::Metrics { stage, step, values })?;
        }
        if let Some(warning) = self.live.follow(self.run.view()) {
            let Warning { code, message } = warning.clone();
            self.event(Event::Warning { code, message })?;
            report.warnings.push(warning);
        }
        self.newest = step;
        (watch.on_step)(&StepReport { again, ..report });
        Ok(())
    }

    /// Records a check of whether the run should end, unless the step is recorded.
    pub(crate) fn stop_check(
        &mut self,
        step: u64,
        stops: bool,
        reason: &str,
    ) -> Result<(), TrainError> {
        let event = Event::StopCheck { step, stops, reason: reason.to_owned() };
        if self.is_recorded(step) { Ok(()) } else { self.event(event) }
    }

    /// Records an alarm, unless that was done before a kill.
    fn alarm(&mut self, alarm: &Alarm) -> Result<(), TrainError> {
        let Alarm { step, code, message, suspects } = alarm.clone();
        if self.rung.iter().any(|(at, known)| (*at, known.as_str()) == (step, code)) {
            return Ok(());
        }
        self.event(Event::Alarm { step, code: code.to_owned(), message, suspects })
    }

    /// Records how a training ended, and passes that on.
    pub(crate) fn closed(
        &mut self,
        result: Result<Ended, TrainError>,
    ) -> Result<Ended, TrainError> {
        let result = result.map_err(|err| self.with_place(err));
        let (outcome, message) = match &result {
            Ok(Ended::Done) => (Outcome::Completed, String::new()),
            Ok(Ended::Because { reason, .. }) => (Outcome::Completed, (*reason).to_owned()),
            Ok(Ended::Stopped(_)) => (Outcome::Interrupted, "told to stop".to_owned()),
            Err(err) => (Outcome::Failed, with_causes(err)),
        };
        let finished = self.finish(outcome, message);
        // What broke the training may have broken the record too, and is what must be told.
        let ended = result?;
        finished?;
        Ok(ended)
    }

    /// Says of a device that broke how far the run is.
    fn with_place(&self, err: TrainError) -> TrainError {
        match err {
            TrainError::Device(source)
            | TrainError::Collect(CollectError::Generate(GenerateError::Device(source)))
                if source.is_broken() =>
            {
                TrainError::DeviceLost { step: self.newest, checkpoint: self.saved, source }
            }
            other => other,
        }
    }

    /// Records how the run ended.
    pub fn finish(&mut self, outcome: Outcome, message: String) -> Result<(), TrainError> {
        self.check_there()?;
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

    /// Writes a checkpoint, unless it is there, and removes those that are too many.
    pub(crate) fn checkpoint(
        &mut self,
        student: &Student,
        optimizer: &Optimizer,
        progress: &Progress,
    ) -> Result<(), TrainError> {
        if self.saved == Some(progress.step) {
            return Ok(());
        }
        self.write(&checkpoint_name(progress.step), student, optimizer, progress)?;
        self.saved = Some(progress.step);
        self.event(saved_event(progress.step))?;
        if self.keep > 0 {
            prune(&self.run.view().outputs_dir(), self.keep)?;
        }
        Ok(())
    }

    /// Writes what is trained as the final model, unless it is there.
    pub(crate) fn final_model(
        &self,
        student: &Student,
        optimizer: &Optimizer,
        progress: &Progress,
    ) -> Result<(), TrainError> {
        if self.run.view().outputs_dir().join(FINAL_MODEL).is_dir() {
            return Ok(());
        }
        self.write(FINAL_MODEL, student, optimizer, progress)
    }

    fn write(
        &self,
        name: &str,
        student: &Student,
        optimizer: &Optimizer,
        progress: &Progress,
    ) -> Result<(), TrainError> {
        self.check_there()?;
        let staged = self.run.stage_output(name)?;
        let target = self.run.view().outputs_dir().join(name);
        student.save(staged.path()).map_err(|err| err.of_target(staged.path(), &target))?;
        let (device, parameters) = (student.decoder.device(), student.decoder.parameters());
        staged.stream(optimizer::FILE, |out| optimizer.write(device, parameters, out))?;
        let text = serde_json::to_string_pretty(progress).expect("plain data");
        staged.put(STATE, format!("{text}\n").as_bytes())?;
        if name == FINAL_MODEL {
            let view = self.run.view();
            let (stage, config, steps) = (self.stage, &self.config, progress.step);
            let subject = Subject { stage, config, student, view, steps };
            staged.put(CARD, card::text(&subject).as_bytes())?;
        }
        // What was read from a device that failed is zeros: it is not kept.
        device.check()?;
        Ok(staged.commit()?)
    }

    /// Looks whether the run is still there: a removed directory takes writes without a word.
    pub(crate) fn check_there(&self) -> Result<(), TrainError> {
        if self.run.view().config_path().exists() {
            return Ok(());
        }
        Err(TrainError::Gone(self.dir().to_owned()))
    }
}

fn saved_event(step: u64) -> Event {
    Event::CheckpointSaved { step, path: format!("outputs/{}", checkpoint_name(step)) }
}

#[cfg(test)]
mod tests;
