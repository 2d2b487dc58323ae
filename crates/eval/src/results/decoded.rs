//! What an evaluation measured at each of its temperatures.

use std::collections::{BTreeMap, BTreeSet};

use whetstone_rollout::measure::Tally;

use super::{AtTemperature, Results};
use crate::better_temperature::DecodedSide;
use crate::decoding::Decoding;
use crate::episodes::{Episodes, REWARD, TaskEpisodes};
use crate::estimate::pass_at_k;
use crate::task_count::TaskCount;

/// The setting that says the temperature of the samples that are not marked with another.
const TEMPERATURE: &str = "eval.temperature";

/// Figures of each further temperature that some task has samples at.
pub(super) fn by_temperature(
    counts: &[&TaskCount],
    k: &[u32],
    max_turns: u32,
) -> BTreeMap<Decoding, AtTemperature> {
    let decodings = counts.iter().flat_map(|count| count.by_temperature.keys());
    let figures = |&decoding: &Decoding| {
        let tallies: Vec<Tally> = counts.iter().map(|count| count.tally_at(decoding)).collect();
        let figure = |&k: &u32| Some((k, pass_at_k(&tallies, u64::from(k)).ok()?));
        let pass_at_k = k.iter().filter_map(figure).collect();
        let episodes = counts.iter().map(|count| episodes_at(count, decoding));
        (decoding, AtTemperature { pass_at_k, episodes: Episodes::of(episodes, max_turns) })
    };
    let distinct: BTreeSet<&Decoding> = decodings.collect();
    distinct.into_iter().map(figures).collect()
}

fn episodes_at(count: &TaskCount, decoding: Decoding) -> Option<&TaskEpisodes> {
    count.by_temperature.get(&decoding)?.episodes.as_ref()
}

impl Results {
    /// The temperature of pass@k; unknown of completions that were given.
    pub fn decoding(&self) -> Option<Decoding> {
        Decoding::at(self.settings.get(TEMPERATURE)?.parse().ok()?)
    }

    /// The share of passing samples of each task, by decoding.
    pub fn passes(&self) -> DecodedSide {
        let mut side = DecodedSide::default();
        let tallies = |tally: &dyn Fn(&TaskCount) -> Tally| -> Vec<Tally> {
            self.by_task.iter().map(tally).collect()
        };
        for &decoding in self.by_temperature.keys() {
            side.add_tallies(decoding, &tallies(&|count| count.tally_at(decoding)));
        }
        if self.greedy.is_some() {
            side.add_tallies(Decoding::GREEDY, &tallies(&TaskCount::greedy_tally));
        }
        if let Some(decoding) = self.decoding() {
            side.add_tallies(decoding, &tallies(&TaskCount::tally));
        }
        side
    }

    /// The mean reward of each task's episodes, by decoding; none of an evaluation without episodes.
    pub fn rewards(&self) -> DecodedSide {
        let mut side = DecodedSide::default();
        let mut add = |decoding, episodes: &dyn Fn(&TaskCount) -> Option<&TaskEpisodes>| {
            let reward = |count: &TaskCount| episodes(count).and_then(|task| task.mean(REWARD));
            let values = self.by_task.iter().map(|count| (count.id.clone(), reward(count)));
            side.add(decoding, values.collect());
        };
        for &decoding in self.by_temperature.keys() {
            add(decoding, &|count| episodes_at(count, decoding));
        }
        add(Decoding::GREEDY, &|count| count.greedy_episodes.as_ref());
        if let Some(decoding) = self.decoding() {
            add(decoding, &|count| count.episodes.as_ref());
        }
        side
    }
}
