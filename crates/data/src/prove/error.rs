//! Files of tasks that could not be looked at.

use std::io;
use std::path::PathBuf;

use whetstone_record::error::{FileError, JournalError, ReadError};

/// Tasks could not be proven. What was judged is in the journal, if it came so far.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// A file cannot be read.
    #[error("cannot read the tasks `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },

    /// Tasks are read twice, so a pipe will not do.
    #[error("the tasks `{}` are not a file", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },

    /// An output would take the place of an input, or of the other output.
    #[error("the output `{}` is named twice", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },

    /// The journal cannot be opened or written.
    #[error("cannot keep the journal of this validation")]
    Journal(#[from] JournalError),

    /// The journal cannot be read back.
    #[error("cannot read the journal of this validation")]
    JournalRead(#[from] ReadError),

    /// An unfinished validation of something else is in the way.
    #[error(
        "`{}` belongs to an unfinished validation with other inputs: {} changed",
        path.display(), differs.join(", ")
    )]
    OtherValidation {
        /// The journal.
        path: PathBuf,
        /// What is not the same, in words.
        differs: Vec<&'static str>,
    },

    /// A file with the journal's name is something else.
    #[error("`{}` is not the journal of a validation", path.display())]
    NotOurJournal {
        /// The file.
        path: PathBuf,
    },

    /// The tasks changed under our hands.
    #[error("the tasks changed while they were validated")]
    Changed,

    /// An output cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),

    /// The journal of a finished validation cannot be removed.
    #[error("cannot remove `{}`", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },

    /// No thread could be started.
    #[error("cannot start the threads that judge")]
    Threads(#[source] io::Error),
}

impl ProveError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAFile { .. } => {
                Some("tasks are read more than once: write them to a file first")
            }
            Self::SameFile { .. } => Some("give `--out` and `--dropped` names of their own"),
            Self::OtherValidation { .. } => {
                Some("give `--fresh` to forget that validation, or `--out` another name")
            }
            Self::NotOurJournal { .. } => Some("move that file away, or give `--out` another name"),
            Self::Changed => Some("validate files that nobody writes to; start with `--fresh`"),
            Self::JournalRead(_) => Some("start with `--fresh`"),
            Self::Journal(err) => err.hint(),
            Self::Write(err) => err.hint(),
            Self::Read { .. } | Self::Remove { .. } | Self::Threads(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Read { .. }
                | Self::NotAFile { .. }
                | Self::SameFile { .. }
                | Self::OtherValidation { .. }
                | Self::NotOurJournal { .. }
        )
    }
}
