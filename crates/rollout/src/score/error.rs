//! A file that could not be scored.

use std::io;
use std::path::PathBuf;

use whetstone_core::jsonl::LineError;
use whetstone_env::environment::BuildError;
use whetstone_record::error::{FileError, LedgerError};

use super::report::BadLine;

/// A file of rollouts could not be scored. What was judged is in the journal, if it came so far.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// The rollouts cannot be read.
    #[error("cannot read the rollouts `{}`", path.display())]
    Rollouts {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },

    /// The rollouts are read twice, so a pipe will not do.
    #[error("the rollouts `{}` are not a file", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },

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

    /// The output would take the place of an input.
    #[error("the output `{}` is one of the inputs", path.display())]
    OutputIsInput {
        /// The file.
        path: PathBuf,
    },

    /// Lines are bad, and that was not to be allowed.
    #[error("{count} of the lines cannot be scored, and `--strict` allows none")]
    BadLines {
        /// How many.
        count: u64,
        /// The first of them, each with its file.
        first: Vec<(PathBuf, BadLine)>,
    },

    /// The journal cannot be opened, resumed, written or removed.
    #[error(transparent)]
    Journal(#[from] LedgerError),

    /// The rollouts changed under our hands.
    #[error("`{}` changed while it was scored", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },

    /// The journal lacks a result that was put there.
    #[error("the result of line {line} is not in the journal")]
    Lost {
        /// Counted from 1.
        line: u64,
    },

    /// An output cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),

    /// No thread could be started.
    #[error("cannot start the threads that judge")]
    Threads(#[source] io::Error),
}

impl ScoreError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAFile { .. } => {
                Some("rollouts are read more than once: write them to a file first")
            }
            Self::NoTasks { .. } => {
                Some("`--prompts` takes the file of tasks, one JSON object a line")
            }
            Self::OutputIsInput { .. } => Some("give `--out` another name"),
            Self::BadLines { .. } => Some(
                "mend these lines, or leave `--strict` out: then they are set aside and counted",
            ),
            Self::Changed { .. } => {
                Some("score a file that nobody writes to; start with `--fresh`")
            }
            Self::Journal(err) => err.hint(),
            Self::Lost { .. } => Some("start with `--fresh`"),
            Self::Write(err) => err.hint(),
            Self::Threads(_) => Some(
                "each takes 1 GiB of address space: raise `ulimit -v`, or lower `sandbox.workers`",
            ),
            Self::Rollouts { .. } | Self::Tasks(_) | Self::Environment(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NotAFile { .. }
            | Self::Rollouts { .. }
            | Self::Tasks(_)
            | Self::NoTasks { .. }
            | Self::Environment(_)
            | Self::OutputIsInput { .. }
            | Self::BadLines { .. } => true,
            Self::Journal(err) => err.is_usage(),
            _ => false,
        }
    }
}
