//! One stage as its kind sees it: its inputs and settings, and where its files go.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use serde::de::DeserializeOwned;
use whetstone_config::{Loaded, Problem, Sources, StageEntry};
use whetstone_core::config::{Config, DeviceChoice};
use whetstone_record::run_dir::{RunDir, RunView};
use whetstone_record::stages::StageFigure;
use whetstone_train::inputs;

use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::training::RunRequest;

/// A kind of stage.
#[derive(Debug)]
pub struct Kind {
    /// Its name in a stage file.
    pub name: &'static str,
    /// The command that does the same.
    pub command: &'static str,
    /// What it takes, by its settings.
    pub takes: fn(&Config) -> Vec<Take>,
    /// What it makes, and where in its directory.
    pub makes: &'static [(What, &'static str)],
    /// What is wrong with its options or settings.
    pub check: fn(&StageEntry, &Loaded) -> Vec<Problem>,
    /// Does it, or says what it would do.
    pub run: fn(&Job<'_>) -> Result<Outcome<StageEnd>, Failure>,
    /// Sections of the settings on which what it makes depends, with `seed`.
    pub sections: &'static [&'static str],
    /// How it is stopped.
    pub stops: Stops,
}

/// How a stage is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stops {
    /// It looks at a flag, saves and leaves.
    AfterAStep,
    /// At any moment: what is done is on the disk.
    AtOnce,
}

/// How a stage ended: with its main figures, or `None` if it was stopped.
pub type StageEnd = Option<Vec<StageFigure>>;

/// A stage to be done.
#[derive(Clone)]
pub struct Job<'a> {
    /// As it stands in the file.
    pub entry: &'a StageEntry,
    /// Its settings.
    pub config: &'a Config,
    /// Where they come from.
    pub sources: &'a Sources,
    /// The directory of all stages.
    pub stages: PathBuf,
    /// The directory of models that were merged.
    pub models: PathBuf,
    /// Its inputs.
    pub inputs: BTreeMap<What, Input>,
    /// Whether only the plan is wanted.
    pub dry_run: bool,
    /// The device, over the setting `run.device`.
    pub device: Option<DeviceChoice>,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
    /// Set if it shall stop.
    pub stop: &'a AtomicBool,
    /// Shows what it does.
    pub observer: &'a dyn Observer,
}

/// An input of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its path.
    pub path: PathBuf,
    /// The stage that made it.
    pub stage: Option<String>,
}

impl Job<'_> {
    /// The directory of the stage.
    pub fn dir(&self) -> PathBuf {
        self.stages.join(&self.entry.name)
    }

    /// The path of an input, if there is one.
    pub fn input(&self, what: What) -> Option<PathBuf> {
        self.inputs.get(&what).map(|input| input.path.clone())
    }

    /// The path of an input that its kind needs: a plan without it is refused.
    pub fn needed(&self, what: What) -> PathBuf {
        self.input(what).unwrap_or_default()
    }

    /// The options of its kind.
    ///
    /// # Errors
    ///
    /// Those of [`options`].
    pub fn options<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.entry.options().map_err(|problem| Failure::Config(vec![problem]))
    }

    /// Creates its directory, for a command that expects it.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn create_dir(&self) -> Result<(), Failure> {
        let dir = self.dir();
        if self.dry_run {
            return Ok(());
        }
        let failed = |err| Failure::io(format!("cannot create `{}`", dir.display()), err);
        fs::create_dir_all(&dir).map_err(failed)
    }

    /// The run of a training stage: a new one, or the one that was begun.
    ///
    /// # Errors
    ///
    /// If what a kill left of a run that was never begun cannot be removed.
    pub fn run_request(&self, more: &[String]) -> Result<RunRequest, Failure> {
        let found = RunDir::open_read_only(&self.stages, &self.entry.name).ok();
        let found = found.filter(|_| !self.dry_run);
        // A kill before the inputs were kept: nothing was learnt yet.
        let is_empty = |view: &RunView| matches!(inputs::known(view), Ok(None));
        if let Some(view) = found.as_ref().filter(|view| is_empty(view)) {
            let failed =
                |err| Failure::io(format!("cannot remove `{}`", view.dir().display()), err);
            fs::remove_dir_all(view.dir()).map_err(failed)?;
        }
        let resume = found.is_some_and(|view| !is_empty(&view) && view.dir().exists());
        let own = format!("run.dir={}", self.stages.display());
        let mut sources = if resume { Sources::default() } else { self.sources.clone() };
        sources.set.push(own);
        if !resume {
            sources.set.extend_from_slice(more);
        }
        Ok(RunRequest {
            name: self.entry.name.clone(),
            resume,
            from: None,
            dry_run: self.dry_run,
            device: self.device,
            threads: self.threads,
            sources,
        })
    }
}

/// The problems of a kind whose options are of a type.
pub fn options<T: DeserializeOwned>(entry: &StageEntry) -> Vec<Problem> {
    entry.options::<T>().err().into_iter().collect()
}

/// A figure without an interval.
pub fn figure(name: &str, value: f64) -> StageFigure {
    StageFigure { name: name.to_owned(), value, interval: None }
}
