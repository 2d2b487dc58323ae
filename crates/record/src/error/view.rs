//! Failures of showing a run: as a page, a line of a list, a table for other programs.

use std::io;
use std::path::PathBuf;

use whetstone_core::jsonl::LineError;
use whetstone_core::wire::WireError;

use super::{FileError, ReadError, RunError};

/// A run could not be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// There is no such run, or it is not whole.
    #[error(transparent)]
    Run(#[from] RunError),

    /// A journal of the run could not be read up to its end.
    #[error(transparent)]
    Read(#[from] ReadError),

    /// A record of a journal of rollouts is not a rollout.
    #[error("line {line} of `{}` is not a rollout", path.display())]
    Rollout {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The problem with the record.
        source: WireError,
    },

    /// The file of tasks has a line that is not a task.
    #[error(transparent)]
    Tasks(#[from] LineError),

    /// The samples of an evaluation have a line that is not a rollout.
    #[error(transparent)]
    Samples(LineError),

    /// The results of an evaluation are not what this version reads.
    #[error("`{}` does not hold the results of an evaluation: {problem}", path.display())]
    Results {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        problem: String,
    },

    /// The figures of a quickstart are not what this version reads.
    #[error("`{}` does not hold the figures of a quickstart: {problem}", path.display())]
    Figures {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        problem: String,
    },

    /// The record of stages is not what this version reads.
    #[error("`{}` does not hold the stages of a run: {problem}", path.display())]
    Stages {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        problem: String,
    },

    /// The run has more of something than a page can hold.
    #[error("`{}` is too large to be shown: it has more than {limit}", path.display())]
    TooLarge {
        /// The run, or the file of it.
        path: PathBuf,
        /// The bound that it passes, e.g. `50000 steps`.
        limit: String,
    },

    /// A small file could not be read, or the page not be written.
    #[error(transparent)]
    File(#[from] FileError),

    /// The page could not be written on.
    #[error("cannot write the page")]
    Write(#[from] io::Error),
}

impl ViewError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Run(err) => err.hint(),
            Self::Read(err) => err.hint(),
            Self::File(err) => err.hint(),
            Self::Rollout { .. } => Some("only journals of rollouts belong into `rollouts/`"),
            Self::Tasks(_) => Some("name the file that the run was given with `--tasks`"),
            Self::Samples(_) => Some("measure again with `whet eval --fresh`"),
            Self::Results { .. } => Some("update whet, or measure again with `whet eval --fresh`"),
            Self::TooLarge { .. } => Some("`whet runs csv` writes the measurements of every step"),
            Self::Figures { .. } | Self::Stages { .. } => {
                Some("update whet, or move the file out of the run")
            }
            Self::Write(err) if err.kind() == io::ErrorKind::StorageFull => {
                Some("free some space, or write the page elsewhere with `--out`")
            }
            Self::Write(_) => None,
        }
    }
}
