//! The episodes of two evaluations of the same tasks, beside each other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::any_size::{Range, estimate};
use super::{TaskEpisodes, names, range};
use crate::bootstrap::RESAMPLES;
use crate::compared::Compared;
use crate::estimate::{Difference, difference};
use crate::sign_flip::FLIPS;

/// Figures of episodes on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedEpisodes {
    /// Replies of an episode at most, on either side.
    pub max_turns: u32,
    /// The share of samples that solve their task with at most so many replies, where both sides have it.
    pub solved_within: BTreeMap<u32, Compared>,
    /// Means by name, where both sides have them.
    pub means: BTreeMap<String, Compared>,
}

/// The episodes of one task on both sides, as far as there are any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskPair<'t> {
    pub(crate) before: Option<&'t TaskEpisodes>,
    pub(crate) after: Option<&'t TaskEpisodes>,
}

impl ComparedEpisodes {
    /// Compares paired tasks; `None` if no task has episodes on both sides.
    pub(crate) fn of(pairs: &[TaskPair<'_>], max_turns: u32) -> Option<Self> {
        let both = |pair: &TaskPair<'_>| pair.before.is_some() && pair.after.is_some();
        let first = pairs.iter().find(|pair| both(pair))?.before?;
        let within =
            |&k: &u32| Some((k, compare(pairs, &|task| task.within(k), Some(Range::SHARE))?));
        let mean = |name: &str| {
            let compared = compare(pairs, &|task| task.mean(name), range(name, max_turns))?;
            Some((name.to_owned(), compared))
        };
        let solved_within = first.solved_within.keys().filter_map(within).collect();
        let named = names(pairs.iter().filter_map(|pair| pair.before));
        let means = named.into_iter().filter_map(mean).collect();
        Some(Self { max_turns, solved_within, means })
    }
}

/// One figure over the tasks that have it on both sides; `None` if no task has.
fn compare(
    pairs: &[TaskPair<'_>],
    of: &dyn Fn(&TaskEpisodes) -> Option<f64>,
    range: Option<Range>,
) -> Option<Compared> {
    let values = pairs.iter().filter_map(|pair| Some([of(pair.before?)?, of(pair.after?)?]));
    let values: Vec<[f64; 2]> = values.collect();
    let side = |at: usize| estimate(values.iter().map(|pair| Some(pair[at])), range);
    let (before, after) = (side(0)?, side(1)?);
    let changes: Vec<f64> = values.iter().map(|[before, after]| after - before).collect();
    let left_out = pairs.len() - values.len();
    let difference = Difference { left_out, ..difference(&changes, RESAMPLES, FLIPS) };
    Some(Compared { before, after, difference })
}

#[cfg(test)]
mod tests {
    use super::super::{REWARD, TURNS};
    use super::*;

    fn task(within: f64, turns: f64) -> TaskEpisodes {
        let means = [(TURNS.to_owned(), turns), (REWARD.to_owned(), within)].into();
        TaskEpisodes { solved_within: [(1, 0.0), (2, within)].into(), means }
    }

    /// The second task has no episodes on one side. Of the others, 0.25 and 0.75 more are solved, with 1 and 3
    /// replies fewer.
    #[test]
    fn a_difference_is_that_of_tasks_that_have_the_figure_on_both_sides() {
        let before = [task(0.0, 9.0), task(0.5, 2.0), task(0.25, 8.0)];
        let after = [task(0.25, 8.0), task(0.5, 2.0), task(1.0, 5.0)];
        let pair = |at: usize| TaskPair {
            before: Some(&before[at]),
            after: Some(&after[at]).filter(|_| at != 1),
        };
        let found = ComparedEpisodes::of(&[pair(0), pair(1), pair(2)], 10).unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        let two = found.solved_within[&2];
        near(two.difference.value, 0.5);
        near(two.before.value, 0.125);
        near(two.after.value, 0.625);
        assert_eq!((two.difference.tasks, two.difference.left_out), (2, 1));
        near(found.means[TURNS].difference.value, -2.0);
        near(found.solved_within[&1].difference.value, 0.0);
        // Both signs of two differences: all the same is 2 of 4.
        near(two.difference.p, 0.5);
        assert_eq!(ComparedEpisodes::of(&[pair(1)], 10), None);
    }
}
