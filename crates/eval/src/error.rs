//! Why there is no figure.

use whetstone_algo::pass_at_k::PassAtKError;
use whetstone_core::task::TaskId;
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
}

impl EvalError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Collect(err) => err.hint(),
            Self::Unpaired(_) => Some("measure both on the same tasks"),
            _ => None,
        }
    }

    /// Whether the tasks or the counts are at fault, and not the machine.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Collect(_))
    }
}
