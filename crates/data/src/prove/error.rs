//! Files of tasks that could not be looked at.

use std::io;
use std::path::PathBuf;

use whetstone_record::error::{FileError, LedgerError};

/// Validation failed. Answers of the judge so far are in the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// A file cannot be read.
    #[error("cannot read the tasks `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// Tasks are read twice, so a pipe will not do.
    #[error("the tasks `{}` are not a file", path.display())]
    NotAFile {
        /// The given path.
        path: PathBuf,
    },

    /// An output would take the place of an input, or of the other output.
    #[error("the output `{}` is named twice", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },

    /// The journal cannot be opened, resumed, written or removed.
    #[error(transparent)]
    Journal(#[from] LedgerError),

    /// The tasks changed under our hands.
    #[error("the tasks changed while they were validated")]
    Changed,

    /// An output cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),

    /// No thread could be started.
    #[error("cannot start the threads that judge")]
    Threads(#[source] io::Error),
}

impl ProveError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAFile { .. } => {
                Some("tasks are read more than once: write them to a file first")
            }
            Self::SameFile { .. } => Some("give `--out` and `--dropped` names of their own"),
            Self::Changed => {
                Some("validate files that no other process is writing; start with `--fresh`")
            }
            Self::Journal(err) => err.hint(),
            Self::Write(err) => err.hint(),
            Self::Read { .. } | Self::Threads(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Read { .. } | Self::NotAFile { .. } | Self::SameFile { .. } => true,
            Self::Journal(err) => err.is_usage(),
            _ => false,
        }
    }
}
