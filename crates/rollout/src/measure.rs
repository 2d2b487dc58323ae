//! Counts of samples and passes of a task, which pass@k is estimated from.

use serde::{Deserialize, Serialize};
use whetstone_core::task::TaskId;

use crate::collect::Group;

/// The counts of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The task.
    pub task: TaskId,
    /// Rollouts that were judged; those that could not be do not count.
    pub samples: u64,
    /// Rollouts that solved the task: programs that passed every hidden test.
    pub passed: u64,
}

impl Tally {
    /// Counts a group.
    pub fn of(group: &Group) -> Self {
        let passes = group.rollouts.iter().filter(|rollout| rollout.outcome.is_solved());
        let (samples, passed) = (group.rollouts.len() as u64, passes.count() as u64);
        Self { task: group.task.clone(), samples, passed }
    }
}
