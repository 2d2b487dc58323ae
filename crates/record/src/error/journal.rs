//! Failures of writing a journal.

use std::io;
use std::path::PathBuf;

use super::{FileError, is_full_kind};

/// A journal could not be opened, or could not take a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file could not be opened, scanned or cut.
    #[error(transparent)]
    File(#[from] FileError),

    /// Another writer has the journal open.
    #[error("`{}` is being written by another process", path.display())]
    Locked {
        /// The journal.
        path: PathBuf,
    },

    /// The file holds something, but no record; it is left as it is.
    #[error("`{}` is not a journal: {found}", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
        /// The actual content.
        found: &'static str,
    },

    /// The value cannot be a record. Nothing was written.
    #[error("cannot serialize record {seq} of `{}`", path.display())]
    Payload {
        /// The journal.
        path: PathBuf,
        /// The number the record would have had.
        seq: u64,
        /// The problem with the value.
        source: PayloadError,
    },

    /// The operating system did not write the whole line. The part that was written was truncated
    /// again, so the journal ends with its last good record and the write can be retried.
    #[error("cannot write record {seq} to `{}`", path.display())]
    Write {
        /// The journal.
        path: PathBuf,
        /// The record that is not there.
        seq: u64,
        /// The error of the operating system.
        source: io::Error,
    },

    /// The operating system wrote only a part of the line, and that part could not be truncated.
    #[error("an incomplete record {seq} remains at the end of `{}`", path.display())]
    HalfWritten {
        /// The journal.
        path: PathBuf,
        /// The record that is half there.
        seq: u64,
        /// Why the write stopped.
        source: io::Error,
    },

    /// Records the kernel took may not have reached the disk.
    #[error("cannot sync `{}` to disk", path.display())]
    Sync {
        /// The journal.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// An earlier [`JournalError::HalfWritten`] makes every further record unsafe.
    #[error("`{}` accepts no more records because an earlier write was incomplete", path.display())]
    Poisoned {
        /// The journal.
        path: PathBuf,
    },
}

/// Why a value cannot be a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Its `Serialize` failed.
    #[error("the value has no JSON form")]
    Serialize(#[source] serde_json::Error),

    /// A record's fields must be the fields of an object.
    #[error("a record must be a JSON object, not {0}")]
    NotAnObject(&'static str),

    /// Raw JSON with a line break would be read as two records.
    #[error("the value's JSON spans several lines")]
    SpansLines,

    /// The journal writes this field itself.
    #[error("the field `{0}` belongs to the journal")]
    ReservedField(&'static str),

    /// Readers refuse longer lines, so writers do too.
    #[error("the record has {bytes} bytes, a line has at most {limit_bytes}")]
    TooLong {
        /// Bytes of the line.
        bytes: usize,
        /// Bytes there may be.
        limit_bytes: usize,
    },
}

impl JournalError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::File(err) => err.hint(),
            Self::Locked { .. } => Some("wait for the other run to end, or stop it"),
            Self::NotAJournal { .. } => Some("nothing was changed: move the file away first"),
            Self::Write { source, .. } if is_full_kind(source) => {
                Some("free some space, then resume the run")
            }
            Self::Payload { .. } | Self::Write { .. } => None,
            Self::HalfWritten { .. } | Self::Poisoned { .. } => {
                Some("resume the run: opening the journal again cuts the half record off")
            }
            Self::Sync { .. } => Some("check the disk's health before resuming the run"),
        }
    }
}
