//! Failures of a run directory as a whole.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{CursorError, FileError, JournalError, is_full};

/// A run could not be created, resumed or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The name cannot be a directory's name on every machine.
    #[error("`{}` cannot be the name of a run: {problem}", name.escape_debug())]
    Name {
        /// The name as given.
        name: String,
        /// The rule it breaks.
        problem: &'static str,
    },

    /// There is such a run already.
    #[error("the run `{}` exists already", path.display())]
    Exists {
        /// Its directory.
        path: PathBuf,
    },

    /// The directory holds something a half-created run would not.
    #[error("cannot create a run in `{}`: it already holds {}", path.display(), entry.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// The first entry that is not ours, or not empty.
        entry: OsString,
    },

    /// There is no such run.
    #[error("there is no run `{}`", path.display())]
    NotFound {
        /// The path where it was expected.
        path: PathBuf,
    },

    /// A file that every run has is not there.
    #[error("the run `{}` has no `{missing}`", path.display())]
    Incomplete {
        /// Its directory.
        path: PathBuf,
        /// The file.
        missing: &'static str,
    },

    /// Another process writes this run.
    #[error("the run `{}` is being written by {}", path.display(), holder(*pid))]
    Locked {
        /// Its directory.
        path: PathBuf,
        /// The process; `None` in the instant before it has written its number down.
        pid: Option<u32>,
    },

    /// A file of a run that is being created failed: nothing was begun yet.
    #[error(transparent)]
    Create(Box<Self>),

    /// The kernel refused a step.
    #[error(transparent)]
    File(#[from] FileError),

    /// The event journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),

    /// The resume cursors failed.
    #[error(transparent)]
    Cursors(#[from] CursorError),
}

/// What to do about a disk that was full before there was anything to resume.
const AGAIN: &str = "free some space, then run the same command again";

impl RunError {
    /// The error of a step in the creation of a run: there is nothing to resume yet.
    pub fn in_creation(err: impl Into<Self>) -> Self {
        match err.into() {
            err @ (Self::File(_) | Self::Journal(_) | Self::Cursors(_)) => {
                Self::Create(Box::new(err))
            }
            err => err,
        }
    }

    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Name { .. } => Some("use letters, digits, `.`, `_` and `-`, e.g. `grpo-3`"),
            Self::Exists { .. } => Some("choose another name, or resume the run"),
            Self::Occupied { .. } => Some("choose another name, or move the directory away"),
            Self::NotFound { .. } => Some("check the name and the directory of the runs"),
            Self::Incomplete { missing: "config.toml", .. } => Some(
                "its creation was cut short before anything ran: give the command that began it \
                     again, without `--resume`",
            ),
            Self::Incomplete { .. } => Some("restore the file from a copy, or start a new run"),
            Self::Locked { .. } => Some("wait for that process to end, or stop it"),
            Self::Create(err) if is_full(err.as_ref()) => Some(AGAIN),
            Self::Create(err) => err.hint(),
            Self::File(err) => err.hint(),
            Self::Journal(err) => err.hint(),
            Self::Cursors(err) => err.hint(),
        }
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;

    use super::*;

    #[test]
    fn messages_name_the_thing_and_leave_the_cause_to_the_chain() {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        let path = PathBuf::from("runs/a/cursors.json");
        let err = RunError::from(CursorError::from(FileError { step: "rename", path, source }));
        assert_eq!(err.to_string(), "cannot rename `runs/a/cursors.json`");
        assert_eq!(err.source().unwrap().to_string(), "no storage space");
        assert_eq!(err.hint(), Some("free some space, then resume the run"));
    }

    #[test]
    fn a_full_disk_in_a_creation_leaves_nothing_to_resume() {
        let full = |kind: io::ErrorKind| {
            let path = PathBuf::from("runs/a/run.lock");
            RunError::in_creation(FileError { step: "write", path, source: kind.into() })
        };
        let err = full(io::ErrorKind::StorageFull);
        assert_eq!(err.to_string(), "cannot write `runs/a/run.lock`");
        assert_eq!(err.source().unwrap().to_string(), "no storage space");
        assert_eq!(err.hint(), Some("free some space, then run the same command again"));
        let hint = full(io::ErrorKind::PermissionDenied).hint().unwrap();
        assert!(hint.starts_with("check who owns that place"), "{hint}");
        let exists = RunError::Exists { path: PathBuf::from("runs/a") };
        assert!(matches!(RunError::in_creation(exists), RunError::Exists { .. }));
    }

    #[test]
    fn a_locked_run_names_the_process() {
        let message = |pid| RunError::Locked { path: PathBuf::from("runs/a"), pid }.to_string();
        assert_eq!(message(Some(71)), "the run `runs/a` is being written by process 71");
        assert_eq!(message(None), "the run `runs/a` is being written by another process");
    }
}
