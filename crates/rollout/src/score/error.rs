//! A file that could not be scored.

use std::path::PathBuf;

use whetstone_core::jsonl::LineError;
use whetstone_env::environment::BuildError;
use whetstone_record::error::{BatchError, FileError};

use super::report::BadLine;

/// A file of rollouts could not be scored. What was judged is in the journal, if it came so far.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
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

    /// A task's environment cannot be built.
    #[error(transparent)]
    Environment(BuildError),

    /// Lines are bad, and that was not to be allowed.
    #[error("{count} of the lines cannot be scored, and `--strict` allows none")]
    BadLines {
        /// How many.
        count: u64,
        /// The first of them, each with its file.
        first: Vec<(PathBuf, BadLine)>,
    },

    /// The rollouts, the journal, the threads or the outputs are at fault.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

impl From<FileError> for ScoreError {
    fn from(err: FileError) -> Self {
        Self::Batch(err.into())
    }
}

impl ScoreError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTasks { .. } => {
                Some("`--prompts` takes the file of tasks, one JSON object a line")
            }
            Self::BadLines { .. } => Some(
                "mend these lines, or leave `--strict` out: then they are set aside and counted",
            ),
            Self::Batch(err) => err.hint(),
            Self::Tasks(_) | Self::Environment(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Batch(err) => err.is_usage(),
            _ => true,
        }
    }
}
