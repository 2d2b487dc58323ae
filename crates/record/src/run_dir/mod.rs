//! A run is a directory.
//!
//! ```text
//! runs/grpo-3/
//!   config.toml     the resolved config; written last, so a run that has it was fully created
//!   events.jsonl    what happened, a journal of events
//!   cursors.json    how far it came
//!   rollouts/       journals of rollouts
//!   outputs/        checkpoint-N/ and final_model/, each whole or not there
//!   inputs/         its input files: copies of tasks, hashes of traces
//!   …               what some runs begin with, e.g. a student and tasks
//!   logs/           text for people
//!   run.lock        who is writing it
//! ```
//!
//! A kill or a full disk during creation leaves some of these, all empty, and no config; one a moment later leaves a
//! run in which nothing happened but its start. [`RunDir::create`] recognises both states and begins the run again; any
//! other directory is not touched, because it holds a run or other data.
//!
//! Cursors never run ahead of events: saving them syncs the events to disk first.
//!
//! Not here: the meaning of a config or a checkpoint, and the pages that show a run.

mod lock;
mod name;
mod vacancy;
mod view;

use std::fs;
use std::path::Path;

use self::lock::RunLock;
use self::vacancy::check_vacant;
use self::view::FOLDERS;
pub use self::view::RunView;
use crate::atomic::{clear_temporaries, replace, sync_dir, sync_parent};
use crate::cursor::Cursors;
use crate::error::{FileError, RunError};
use crate::event::{Event, TimedEvent};
use crate::journal::{Journal, Recovery};
use crate::outputs::Staged;

/// The one writer of a run.
#[derive(Debug)]
pub struct RunDir {
    view: RunView,
    // Dropped before the lock, so that no other process can open the run while events are synced.
    events: Journal,
    _lock: RunLock,
}

impl RunDir {
    /// Creates the run `name` in the directory `root`, which is created if need be. A run that was not begun
    /// ([`RunView::has_begun`]) is replaced.
    pub fn create(
        root: &Path,
        name: &str,
        config_text: &str,
        time_ms: u64,
    ) -> Result<Self, RunError> {
        Self::create_here(root, name, config_text, time_ms).map_err(RunError::in_creation)
    }

    fn create_here(
        root: &Path,
        name: &str,
        config_text: &str,
        time_ms: u64,
    ) -> Result<Self, RunError> {
        let view = RunView::locate(root, name)?;
        create_durably(root)?;
        create_durably(view.dir())?;
        check_vacant(&view)?;
        let lock = RunLock::take(&view.lock_path(), view.dir(), time_ms)?;
        // Checked again: another process may have created the run before the lock was taken.
        check_vacant(&view)?;
        let events = fill(&view, config_text)?;
        Ok(Self { view, events, _lock: lock })
    }

    /// Opens the run `name` in `root` to resume it, and records that it was resumed.
    pub fn resume(root: &Path, name: &str, time_ms: u64) -> Result<(Self, Recovery), RunError> {
        let view = RunView::existing(root, name)?;
        let lock = RunLock::take(&view.lock_path(), view.dir(), time_ms)?;
        tidy(&view)?;
        let (events, recovery) = Journal::open(&view.events_path())?;
        let mut run = Self { view, events, _lock: lock };
        let Recovery { cut_bytes, last_seq, .. } = recovery;
        let event = Event::RunResumed { cut_bytes, last_seq };
        run.append_event(&TimedEvent { time_ms, event })?;
        Ok((run, recovery))
    }

    /// Opens the run `name` in `root` for reading, also while it is being written.
    pub fn open_read_only(root: &Path, name: &str) -> Result<RunView, RunError> {
        RunView::existing(root, name)
    }

    /// Whether the creation of a run of this name in `root` was interrupted: its lock file exists
    /// and is free.
    pub(crate) fn was_abandoned(root: &Path, name: &str) -> bool {
        let view = RunView::locate(root, name);
        view.is_ok_and(|view| view.lock_path().is_file() && matches!(view.is_written(), Ok(false)))
    }

    /// The run's paths and how to read them.
    pub fn view(&self) -> &RunView {
        &self.view
    }

    /// Records an event and returns its number. When this returns, `kill -9` cannot lose it.
    pub fn append_event(&mut self, event: &TimedEvent) -> Result<u64, RunError> {
        Ok(self.events.append(event)?)
    }

    /// Waits until every event so far is on the disk.
    pub fn sync(&self) -> Result<(), RunError> {
        Ok(self.events.sync()?)
    }

    /// Starts writing a directory of the run itself, e.g. `student`: one of its inputs, not of its
    /// outputs.
    pub fn stage(&self, name: &str) -> Staged {
        Staged::begin(&self.view.dir().join(name))
    }

    /// Begins a directory of the run's outputs, e.g. `checkpoint-40`. Everything that happened so far
    /// is on the disk before it can appear.
    pub fn stage_output(&self, name: &str) -> Result<Staged, RunError> {
        self.sync()?;
        Ok(Staged::begin(&self.view.outputs_dir().join(name)))
    }

    /// Saves how far the run has come, after everything that happened up to there.
    pub fn save_cursors(&self, cursors: &Cursors) -> Result<(), RunError> {
        self.sync()?;
        Ok(cursors.save(&self.view.cursors_path())?)
    }
}

/// Creates `dir` unless it exists, and syncs its entry to disk.
fn create_durably(dir: &Path) -> Result<(), FileError> {
    fs::create_dir_all(dir).map_err(FileError::at("create the directory", dir))?;
    sync_parent(dir)
}

/// Creates everything a run has, the config last.
fn fill(view: &RunView, config_text: &str) -> Result<Journal, RunError> {
    tidy(view)?;
    let (mut events, Recovery { kept_bytes, .. }) = Journal::open(&view.events_path())?;
    // The start of a run that came no further.
    if kept_bytes > 0 {
        events.clear()?;
    }
    Cursors::default().save(&view.cursors_path())?;
    sync_dir(view.dir())?;
    replace(&view.config_path(), config_text.as_bytes())?;
    Ok(events)
}

/// Makes the folders that are missing and removes what killed writers left.
fn tidy(view: &RunView) -> Result<(), FileError> {
    clear_temporaries(view.dir())?;
    for folder in FOLDERS {
        let folder = view.dir().join(folder);
        fs::create_dir_all(&folder).map_err(FileError::at("create the directory", &folder))?;
        clear_temporaries(&folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
