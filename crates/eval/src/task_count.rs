//! What an evaluation counts of one task.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whetstone_core::task::TaskId;
use whetstone_rollout::measure::Tally;

use crate::decoding::Decoding;
use crate::episodes::TaskEpisodes;
use crate::figure::TaskFigures;

/// The counts of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCount {
    /// The task.
    pub id: TaskId,
    /// Samples; none if not one of them could be judged.
    pub samples: u64,
    /// Samples that passed.
    pub passed: u64,
    /// Whether the greedy sample passed, if it was judged.
    pub greedy: Option<bool>,
    /// Replies without code, if it asks for programs; absent in files from before they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_code: Option<NoCode>,
    /// Figures of its programs; those that it has.
    #[serde(default, skip_serializing_if = "TaskFigures::is_empty")]
    pub figures: TaskFigures,
    /// Figures of its episodes, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episodes: Option<TaskEpisodes>,
    /// Figures of its greedy episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greedy_episodes: Option<TaskEpisodes>,
    /// Its samples at further temperatures.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_temperature: BTreeMap<Decoding, TemperatureCount>,
    /// How often the best of N passes, by N.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub best_of: BTreeMap<u32, f64>,
}

/// The counts of one task at a further temperature.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TemperatureCount {
    /// Samples.
    pub samples: u64,
    /// Samples that passed.
    pub passed: u64,
    /// Figures of its episodes, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episodes: Option<TaskEpisodes>,
}

impl TaskCount {
    /// A task of which nothing is known.
    pub fn none(id: &TaskId) -> Self {
        Self {
            id: id.clone(),
            samples: 0,
            passed: 0,
            greedy: None,
            no_code: None,
            figures: TaskFigures::new(),
            episodes: None,
            greedy_episodes: None,
            by_temperature: BTreeMap::new(),
            best_of: BTreeMap::new(),
        }
    }

    /// The samples, without the greedy one.
    pub fn tally(&self) -> Tally {
        Tally { task: self.id.clone(), samples: self.samples, passed: self.passed }
    }

    /// The samples at a further temperature; none if it has none there.
    pub fn tally_at(&self, decoding: Decoding) -> Tally {
        let (samples, passed) = self
            .by_temperature
            .get(&decoding)
            .map_or((0, 0), |count| (count.samples, count.passed));
        Tally { task: self.id.clone(), samples, passed }
    }

    /// The likeliest tokens, as one sample or none.
    pub fn greedy_tally(&self) -> Tally {
        let (samples, passed) =
            (u64::from(self.greedy.is_some()), u64::from(self.greedy == Some(true)));
        Tally { task: self.id.clone(), samples, passed }
    }
}

/// Replies without code of a task that asks for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NoCode {
    /// Of its samples.
    pub samples: u64,
    /// Whether the greedy one is such a reply.
    pub greedy: bool,
}

/// The replies of a task that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replies {
    Sampled,
    Greedy,
}

impl NoCode {
    /// Counts a judged reply.
    pub(crate) fn add(&mut self, replies: Replies, has_code: bool) {
        match replies {
            Replies::Sampled => self.samples += u64::from(!has_code),
            Replies::Greedy => self.greedy |= !has_code,
        }
    }
}
