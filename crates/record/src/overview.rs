//! A one-line summary of a run: its state, its progress, its last metrics, its size.
//!
//! Read while another process may be writing the run. A run without a final event and without a
//! writer was killed: it can be resumed. To poll a run, keep a [`Followed`], which reads only what
//! is new.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::error::{FileError, ReadError, RunError, ViewError};
use crate::event::{self, Event, Outcome, TimedEvent};
use crate::journal::{self, Position};
use crate::run_dir::{RunDir, RunView};

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process is writing it.
    Running,
    /// It did all it was asked to.
    Completed,
    /// It stopped with an error.
    Failed,
    /// It was asked to stop.
    Interrupted,
    /// Its writer died without recording a final event.
    Killed,
}

/// A run at a glance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: RunState,
    /// When it began and when something happened last, in milliseconds since 1970.
    pub began_ms: Option<u64>,
    /// See `began_ms`.
    pub last_ms: Option<u64>,
    /// The stage that was measured last, e.g. `grpo`.
    pub stage: Option<String>,
    /// The last step that was measured.
    pub step: Option<u64>,
    /// The metrics of that step.
    pub values: BTreeMap<String, f64>,
    /// Warnings so far.
    pub warnings: u64,
    /// Alarms so far.
    pub alarms: u64,
    /// Bytes of all its files.
    pub bytes: u64,
}

/// A run at a glance, kept up to date.
#[derive(Debug, Clone)]
pub struct Followed {
    overview: Overview,
    /// The state according to the events alone.
    told: RunState,
    position: Position,
    /// Whether a process was writing it at the last update.
    written: bool,
}

impl Followed {
    /// Looks at a run for the first time.
    pub fn new(view: &RunView) -> Result<Self, ViewError> {
        let name = view.dir().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let overview = Overview::new(name);
        let (told, position) = (RunState::Killed, Position::default());
        let mut new = Self { overview, told, position, written: false };
        new.look_again(view)?;
        Ok(new)
    }

    /// Reads what is new. If the run was replaced in the meantime, it is read from its beginning.
    pub fn update(&mut self, view: &RunView) -> Result<(), ViewError> {
        match self.look_again(view) {
            Err(ViewError::Read(err)) if err.is_moved() => {
                *self = Self::new(view)?;
                Ok(())
            }
            looked => looked,
        }
    }

    /// The present summary.
    pub fn overview(&self) -> &Overview {
        &self.overview
    }

    fn look_again(&mut self, view: &RunView) -> Result<(), ViewError> {
        // Asked first: a run that ends meanwhile has its last event by then.
        let written = view.is_written()?;
        self.overview.state = self.told;
        let position = each_event_from(view, self.position, |event| self.overview.take(event))?;
        // Files come with events, and go with writers: otherwise the size is the old one.
        let is_same = (position, written) == (self.position, self.written);
        if !is_same || self.overview.bytes == 0 {
            self.overview.bytes = size(view.dir())?;
        }
        (self.position, self.told, self.written) = (position, self.overview.state, written);
        if written {
            self.overview.state = RunState::Running;
        }
        Ok(())
    }
}

impl Overview {
    /// Looks at a run.
    pub fn read(view: &RunView) -> Result<Self, ViewError> {
        Ok(Followed::new(view)?.overview)
    }

    fn new(name: String) -> Self {
        Self {
            name,
            state: RunState::Killed,
            began_ms: None,
            last_ms: None,
            stage: None,
            step: None,
            values: BTreeMap::new(),
            warnings: 0,
            alarms: 0,
            bytes: 0,
        }
    }

