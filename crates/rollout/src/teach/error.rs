//! Traces that could not be collected.

use std::io;
use std::path::PathBuf;

use whetstone_core::jsonl::LineError;
use whetstone_env::environment::BuildError;
use whetstone_record::error::{BatchError, FileError};

use crate::score::BadLine;

/// Traces could not be collected. What was answered so far is in the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeachError {
    /// The tasks cannot be read.
    #[error("cannot read the tasks: {0}")]
    Tasks(LineError),

    /// The task file holds none.
    #[error("`{}` holds no task", path.display())]
    NoTasks {
        /// The file.
        path: PathBuf,
        /// Why its first line is not valid, if it has one.
        first: Option<BadLine>,
    },

    /// Lines of the task file are bad, and that was not to be allowed.
    #[error("{count} of the lines of `{}` are no tasks, and `--strict` allows none", path.display())]
    BadTasks {
        /// The file.
        path: PathBuf,
        /// How many.
        count: u64,
        /// The first of them.
        first: Vec<BadLine>,
    },

    /// A task's environment cannot be built.
    #[error(transparent)]
    Environment(BuildError),

    /// The output would stand nowhere.
    #[error("there is no folder for `{}`", path.display())]
    NoFolder {
        /// The output.
        path: PathBuf,
    },

    /// There are traces already, and no journal that says where they are from.
    #[error("`{}` exists already", path.display())]
    OutputExists {
        /// The file.
        path: PathBuf,
    },

    /// The traces to complete cannot be read.
    #[error("cannot complete these traces: {0}")]
    Traces(LineError),

    /// A trace to keep belongs to something else.
    #[error("{}:{line}: {reason}", path.display())]
    Foreign {
        /// The file of traces, or the journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },

    /// The journal, the threads that judge or the output are at fault.
    #[error(transparent)]
    Batch(#[from] BatchError),

    /// The teacher cannot be asked any more.
    #[error("{message}")]
    Stopped {
        /// Why.
        message: String,
        /// What to do.
        hint: String,
        /// Samples that are stored.
        stored: u64,
        /// Where.
        journal: PathBuf,
    },

    /// No thread could be started.
    #[error("cannot start the threads that ask")]
    Threads(#[source] io::Error),
}

impl From<FileError> for TeachError {
    fn from(err: FileError) -> Self {
        Self::Batch(err.into())
    }
}

impl TeachError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NoTasks { .. } => {
                Some("`--tasks` takes the file of tasks, one JSON object a line")
            }
            Self::BadTasks { .. } => {
                Some("mend these lines, or leave `--strict` out: then they are passed over")
            }
            Self::NoFolder { .. } => Some("make the folder, or give `--out` another name"),
            Self::OutputExists { .. } => Some(
                "`--only-missing` keeps its traces and asks for what it lacks; `--fresh` replaces \
                 it",
            ),
            Self::Traces(_) | Self::Foreign { .. } => Some(
                "give `--out` another name, or the tasks and the prompt that these traces were \
                 made with; `--fresh` throws the traces away",
            ),
            Self::Batch(err) => err.hint(),
            Self::Stopped { hint, .. } => Some(hint),
            Self::Threads(_) => Some(
                "lower `teacher.max_concurrent_requests`, or raise `ulimit -u` and `ulimit -v`",
            ),
            Self::Tasks(_) | Self::Environment(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Tasks(_)
            | Self::NoTasks { .. }
            | Self::BadTasks { .. }
            | Self::Environment(_)
            | Self::NoFolder { .. }
            | Self::OutputExists { .. }
            | Self::Traces(_)
            | Self::Foreign { .. } => true,
            Self::Batch(err) => err.is_usage(),
            _ => false,
        }
    }
}
