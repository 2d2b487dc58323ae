//! Best of N: how often the sample that a reward model prefers among `N` passes.
//!
//! A task with fewer than `N` scored samples has no figure and is left out. The gain is the paired difference to
//! pass@1 over the same samples: what choosing by the reward model is worth against choosing by chance.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whetstone_algo::best_of::ScoredSample;
use whetstone_core::task::TaskId;

use crate::estimate::{Difference, Estimate};

/// The figures of one N.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BestOf {
    /// How often the best of N passes.
    pub value: Estimate,
    /// That less pass@1 of the same samples.
    pub gain: Difference,
}

/// The scored samples of each task.
pub type ScoredTasks = BTreeMap<TaskId, Vec<ScoredSample>>;