    fn take(&mut self, TimedEvent { time_ms, event }: TimedEvent) {
        self.began_ms.get_or_insert(time_ms);
        self.last_ms = Some(time_ms);
        self.state = RunState::Killed;
        match event {
            Event::Metrics { stage, step, values } => {
                (self.stage, self.step, self.values) = (Some(stage), Some(step), values);
            }
            Event::Warning { .. } => self.warnings += 1,
            Event::Alarm { .. } => self.alarms += 1,
            Event::RunFinished { outcome, .. } => {
                self.state = match outcome {
                    Outcome::Completed => RunState::Completed,
                    Outcome::Failed => RunState::Failed,
                    Outcome::Interrupted => RunState::Interrupted,
                };
            }
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::CheckpointSaved { .. }
            | Event::StopCheck { .. } => {}
        }
    }
}

/// A run's name and its summary.
pub type Named = (String, Result<Overview, ViewError>);

/// The runs in a folder by name, each with its summary or an error. Entries that are not runs are
/// skipped.
pub fn runs(root: &Path) -> Result<Vec<Named>, FileError> {
    let look = |name: String| {
        let view = open(root, &name)?;
        Some((name, view.and_then(|view| Overview::read(&view))))
    };
    Ok(names(root)?.into_iter().filter_map(look).collect())
}

