//! Errors of making pairs.

use std::io;
use std::path::PathBuf;

use whetstone_record::error::{BatchError, FileError};

use super::bad_line::BadPairLine;
use crate::source::SourceError;

/// Pairs could not be made. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// No file was named.
    #[error("there is nothing to make pairs of")]
    NoInput,
    /// A file of rollouts or traces cannot be read, or an output is an input.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A file of pairs cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Rows or lines are bad, and that was not to be allowed.
    #[error("{count} of the lines are no pairs or replies, and `--strict` allows none")]
    BadLines {
        /// How many.
        count: u64,
        /// The first of them.
        first: Vec<BadPairLine>,
    },
    /// Nothing is left.
    #[error("no pair can be made of these files: {why}")]
    NoPairs {
        /// What became of everything.
        why: String,
        /// A suggestion for the user.
        hint: &'static str,
    },
    /// All pairs are of one task, and some were to be held out.
    #[error("all pairs are of one task, so none can be held out")]
    OneTask,
    /// The thread that parses programs does not start.
    #[error("cannot start the thread that reads programs")]
    Threads(#[source] io::Error),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of pairs changed between two readings.
    #[error("the pairs `{}` changed while they were read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl PairError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoInput => {
                Some("name files with `--rollouts`, `--traces` or `--pairs`; `--help` has examples")
            }
            Self::Batch(BatchError::Changed { .. }) | Self::Changed { .. } => {
                Some("run the command again once nobody writes the file")
            }
            Self::Batch(err) => err.hint(),
            Self::Source(err) => err.hint(),
            Self::BadLines { .. } => Some(
                "mend these lines, or leave `--strict` out: then they are left out and counted",
            ),
            Self::NoPairs { hint, .. } => Some(hint),
            Self::OneTask => Some("leave `--out-val` out, or give replies to more tasks"),
            Self::Threads(_) => None,
            Self::File(err) => err.hint(),
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Batch(err) => err.is_usage(),
            Self::Threads(_) | Self::File(_) => false,
            _ => true,
        }
    }
}
