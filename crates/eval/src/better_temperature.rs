//! The gain at the better temperature of each side.
//!
//! Training with a verifiable reward moves probability from the tail of a distribution to its mode, which a lower
//! temperature does for nothing. So a gain at temperature 1 alone may be sharpening. Here both sides choose among the same
//! decodings the one with their highest mean, and the difference of the two is paired by task:
//!
//! ```text
//! gain = max_T mean_tasks(after, T) - max_T mean_tasks(before, T)
//! ```
//!
//! A maximum over the tasks that it is reported on is a little too high. Both sides have the same choice, so that the
//! difference has no such bias where they are alike; the interval does not cover the choice.

use std::collections::BTreeMap;

use serde::Serialize;
use whetstone_core::task::TaskId;
use whetstone_rollout::measure::Tally;

use crate::bootstrap::{RESAMPLES, mean, number};
use crate::compared::Compared;
use crate::decoding::Decoding;
use crate::episodes::any_size::estimate;
use crate::estimate::{Difference, difference};
use crate::sign_flip::FLIPS;

/// The value of each task; none of a task that has too few judged samples.
type TaskValues = BTreeMap<TaskId, Option<f64>>;

/// One side of a comparison: the values of its tasks by decoding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DecodedSide {
    by_decoding: BTreeMap<Decoding, TaskValues>,
}

/// A gain, with the decoding that each side is measured at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BetterTemperature {
    /// The better decoding of the first side.
    pub before: Decoding,
    /// That of the second.
    pub after: Decoding,
    /// The second at its decoding against the first at its own.
    pub gain: Compared,
}

impl DecodedSide {
    /// Adds the share of passing samples of each task.
    pub fn add_tallies(&mut self, decoding: Decoding, tallies: &[Tally]) {
        let share = |tally: &Tally| {
            (tally.samples > 0).then(|| f64_of(tally.passed) / f64_of(tally.samples))
        };
        self.add(
            decoding,
            tallies.iter().map(|tally| (tally.task.clone(), share(tally))).collect(),
        );
    }

    /// Adds a value of each task. A decoding at which no task has a value is left out.
    pub(crate) fn add(&mut self, decoding: Decoding, values: TaskValues) {
        if values.values().any(Option::is_some) {
            self.by_decoding.insert(decoding, values);
        }
    }

    /// The values at a decoding, in the order of the tasks' names.
    pub(crate) fn values(&self, decoding: Decoding) -> Option<Vec<Option<f64>>> {
        Some(self.by_decoding.get(&decoding)?.values().copied().collect())
    }

    /// The decodings that both sides have.
    pub(crate) fn common(&self, other: &Self) -> Vec<Decoding> {
        let has = |decoding: &&Decoding| other.by_decoding.contains_key(decoding);
        self.by_decoding.keys().filter(has).copied().collect()
    }

    /// Both sides at each decoding that both have.
    pub fn compare(&self, after: &Self) -> BTreeMap<Decoding, Compared> {
        let of = |decoding: Decoding| {
            let sides = [self, after].map(|side| side.by_decoding.get(&decoding));
            Some((decoding, compared(sides[0]?, sides[1]?)?))
        };
        self.common(after).into_iter().filter_map(of).collect()
    }

    /// The decoding with the highest mean; of equal ones that with the highest temperature.
    fn best(&self, among: &[Decoding]) -> Option<Decoding> {
        let mean_at = |&decoding: &Decoding| {
            let values: Vec<f64> = self.values(decoding)?.into_iter().flatten().collect();
            Some((decoding, mean(&values)))
        };
        let means = among.iter().filter_map(mean_at);
        let better = |one: (Decoding, f64), other: (Decoding, f64)| {
            if other.1 > one.1 + 1e-12 { other } else { one }
        };
        means.reduce(better).map(|(decoding, _)| decoding)
    }
}

impl BetterTemperature {
    /// The gain of `after` over `before`; `None` if fewer than two decodings are common to both, which is no choice.
    pub fn of(before: &DecodedSide, after: &DecodedSide) -> Option<Self> {
        let among = before.common(after);
        if among.len() < 2 {
            return None;
        }
        Self::chosen(before, after, &among)
    }

    /// Like [`Self::of`], for a first side that has a decoding of its own, such as a policy without a temperature: each
    /// side chooses among all that it has.
    pub fn of_each(before: &DecodedSide, after: &DecodedSide) -> Option<Self> {
        let all: Vec<Decoding> =
            before.by_decoding.keys().chain(after.by_decoding.keys()).copied().collect();
        Self::chosen(before, after, &all)
    }

    fn chosen(before: &DecodedSide, after: &DecodedSide, among: &[Decoding]) -> Option<Self> {
        let (first, second) = (before.best(among)?, after.best(among)?);
        let gain = compared(&before.by_decoding[&first], &after.by_decoding[&second])?;
        Some(Self { before: first, after: second, gain })
    }
}

