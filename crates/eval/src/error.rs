//! Errors of an evaluation.

use std::path::PathBuf;

use whetstone_algo::pass_at_k::PassAtKError;
use whetstone_core::jsonl::LineError;
use whetstone_core::task::TaskId;
use whetstone_record::error::{BatchError, FileError};
use whetstone_rollout::collect::CollectError;

/// A model could not be measured, or its counts say nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// Rollouts could not be collected.
    #[error("cannot measure")]
    Collect(#[from] CollectError),
    /// There are no tasks.
    #[error("there is nothing to measure: no tasks")]
    NoTasks,
    /// The figure does not exist.
    #[error(transparent)]
    PassAtK(#[from] PassAtKError),
    /// A task was counted twice.
    #[error("task `{0}` is counted twice")]
    Twice(TaskId),
    /// Two models were measured on different tasks.
    #[error("task `{0}` was measured on one side only")]
    Unpaired(TaskId),
    /// Two evaluations have no k in common.
    #[error("there is no k for which both sides have pass@k")]
    NoCommonK,
    /// Sides of a comparison over seeds that cannot be paired.
    #[error(
        "as many evaluations are needed on both sides: A has {} ({}), B has {} ({})",
        before.len(), quoted(before), after.len(), quoted(after)
    )]
    SeedCounts {
        /// The evaluations of the first side.
        before: Vec<String>,
        /// Those of the second.
        after: Vec<String>,
    },
    /// A comparison over seeds has one on each side.
    #[error("one seed has no interval over seeds: it says nothing of the next one")]
    OneSeed,
    /// The same two evaluations stand for two seeds.
    #[error("`{before}` and `{after}` are given twice, and count as one seed")]
    SeedTwice {
        /// The evaluation of the first side.
        before: String,
        /// That of the second.
        after: String,
    },
    /// Evaluations of different seeds have different tasks.
    #[error("task `{task}` is in `{with}` and not in `{without}`")]
    SeedTasks {
        /// A task of one of them.
        task: TaskId,
        /// The evaluation that has it.
        with: String,
        /// The one that does not.
        without: String,
    },
    /// No task has the figure in all evaluations.
    #[error("no task has {k} judged samples in every evaluation")]
    NoCommonTask {
        /// The samples that the figure needs.
        k: u64,
    },
    /// A finished evaluation exists already.
    #[error("`{}` exists already", path.display())]
    Exists {
        /// Its results.
        path: PathBuf,
    },
    /// A file that holds no results of an evaluation.
    #[error("`{}` does not hold the results of an evaluation: {problem}", path.display())]
    NotResults {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: String,
    },
    /// Samples cannot be read back.
    #[error(transparent)]
    Lines(#[from] LineError),
    /// The journal cannot be opened, resumed, written or removed.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Names in a message.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl EvalError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Collect(err) => err.hint(),
            Self::NoTasks => {
                Some("give a file with one task a line: `whet data prepare` makes some")
            }
            Self::Unpaired(_) => Some("measure both on the same tasks"),
            Self::NoCommonK | Self::NoCommonTask { .. } => {
                Some("ask for one with `--k`, at most as large as both have samples")
            }
            Self::SeedCounts { .. } | Self::SeedTwice { .. } => Some(
                "name one evaluation of each seed on each side, in the same order: `--seeds A1,A2,A3 B1,B2,B3`",
            ),
            Self::OneSeed => Some(
                "train at least three seeds, or compare two models with `whet eval compare A B`",
            ),
            Self::SeedTasks { .. } => Some("measure all seeds on the same tasks"),
            Self::Exists { .. } => {
                Some("`--fresh` measures again and replaces it, `--out DIR` keeps both")
            }
            Self::NotResults { .. } => {
                Some("give the directory that `whet eval` wrote, or its `evaluation_results.json`")
            }
            Self::Batch(err) => err.hint(),
            Self::File(err) => err.hint(),
            Self::PassAtK(_) | Self::Twice(_) | Self::Lines(_) => None,
        }
    }

    /// Whether the tasks, the counts or the command line are at fault, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Collect(_) | Self::File(_) => false,
            Self::Batch(err) => err.is_usage(),
            _ => true,
        }
    }
}