/// The folders in a folder, by name: runs, and what else is there.
pub fn names(root: &Path) -> Result<Vec<String>, FileError> {
    let failed = |source| FileError { step: "look into", path: root.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Opens the run of this name in a folder; returns an error if it cannot be opened, and `None` if
/// the entry is not a run or is being created right now.
pub fn open(root: &Path, name: &str) -> Option<Result<RunView, ViewError>> {
    match RunDir::open_read_only(root, name) {
        Ok(view) => Some(Ok(view)),
        // Creating a run takes its lock first, so a folder without one never was a run.
        Err(err @ RunError::Incomplete { .. }) if RunDir::was_abandoned(root, name) => {
            Some(Err(err.into()))
        }
        // Something other than a file is in place of a file of the run.
        Err(err @ RunError::File(_)) => Some(Err(err.into())),
        Err(_) => None,
    }
}

/// Every event up to one that is being written right now.
pub fn each_event(view: &RunView, take: impl FnMut(TimedEvent)) -> Result<(), ReadError> {
    each_event_from(view, Position::default(), take).map(drop)
}

/// Every event behind a place, up to one that is being written right now. Returns the place behind them.
pub fn each_event_from(
    view: &RunView,
    position: Position,
    mut take: impl FnMut(TimedEvent),
) -> Result<Position, ReadError> {
    let path = view.events_path();
    let mut records = journal::read_from(&path, position)?.with_limit(event::MAX_EVENT_BYTES);
    for record in records.by_ref() {
        match record {
            Ok(record) => take(event::parse(&path, &record)?),
            Err(err) if err.is_torn() => break,
            Err(err) => return Err(err),
        }
    }
    Ok(records.place())
}

/// Bytes of all files below a directory. One that goes away meanwhile counts nothing.
fn size(dir: &Path) -> Result<u64, FileError> {
    let failed = |source| FileError { step: "look into", path: dir.to_owned(), source };
    let mut bytes = 0u64;
    for entry in fs::read_dir(dir).map_err(failed)?.flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        let more = if meta.is_dir() { size(&entry.path()).unwrap_or(0) } else { meta.len() };
        // A sparse file can claim any size.
        bytes = bytes.saturating_add(more);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(step: u64, reward: f64) -> Event {
        let values = BTreeMap::from([("grpo/mean_reward".to_owned(), reward)]);
        Event::Metrics { stage: "grpo".to_owned(), step, values }
    }

    fn finished(outcome: Outcome) -> Event {
        Event::RunFinished { outcome, message: String::new() }
    }

    #[test]
    fn a_run_is_running_while_it_is_written_and_killed_if_it_did_not_end() {
        let root = tempfile::tempdir().unwrap();
        let mut run = RunDir::create(root.path(), "a", "", 1).unwrap();
        let mut put = |time_ms, event| run.append_event(&TimedEvent { time_ms, event }).unwrap();
        put(5, metrics(1, 0.25));
        put(9, metrics(2, 0.5));
        put(9, Event::Warning { code: "x".to_owned(), message: String::new() });
        let look = || Overview::read(&RunDir::open_read_only(root.path(), "a").unwrap()).unwrap();
        let found = look();
        assert_eq!((found.state, found.step, found.warnings), (RunState::Running, Some(2), 1));
        assert_eq!((found.began_ms, found.last_ms), (Some(5), Some(9)));
        assert_eq!(found.values["grpo/mean_reward"].to_bits(), 0.5_f64.to_bits());
        assert!(found.bytes > 100, "{}", found.bytes);
        drop(run);
        assert_eq!(look().state, RunState::Killed);
    }

    #[test]
    fn its_last_event_says_how_it_ended() {
        let root = tempfile::tempdir().unwrap();
        for (name, outcome, state) in [
            ("done", Outcome::Completed, RunState::Completed),
            ("broken", Outcome::Failed, RunState::Failed),
            ("stopped", Outcome::Interrupted, RunState::Interrupted),
        ] {
            let mut run = RunDir::create(root.path(), name, "", 1).unwrap();
            run.append_event(&TimedEvent { time_ms: 2, event: finished(outcome) }).unwrap();
            drop(run);
            let view = RunDir::open_read_only(root.path(), name).unwrap();
            assert_eq!(Overview::read(&view).unwrap().state, state);
        }
        fs::create_dir(root.path().join("no run")).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let names: Vec<String> = runs(root.path()).unwrap().into_iter().map(|run| run.0).collect();
        assert_eq!(names, ["broken", "done", "stopped"]);
    }

    #[test]
    fn a_run_that_was_never_fully_created_is_named_with_what_is_missing() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDir::create(root.path(), "cut", "", 1).unwrap();
        fs::remove_file(run.view().config_path()).unwrap();
        assert!(runs(root.path()).unwrap().is_empty(), "it is being written");
        drop(run);
        let found = runs(root.path()).unwrap();
        let [(name, Err(err))] = &found[..] else { panic!("{found:?}") };
        assert_eq!(name, "cut");
        assert!(err.to_string().ends_with("cut` has no `config.toml`"), "{err}");
        assert!(err.hint().unwrap().contains("give the command that began it again"));
    }

    #[test]
    fn a_run_that_is_followed_is_what_it_would_be_at_a_first_look() {
        let root = tempfile::tempdir().unwrap();
        let mut run = RunDir::create(root.path(), "a", "", 1).unwrap();
        let view = run.view().clone();
        let mut followed = Followed::new(&view).unwrap();
        let mut check = |state| {
            followed.update(&view).unwrap();
            assert_eq!(followed.overview(), &Overview::read(&view).unwrap());
            assert_eq!(followed.overview().state, state);
        };
        for event in [metrics(1, 0.25), metrics(2, 0.5), finished(Outcome::Failed)] {
            run.append_event(&TimedEvent { time_ms: 3, event }).unwrap();
            check(RunState::Running);
        }
        drop(run);
        check(RunState::Failed);
        drop(RunDir::resume(root.path(), "a", 9).unwrap());
        check(RunState::Killed);
        fs::remove_dir_all(view.dir()).unwrap();
        drop(RunDir::create(root.path(), "a", "", 1).unwrap());
        check(RunState::Killed);
        assert_eq!(followed.overview().began_ms, None, "it is another run of the same name");
    }

    #[test]
    fn a_run_that_goes_on_has_not_ended() {
        let root = tempfile::tempdir().unwrap();
        let mut run = RunDir::create(root.path(), "a", "", 1).unwrap();
        let event = finished(Outcome::Interrupted);
        run.append_event(&TimedEvent { time_ms: 2, event }).unwrap();
        drop(run);
        drop(RunDir::resume(root.path(), "a", 3).unwrap());
        let view = RunDir::open_read_only(root.path(), "a").unwrap();
        assert_eq!(Overview::read(&view).unwrap().state, RunState::Killed);
    }
}
