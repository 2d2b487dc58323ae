//! Failures of a journal beside an output.

use std::path::PathBuf;

use super::{JournalError, ReadError};

/// A journal beside an output could not be opened, resumed, written or removed.
///
/// Every command that keeps one has the same options: `--out` names the output, `--fresh` discards
/// the journal. The hints rely on that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
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
}

impl LedgerError {
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
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Journal(JournalError::NotAJournal { .. })
                | Self::OtherInputs { .. }
                | Self::NotOurs { .. }
        )
    }
}
