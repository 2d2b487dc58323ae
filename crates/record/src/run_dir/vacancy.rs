//! Whether a run of a name can be created: there is nothing, or only what an attempt left that came no further.
//!
//! Two states are left by a kill or a full disk, and hold nothing that anybody could miss: a creation that did not come
//! to its config, and a run whose only events say that it was started. In both, every folder is empty and nothing was
//! written beside what [`RunDir::create`](super::RunDir::create) makes. A run with its inputs was begun.

use std::fs::{self, DirEntry};

use super::view::{CONFIG, CURSORS, EVENTS, FOLDERS, LOCK, RunView};
use crate::atomic::is_temporary;
use crate::cursor::Cursors;
use crate::error::{FileError, RunError};
use crate::event::Event;

impl RunView {
    /// Whether the run is being written, or anything happened in it after its start. One that was not begun can be
    /// created again.
    pub fn has_begun(&self) -> bool {
        !matches!(self.is_written(), Ok(false)) || check_vacant(self).is_err()
    }
}

/// Refuses a directory that holds a run that was begun, or anything that an attempt to create one would not hold.
pub(super) fn check_vacant(view: &RunView) -> Result<(), RunError> {
    let dir = view.dir();
    // Without the rest of a run, a config is a file of somebody else.
    let has_config = view.config_path().exists();
    let is_whole = has_config && [EVENTS, CURSORS].iter().all(|file| dir.join(file).is_file());
    for entry in fs::read_dir(dir).map_err(FileError::at("list", dir))? {
        let entry = entry.map_err(FileError::at("list", dir))?;
        let is_left = if is_whole { is_unused(&entry, view) } else { is_half_created(&entry) };
        if !is_left {
            let path = dir.to_owned();
            return Err(if has_config {
                RunError::Exists { path }
            } else {
                RunError::Occupied { path, entry: entry.file_name() }
            });
        }
    }
    Ok(())
}

/// Whether a whole run has this before it is begun.
fn is_unused(entry: &DirEntry, view: &RunView) -> bool {
    let name = entry.file_name();
    if name == EVENTS {
        return only_started(view);
    }
    let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
    is_file && name == CONFIG || is_half_created(entry)
}

/// Whether the events say no more than that the run was started, or resumed without coming further.
fn only_started(view: &RunView) -> bool {
    let Ok(mut events) = view.events() else { return false };
    events.all(|event| match event {
        Ok((_, event)) => {
            matches!(event.event, Event::RunStarted { .. } | Event::RunResumed { .. })
        }
        Err(err) => err.is_torn(),
    })
}

/// Whether a kill during creation can have left this.
fn is_half_created(entry: &DirEntry) -> bool {
    let (name, path) = (entry.file_name(), entry.path());
    if name == LOCK || is_temporary(&name) {
        return true;
    }
    if name == EVENTS {
        return fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() == 0);
    }
    if name == CURSORS {
        return Cursors::load(&path).is_ok_and(|cursors| cursors.is_empty());
    }
    FOLDERS.iter().any(|&folder| name == folder)
        && fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_none())
}
