//! Figures of episodes: tasks whose environment answers several replies, or runs no programs.
//!
//! | figure | of a task, over its samples without the greedy one |
//! |---|---|
//! | `solved_within[k]` | the share of samples that solve the task with at most `k` replies |
//! | `means["reward"]` | the mean reward |
//! | `means["turns"]` | the mean number of replies, of solved and unsolved episodes alike |
//! | `means["KIND/FACT"]` | the mean of a fact that is a number, named as in a training's metrics |
//!
//! A sample that could not be judged did not solve the task, as for pass@k, so the last value of the curve is
//! pass@1; it has no part in the means. Replies are counted here: an environment's own count of them, a fact `steps`,
//! is not repeated.
//!
//! A figure of a suite is the mean over its tasks. Its interval is that of a share where its range is known, or where
//! all values lie between 0 and 1; else that of a mean of any size (`any_size`).

pub(crate) mod any_size;
mod compared;
mod label;
mod sums;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use any_size::{Range, estimate};

pub use self::compared::ComparedEpisodes;
pub(crate) use self::compared::TaskPair;
pub use self::label::{LabelledMean, labelled};
pub(crate) use self::sums::EpisodeSums;

/// The mean reward among the means.
pub const REWARD: &str = "reward";

/// The mean number of replies among the means.
pub const TURNS: &str = "turns";

/// Turns of an episode up to which every `k` has its figure.
const WHOLE_CURVE: u32 = 10;

/// Names of means that are looked at. An environment states a handful of facts; a file may claim any number.
const MAX_MEANS: usize = 64;

/// Figures of episodes of a suite, or of a part of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Episodes {
    /// Replies of an episode at most.
    pub max_turns: u32,
    /// The share of samples that solve their task with at most so many replies.
    pub solved_within: BTreeMap<u32, Estimate>,
    /// Means by name: `reward`, `turns`, and `KIND/FACT`.
    pub means: BTreeMap<String, Estimate>,
}

/// Figures of the episodes of one task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskEpisodes {
    /// The share of samples that solve the task with at most so many replies.
    pub solved_within: BTreeMap<u32, f64>,
    /// Means by name.
    pub means: BTreeMap<String, f64>,
}

impl Episodes {
    /// The figures of tasks; `None` if none of them has episodes. A task without them is left out of every figure.
    pub(crate) fn of<'t>(
        tasks: impl Iterator<Item = Option<&'t TaskEpisodes>>,
        max_turns: u32,
    ) -> Option<Self> {
        let tasks: Vec<Option<&TaskEpisodes>> = tasks.collect();
        let present: Vec<&TaskEpisodes> = tasks.iter().copied().flatten().collect();
        let first = present.first()?;
        let within = |&k: &u32| {
            let values = tasks.iter().map(|task| task.and_then(|task| task.within(k)));
            Some((k, estimate(values, Some(Range::SHARE))?))
        };
        let mean = |name: &&str| {
            let values = tasks.iter().map(|task| task.and_then(|task| task.mean(name)));
            Some(((*name).to_owned(), estimate(values, range(name, max_turns))?))
        };
        let solved_within = first.solved_within.keys().filter_map(within).collect();
        let means = names(present.iter().copied()).iter().filter_map(mean).collect();
        Some(Self { max_turns, solved_within, means })
    }
}

impl TaskEpisodes {
    /// The share that is solved within `k` replies. A file of results may say anything.
    fn within(&self, k: u32) -> Option<f64> {
        let value = *self.solved_within.get(&k)?;
        value.is_finite().then(|| value.clamp(0.0, 1.0))
    }

    /// A mean by its name. A file of results may say anything.
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        self.means.get(name).copied().filter(|value| value.abs() <= any_size::LARGEST)
    }
}

/// The values of `k` that have a figure, for episodes of at most `max_turns` replies.
pub(crate) fn curve(max_turns: u32) -> Vec<u32> {
    let most = max_turns.max(1);
    let round = (1..=8).flat_map(|power| [1, 2, 5].map(|lead| lead * 10_u32.pow(power)));
    let few = [1, 2, 3, 5].into_iter().chain(round).filter(|&k| k < most);
    match most {
        ..=WHOLE_CURVE => (1..=most).collect(),
        _ => few.chain([most]).collect(),
    }
}

/// The range of a mean, if it is known.
fn range(name: &str, max_turns: u32) -> Option<Range> {
    (name == TURNS).then(|| Range { low: 1.0, high: f64::from(max_turns.max(2)) })
}

/// The names of all means of some tasks, in order.
fn names<'t>(tasks: impl Iterator<Item = &'t TaskEpisodes>) -> Vec<&'t str> {
    let all: BTreeSet<&str> =
        tasks.flat_map(|task| task.means.keys()).map(String::as_str).collect();
    all.into_iter().take(MAX_MEANS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(within: &[(u32, f64)], means: &[(&str, f64)]) -> TaskEpisodes {
        let means = means.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        TaskEpisodes { solved_within: within.iter().copied().collect(), means }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn the_curve_has_every_turn_of_short_episodes_and_round_numbers_of_long_ones() {
        assert_eq!(curve(0), [1]);
        assert_eq!(curve(2), [1, 2]);
        assert_eq!(curve(10), (1..=10).collect::<Vec<_>>());
        assert_eq!(curve(64), [1, 2, 3, 5, 10, 20, 50, 64]);
        assert_eq!(curve(u32::MAX).last(), Some(&u32::MAX));
    }

    /// By hand: within 1 turn (0.5 + 0) / 2, within 2 (1 + 0.5) / 2; the third task has no episodes.
    #[test]
    fn a_figure_is_the_mean_over_the_tasks_that_have_it() {
        let one = task(&[(1, 0.5), (2, 1.0)], &[(REWARD, 0.8), (TURNS, 1.5), ("guess/x", 30.0)]);
        let two = task(&[(1, 0.0), (2, 0.5)], &[(REWARD, 0.4), (TURNS, 2.0)]);
        let found = Episodes::of([Some(&one), Some(&two), None].into_iter(), 2).unwrap();
        near(found.solved_within[&1].value, 0.25);
        near(found.solved_within[&2].value, 0.75);
        near(found.means[REWARD].value, 0.6);
        near(found.means[TURNS].value, 1.75);
        near(found.means["guess/x"].value, 30.0);
        let counted = |name: &str| (found.means[name].tasks, found.means[name].left_out);
        assert_eq!([counted(TURNS), counted("guess/x")], [(2, 1), (1, 2)]);
        let turns = &found.means[TURNS];
        assert!(1.0 <= turns.low && turns.low < 1.75 && turns.high <= 2.0, "{turns:?}");
        assert_eq!(Episodes::of([None, None].into_iter(), 2), None);
    }

    #[test]
    fn what_a_file_of_results_claims_is_bounded() {
        let odd = task(&[(1, 7.0)], &[(REWARD, f64::NAN), (TURNS, 1e300)]);
        let many: Vec<(String, f64)> = (0..999).map(|at| (format!("{at:03}"), 1.0)).collect();
        let many: Vec<(&str, f64)> = many.iter().map(|(name, at)| (name.as_str(), *at)).collect();
        let found = Episodes::of([Some(&odd)].into_iter(), 1).unwrap();
        assert_eq!((found.solved_within[&1].value, found.means.len()), (1.0, 0));
        let found = Episodes::of([Some(&task(&[], &many))].into_iter(), 1).unwrap();
        assert_eq!(found.means.len(), MAX_MEANS);
    }
}