/// Two sides over the tasks that both have a value of.
fn compared(before: &TaskValues, after: &TaskValues) -> Option<Compared> {
    let both = |(task, before): (&TaskId, &Option<f64>)| Some([(*before)?, (*after.get(task)?)?]);
    let pairs: Vec<[f64; 2]> = before.iter().filter_map(both).collect();
    let side = |at: usize| estimate(pairs.iter().map(|pair| Some(pair[at])), None);
    let sides = (side(0)?, side(1)?);
    let changes: Vec<f64> = pairs.iter().map(|[before, after]| after - before).collect();
    let left_out = before.len() - pairs.len();
    let difference = Difference { left_out, ..difference(&changes, RESAMPLES, FLIPS) };
    Some(Compared { before: sides.0, after: sides.1, difference })
}

fn f64_of(count: u64) -> f64 {
    number(usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{compare, pass_at_k};

    fn tallies(passed: &[u64], samples: u64) -> Vec<Tally> {
        let tally = |(at, &passed)| Tally {
            task: TaskId::try_from(format!("t/{at}")).unwrap(),
            samples,
            passed,
        };
        passed.iter().enumerate().map(tally).collect()
    }

    fn side(at: &[(f64, &[u64], u64)]) -> DecodedSide {
        let mut side = DecodedSide::default();
        for &(temperature, passed, samples) in at {
            side.add_tallies(Decoding::at(temperature).unwrap(), &tallies(passed, samples));
        }
        side
    }

    fn at(temperature: f64) -> Decoding {
        Decoding::at(temperature).unwrap()
    }

    /// Before: 1/8 at T=1, 3/8 at T=0.6, 1/2 greedily. After: 5/8, 3/4 and 1/2. A gain at temperature 1 of 50 points is 25
    /// at the better temperature of each side: greedy 0, 0, 1, 1 against T=0.6 1/2, 1/2, 1, 1.
    #[test]
    fn each_side_is_measured_at_its_own_better_temperature() {
        let before =
            side(&[(1.0, &[0, 0, 1, 0], 2), (0.6, &[0, 0, 2, 1], 2), (0.0, &[0, 0, 1, 1], 1)]);
        let after =
            side(&[(1.0, &[0, 1, 2, 2], 2), (0.6, &[1, 1, 2, 2], 2), (0.0, &[0, 0, 1, 1], 1)]);
        let found = BetterTemperature::of(&before, &after).unwrap();
        assert_eq!((found.before, found.after), (Decoding::GREEDY, at(0.6)));
        assert!((found.gain.before.value - 0.5).abs() < 1e-12, "{found:?}");
        assert!((found.gain.after.value - 0.75).abs() < 1e-12, "{found:?}");
        assert!((found.gain.difference.value - 0.25).abs() < 1e-12, "{found:?}");
        let all = before.compare(&after);
        assert!((all[&at(1.0)].difference.value - 0.5).abs() < 1e-12, "{all:?}");
        assert!(all[&Decoding::GREEDY].difference.value.abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn a_figure_of_one_decoding_is_that_of_pass_at_1() {
        let (first, second) = (tallies(&[0, 2, 4, 1], 4), tallies(&[3, 2, 0, 4], 4));
        let (before, after) = (side(&[(1.0, &[0, 2, 4, 1], 4)]), side(&[(1.0, &[3, 2, 0, 4], 4)]));
        let found = before.compare(&after)[&at(1.0)];
        assert_eq!(found.before, pass_at_k(&first, 1).unwrap());
        assert_eq!(found.after, pass_at_k(&second, 1).unwrap());
        assert_eq!(found.difference, compare(&first, &second, 1).unwrap());
    }

    #[test]
    fn sides_choose_among_what_both_have_and_one_decoding_is_no_choice() {
        let before = side(&[(1.0, &[1, 0], 2), (0.0, &[1, 0], 1)]);
        let after = side(&[(1.0, &[1, 1], 2), (0.6, &[2, 2], 2), (0.0, &[0, 0], 1)]);
        let found = BetterTemperature::of(&before, &after).unwrap();
        assert_eq!(
            (found.before, found.after),
            (Decoding::GREEDY, at(1.0)),
            "T=0.6 is not of both"
        );
        let sampled = side(&[(1.0, &[1, 0], 2)]);
        assert_eq!(BetterTemperature::of(&sampled, &after), None);
        let policy = BetterTemperature::of_each(&side(&[(0.0, &[1, 1], 1)]), &after).unwrap();
        assert_eq!((policy.before, policy.after), (Decoding::GREEDY, at(0.6)));
    }

    #[test]
    fn of_equal_decodings_the_highest_temperature_is_taken() {
        let before = side(&[(1.0, &[1, 1], 2), (0.6, &[2, 0], 2), (0.0, &[1, 0], 1)]);
        let found = BetterTemperature::of(&before, &before).unwrap();
        assert_eq!((found.before, found.after), (at(1.0), at(1.0)));
    }

    #[test]
    fn a_task_that_was_not_judged_on_one_side_is_left_out_and_counted() {
        let before = side(&[(1.0, &[1, 1], 2), (0.0, &[0, 1], 1)]);
        let mut after = side(&[(0.0, &[1, 1], 1)]);
        let mut judged = tallies(&[2, 0], 2);
        judged[1].samples = 0;
        after.add_tallies(at(1.0), &judged);
        let found = before.compare(&after)[&at(1.0)];
        assert_eq!((found.difference.tasks, found.difference.left_out), (1, 1));
        assert!((found.difference.value - 0.5).abs() < 1e-12, "{found:?}");
    }
}
