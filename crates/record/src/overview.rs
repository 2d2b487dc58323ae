//! What there is to say of a run in a line: its state, how far it is, its last measurements, its size.
//!
//! Read from the outside, while somebody may be writing it. A run without a last event that nobody
//! writes was killed: it can be resumed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::error::{FileError, ReadError, ViewError};
use crate::event::{Event, Outcome, TimedEvent};
use crate::run_dir::{RunDir, RunView};

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Somebody writes it.
    Running,
    /// It did all it was asked to.
    Completed,
    /// It could not go on.
    Failed,
    /// It was told to stop.
    Interrupted,
    /// Its writer is gone, and left no last event.
    Killed,
}

/// A run at a glance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: State,
    /// When it began and when something happened last, in milliseconds since 1970.
    pub began_ms: Option<u64>,
    /// See `began_ms`.
    pub last_ms: Option<u64>,
    /// The stage that was measured last, e.g. `grpo`.
    pub stage: Option<String>,
    /// The last step that was measured.
    pub step: Option<u64>,
    /// What was measured there.
    pub values: BTreeMap<String, f64>,
    /// Warnings so far.
    pub warnings: u64,
    /// Bytes of all its files.
    pub bytes: u64,
}

impl Overview {
    /// Looks at a run.
    pub fn read(view: &RunView) -> Result<Self, ViewError> {
        let name = view.dir().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut found = Self {
            name,
            state: State::Killed,
            began_ms: None,
            last_ms: None,
            stage: None,
            step: None,
            values: BTreeMap::new(),
            warnings: 0,
            bytes: size(view.dir())?,
        };
        // Asked first: a run that ends meanwhile has its last event by then.
        let written = view.is_written()?;
        each_event(view, |event| found.take(event))?;
        if written {
            found.state = State::Running;
        }
        Ok(found)
    }

    fn take(&mut self, TimedEvent { time_ms, event }: TimedEvent) {
        self.began_ms.get_or_insert(time_ms);
        self.last_ms = Some(time_ms);
        self.state = State::Killed;
        match event {
            Event::Metrics { stage, step, values } => {
                (self.stage, self.step, self.values) = (Some(stage), Some(step), values);
            }
            Event::Warning { .. } => self.warnings += 1,
            Event::RunFinished { outcome, .. } => {
                self.state = match outcome {
                    Outcome::Completed => State::Completed,
                    Outcome::Failed => State::Failed,
                    Outcome::Interrupted => State::Interrupted,
                };
            }
            Event::RunStarted { .. } | Event::RunResumed { .. } | Event::CheckpointSaved { .. } => {
            }
        }
    }
}

/// A run's name, and what there is to say of it.
pub type Named = (String, Result<Overview, ViewError>);

/// The runs in a folder, by name, each with what there is to say of it or why nothing can be said. What
/// is no run is passed over.
pub fn runs(root: &Path) -> Result<Vec<Named>, FileError> {
    let failed = |source| FileError { step: "look into", path: root.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let open = |name: String| match RunDir::open_read_only(root, &name) {
        Ok(view) => Some((name, Overview::read(&view))),
        Err(_) => None,
    };
    Ok(names.into_iter().filter_map(open).collect())
}

/// Every event up to one that is being written right now.
pub fn each_event(view: &RunView, mut take: impl FnMut(TimedEvent)) -> Result<(), ReadError> {
    for event in view.events()? {
        match event {
            Ok((_, event)) => take(event),
            Err(err) if err.is_torn() => break,
            Err(err) => return Err(err),
        }
    }
    Ok(())
}

/// Bytes of all files below a directory. One that goes away meanwhile counts nothing.
fn size(dir: &Path) -> Result<u64, FileError> {
    let failed = |source| FileError { step: "look into", path: dir.to_owned(), source };
    let mut bytes = 0;
    for entry in fs::read_dir(dir).map_err(failed)?.flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        bytes += if meta.is_dir() { size(&entry.path()).unwrap_or(0) } else { meta.len() };
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
        assert_eq!((found.state, found.step, found.warnings), (State::Running, Some(2), 1));
        assert_eq!((found.began_ms, found.last_ms), (Some(5), Some(9)));
        assert_eq!(found.values["grpo/mean_reward"].to_bits(), 0.5_f64.to_bits());
        assert!(found.bytes > 100, "{}", found.bytes);
        drop(run);
        assert_eq!(look().state, State::Killed);
    }

    #[test]
    fn its_last_event_says_how_it_ended() {
        let root = tempfile::tempdir().unwrap();
        for (name, outcome, state) in [
            ("done", Outcome::Completed, State::Completed),
            ("broken", Outcome::Failed, State::Failed),
            ("stopped", Outcome::Interrupted, State::Interrupted),
        ] {
            let mut run = RunDir::create(root.path(), name, "", 1).unwrap();
            run.append_event(&TimedEvent { time_ms: 2, event: finished(outcome) }).unwrap();
            drop(run);
            let view = RunDir::open_read_only(root.path(), name).unwrap();
            assert_eq!(Overview::read(&view).unwrap().state, state);
        }
        fs::create_dir(root.path().join("no run")).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let names: Vec<String> = runs(root.path()).unwrap().into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["broken", "done", "stopped"]);
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
        assert_eq!(Overview::read(&view).unwrap().state, State::Killed);
    }
}
