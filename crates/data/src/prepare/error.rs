//! Tasks that could not be prepared.

use std::io;
use std::path::PathBuf;

use whetstone_record::error::FileError;

use super::report::BadRow;
use crate::source::SourceError;

/// Preparing failed. A bad row is not an error: it is listed in the report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// A source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),

    /// No source was given.
    #[error("no source of tasks was given")]
    NoSource,

    /// Nothing that was read is a task.
    #[error("none of the {rows} rows that were read is a task")]
    NoTasks {
        /// Number of rows.
        rows: u64,
        /// The first of them, if there was one.
        first: Option<BadRow>,
    },

    /// A benchmark to decontaminate against holds no task, so it would clean nothing.
    #[error("the benchmark `{}` holds no task", path.display())]
    NoBenchmark {
        /// The file or folder.
        path: PathBuf,
        /// Why its first row is not a task, if it has one.
        first: Option<BadRow>,
    },

    /// The output would take the place of an input.
    #[error("the output `{}` is one of the inputs", path.display())]
    OutputIsInput {
        /// The file.
        path: PathBuf,
    },

    /// The folder for the output cannot be made.
    #[error("cannot make the folder `{}`", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// The report is not JSON.
    #[error("cannot write the report as JSON")]
    Report(#[source] serde_json::Error),

    /// An output cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
}

impl PrepareError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Source(err) => err.hint(),
            Self::NoSource => Some("give at least one of the sources"),
            Self::NoTasks { .. } => Some("look at the first bad row: is this the right file?"),
            Self::NoBenchmark { .. } => Some(
                "a benchmark is a file of MBPP, APPS, HumanEval, LeetCode or tasks, told by its columns",
            ),
            Self::OutputIsInput { .. } => Some("give `--out` another folder"),
            Self::Write(err) => err.hint(),
            Self::Folder { .. } => Some("give `--out` a folder that you may write to"),
            Self::Report(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Folder { .. } | Self::Report(_) | Self::Write(_))
    }
}
