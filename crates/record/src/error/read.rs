//! Failures of reading a journal. Every one names the file and the line.

use std::io;
use std::path::PathBuf;

/// A journal could not be read up to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened.
    #[error("cannot open `{}`", path.display())]
    Open {
        /// The journal.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// The kernel failed in the middle.
    #[error("cannot read line {line} of `{}`", path.display())]
    Read {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The error of the operating system.
        source: io::Error,
    },

    /// The line is not a record, and is not the torn end of the file either.
    #[error("line {line} of `{}` is damaged", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The problem with the line.
        source: LineFault,
    },

    /// A record is missing, doubled or out of order.
    #[error("line {line} of `{}` is record {found}, expected record {expected}", path.display())]
    Sequence {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// One more than the record before.
        expected: u64,
        /// The number in the line.
        found: u64,
    },

    /// The line is longer than any record may be.
    #[error("line {line} of `{}` is longer than {limit_bytes} bytes", path.display())]
    TooLong {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// Bytes a line may have.
        limit_bytes: usize,
    },

    /// The record is whole, but is not of the type asked for.
    #[error("line {line} of `{}` is a record of another kind", path.display())]
    WrongType {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The parser's error.
        source: serde_json::Error,
    },

    /// The event is of a version or type that only a newer program knows.
    #[error("line {line} of `{}` was written by a newer whet: {what}", path.display())]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The version or type that is not known here.
        what: String,
    },

    /// The file is not the one that was read up to some place, or was cut in front of it.
    #[error("`{}` is not the file that was read before", path.display())]
    Moved {
        /// The journal.
        path: PathBuf,
    },

    /// The file ends inside a record: its writer was killed, or is writing it right now.
    #[error("`{}` ends with a torn record of {bytes} bytes in line {line}", path.display())]
    Torn {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// Bytes behind the last newline.
        bytes: usize,
    },
}

/// The reason why a line is not a valid record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// JSON is UTF-8.
    #[error("byte {at} is not UTF-8")]
    NotUtf8 {
        /// Counted from 0.
        at: usize,
    },

    /// The line does not end like a record.
    #[error("expected it to end with `,\"crc\":\"` and eight hexadecimal digits")]
    NoCrc,

    /// The bytes are not those that were written.
    #[error("its bytes have crc {computed:08x}, but it says `{found}`")]
    WrongCrc {
        /// The crc of the bytes that are there.
        computed: u32,
        /// The eight characters in the line.
        found: String,
    },

    /// The line does not begin like a record.
    #[error("expected it to begin with `{{\"seq\":` and a number")]
    NoSeq,
}

impl ReadError {
    /// Whether the records before this error are all there are so far.
    ///
    /// The reader of a live run stops here and looks again later.
    pub fn is_torn(&self) -> bool {
        matches!(self, Self::Torn { .. })
    }

    /// Whether earlier reads are invalid because the file was replaced by another one.
    pub fn is_moved(&self) -> bool {
        matches!(self, Self::Moved { .. })
    }

    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Torn { .. } => Some("resume the run: opening it for writing cuts the torn end"),
            Self::Newer { .. } => Some("update whet, or read the run with the one that wrote it"),
            Self::Damaged { .. } | Self::Sequence { .. } => {
                Some("the file was edited or the disk lost data: restore it from a copy")
            }
            Self::WrongType { .. } | Self::TooLong { .. } => {
                Some("check that this is the journal you meant")
            }
            Self::Moved { .. } => Some("read it again from its beginning"),
            Self::Open { .. } | Self::Read { .. } => None,
        }
    }
}
