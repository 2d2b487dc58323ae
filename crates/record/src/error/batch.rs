//! Failures of a batch: its inputs, its journal, its threads, its outputs.

use std::io;
use std::path::PathBuf;

use super::{FileError, JournalError, ReadError};

/// A batch could not be begun, resumed or finished. Results so far are in its journal.
///
/// Every command that keeps one has the same options: `--out` names the output, `--fresh` discards
/// the journal. The hints rely on that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The journal cannot be opened, written or removed.
    #[error(transparent)]
    Journal(#[from] JournalError),

    /// The journal cannot be read back.
    #[error(transparent)]
    Read(#[from] ReadError),

    /// The journal belongs to unfinished work with other inputs or settings.
    #[error(
        "`{}` belongs to unfinished work with other inputs: {} changed",
        path.display(), differs.join(", ")
    )]
    OtherInputs {
        /// The journal.
        path: PathBuf,
        /// The settings that differ, as text for the message.
        differs: Vec<String>,
    },

    /// The journal is of another kind of work.
    #[error("`{}` is the journal of another command", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },

    /// An input cannot be read.
    #[error("cannot read the {noun} `{}`", path.display())]
    Input {
        /// What the file holds: `rollouts`, `tasks`.
        noun: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// Inputs are read twice, so a pipe will not do.
    #[error("the {noun} `{}` are not a file", path.display())]
    NotAFile {
        /// What the file should hold.
        noun: &'static str,
        /// The given path.
        path: PathBuf,
    },

    /// An output would replace an input, or another output.
    #[error("the output `{}` is also an input, or named twice", path.display())]
    SameFile {
        /// The output.
        path: PathBuf,
    },

    /// An input changed between the first pass and the second.
    #[error("the {noun} changed while they were read")]
    Changed {
        /// What the file holds.
        noun: &'static str,
    },

    /// No thread could be started.
    #[error("cannot start the threads that judge")]
    Threads(#[source] io::Error),

    /// A result that was written is not in the journal.
    #[error("the result of {item} is not in the journal")]
    Lost {
        /// The item: `line 7`.
        item: String,
    },

    /// An output cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
}

impl BatchError {
    /// The kind of input that is not there at all: `rollouts`, `traces`.
    pub fn missing_input(&self) -> Option<&'static str> {
        match self {
            Self::Input { noun, source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some(*noun)
            }
            _ => None,
        }
    }

    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Journal(JournalError::Locked { .. }) => {
                Some("wait for the other process to end, or give `--out` another name")
            }
            Self::Journal(JournalError::NotAJournal { .. }) | Self::NotOurs { .. } => {
                Some("nothing was changed: move that file away, or give `--out` another name")
            }
            Self::Journal(err) => err.hint(),
            Self::Read(_) => Some("give `--fresh` to throw it away and start over"),
            Self::OtherInputs { .. } => Some(
                "restore them to resume, give `--fresh` to discard the earlier work, or `--out` \
                 another name",
            ),
            Self::NotAFile { .. } => {
                Some("inputs are read more than once: write them to a file first")
            }
            Self::SameFile { .. } => Some("give every output a name of its own"),
            Self::Changed { .. } => {
                Some("name files that no other process writes to; start with `--fresh`")
            }
            Self::Threads(_) => Some(
                "each counts as a process and takes 1 GiB of address space: raise `ulimit -u` and \
                 `ulimit -v`, or lower `sandbox.workers`",
            ),
            Self::Lost { .. } => Some("start with `--fresh`"),
            Self::Write(err) => err.hint(),
            Self::Input { .. } => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Journal(JournalError::NotAJournal { .. })
                | Self::OtherInputs { .. }
                | Self::NotOurs { .. }
                | Self::Input { .. }
                | Self::NotAFile { .. }
                | Self::SameFile { .. }
        )
    }
}
