//! pass@k of a suite, and the difference between two models on it.
//!
//! The figure of a suite is the mean over its tasks of the unbiased estimator. A task with fewer
//! judged samples than `k` has no such figure: it is left out and counted, never guessed.
//!
//! The interval of a mean is a bootstrap over tasks from a hundred tasks on, and a Wilson interval
//! below that and where all tasks have the same value. The interval of a difference is always a
//! bootstrap: a Wilson interval has no meaning around 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whetstone_algo::pass_at_k::{self as one_task, PassAtKError};
use whetstone_core::task::TaskId;
use whetstone_rollout::measure::Tally;

use crate::bootstrap::{RESAMPLES, interval_of, mean};
use crate::error::EvalError;
use crate::sign_flip::{FLIPS, p_value};
use crate::wilson;

/// Tasks from which on they are resampled.
pub(crate) const MANY: usize = 100;

/// Significance level: the largest p-value of a clear difference.
const SELDOM: f64 = 0.05;

/// A mean over tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Tasks that it is the mean of.
    pub tasks: usize,
    /// Tasks with too few judged samples.
    pub left_out: usize,
}

/// The improvement of one model over another on the same tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The mean of the later less the mean of the earlier.
    pub value: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Tasks that were compared.
    pub tasks: usize,
    /// Tasks with too few judged samples on either side.
    pub left_out: usize,
    /// The chance of so large a difference, either way, between models that are alike: the p-value of
    /// the sign-flip test.
    pub p: f64,
}

impl Difference {
    /// Whether the difference is significant: the interval excludes 0 and the p-value is small.
    pub fn is_clear(&self) -> bool {
        (self.low > 0.0 || self.high < 0.0) && self.p < SELDOM
    }
}

/// pass@k of a suite.
///
/// # Errors
///
/// If there are no tasks, `k` is 0, no task has `k` samples, or a count is impossible.
pub fn pass_at_k(tallies: &[Tally], k: u64) -> Result<Estimate, EvalError> {
    let figures = figures(tallies, k)?;
    let values: Vec<f64> = figures.values().copied().flatten().collect();
    enough(&values, tallies, k)?;
    let ((low, high), value) = (around(&values, RESAMPLES), mean(&values));
    let left_out = figures.len() - values.len();
    Ok(Estimate { value, low, high, tasks: values.len(), left_out })
}

/// The difference in pass@k between two models on the same tasks.
///
/// Tasks are resampled in pairs, which cancels per-task difficulty.
///
/// # Errors
///
/// As for [`pass_at_k`], and if a task was measured on one side only.
pub fn compare(before: &[Tally], after: &[Tally], k: u64) -> Result<Difference, EvalError> {
    let (earlier, later) = (figures(before, k)?, figures(after, k)?);
    let alone = |one: &BTreeMap<_, _>, other: &BTreeMap<&TaskId, _>| {
        one.keys().find(|&task| !other.contains_key(*task)).map(|&task| TaskId::clone(task))
    };
    if let Some(task) = alone(&earlier, &later).or_else(|| alone(&later, &earlier)) {
        return Err(EvalError::Unpaired(task));
    }
    let pairs = earlier.values().zip(later.values());
    let values: Vec<f64> = pairs.filter_map(|(one, other)| Some((*other)? - (*one)?)).collect();
    enough(&values, before, k)?;
    let left_out = earlier.len() - values.len();
    Ok(Difference { left_out, ..difference(&values, RESAMPLES, FLIPS) })
}

/// The 95 % interval of a mean of figures.
pub(crate) fn around(values: &[f64], resamples: u64) -> (f64, f64) {
    let all_the_same = values.iter().all(|value| (value - values[0]).abs() < 1e-12);
    if values.len() < MANY || all_the_same {
        return wilson::interval(values);
    }
    interval_of(values, resamples)
}

/// The mean of paired differences; `values` must not be empty.
pub(crate) fn difference(values: &[f64], resamples: u64, flips: u64) -> Difference {
    let ((low, high), value) = (interval_of(values, resamples), mean(values));
    let p = p_value(values, flips);
    Difference { value, low, high, tasks: values.len(), left_out: 0, p }
}

/// Each task's figure, in the order of their names: so the order of counts decides nothing.
pub(crate) fn figures(
    tallies: &[Tally],
    k: u64,
) -> Result<BTreeMap<&TaskId, Option<f64>>, EvalError> {
    let mut figures = BTreeMap::new();
    for Tally { task, samples, passed } in tallies {
        let figure = match one_task::pass_at_k(*samples, *passed, k) {
            Ok(figure) => Some(figure),
            Err(PassAtKError::Samples { .. }) => None,
            Err(err) => return Err(err.into()),
        };
        if figures.insert(task, figure).is_some() {
            return Err(EvalError::Twice(task.clone()));
        }
    }
    Ok(figures)
}

/// Refuses figures of no task.
fn enough(values: &[f64], tallies: &[Tally], k: u64) -> Result<(), EvalError> {
    if !values.is_empty() {
        return Ok(());
    }
    let most = tallies.iter().map(|tally| tally.samples).max();
    let samples = most.ok_or(EvalError::NoTasks)?;
    Err(PassAtKError::Samples { k, samples }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallies(counts: &[(u64, u64)]) -> Vec<Tally> {
        let tally = |(at, &(samples, passed)): (usize, &(u64, u64))| Tally {
            task: TaskId::try_from(format!("t/{at:03}")).unwrap(),
            samples,
            passed,
        };
        counts.iter().enumerate().map(tally).collect()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    /// Of four samples: none, one, two, all right. pass@1 is the mean of 0, 1/4, 1/2, 1; pass@2 of 0,
    /// 1 - C(3,2)/C(4,2) = 1/2, 1 - C(2,2)/C(4,2) = 5/6, 1.
    #[test]
    fn the_figure_of_a_suite_is_the_mean_over_its_tasks() {
        let counts = tallies(&[(4, 0), (4, 1), (4, 2), (4, 4)]);
        near(pass_at_k(&counts, 1).unwrap().value, 1.75 / 4.0);
        near(pass_at_k(&counts, 2).unwrap().value, (0.5 + 5.0 / 6.0 + 1.0) / 4.0);
        near(pass_at_k(&counts, 4).unwrap().value, 0.75);
    }

    #[test]
    fn tasks_with_too_few_samples_are_left_out_and_counted() {
        let counts = tallies(&[(4, 4), (3, 0), (0, 0), (4, 0)]);
        let found = pass_at_k(&counts, 4).unwrap();
        assert_eq!((found.tasks, found.left_out), (2, 2));
        near(found.value, 0.5);
        let single = pass_at_k(&counts, 1).unwrap();
        assert_eq!((single.tasks, single.left_out), (3, 1));
        near(single.value, 1.0 / 3.0);
    }

    #[test]
    fn a_difference_is_between_tasks_that_both_sides_have_a_figure_of() {
        let before = tallies(&[(4, 0), (3, 3), (4, 2)]);
        let after = tallies(&[(4, 1), (4, 4), (4, 4)]);
        let found = compare(&before, &after, 4).unwrap();
        assert_eq!((found.tasks, found.left_out), (2, 1));
        near(found.value, 0.5);
        let single = compare(&before, &after, 1).unwrap();
        near(single.value, (0.25 + 0.0 + 0.5) / 3.0);
        assert!(compare(&after, &before, 1).unwrap().value < 0.0);
    }

    #[test]
    fn a_difference_is_clear_when_its_interval_has_no_zero() {
        let sides =
            |low, high| Difference { value: 0.0, low, high, tasks: 1, left_out: 0, p: 0.04 };
        let clear = [(0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), (0.0, 0.1), (-0.1, 0.0)];
        let found = clear.map(|(low, high)| sides(low, high).is_clear());
        assert_eq!(found, [true, true, false, false, false]);
        let by_chance = Difference { p: 0.05, ..sides(0.1, 0.2) };
        assert!(!by_chance.is_clear(), "chance does as much in one of twenty");
    }

    #[test]
    fn what_is_no_figure_is_refused_in_words() {
        let said = |found: Result<Estimate, EvalError>| found.unwrap_err().to_string();
        assert_eq!(said(pass_at_k(&[], 1)), "there is nothing to measure: no tasks");
        let counts = tallies(&[(2, 1), (3, 0)]);
        assert_eq!(
            said(pass_at_k(&counts, 10)),
            "pass@10 needs 10 samples and there are 3; sample more or ask for a smaller k"
        );
        assert_eq!(said(pass_at_k(&counts, 0)), "pass@0 is no figure; ask for k of 1 or more");
        let impossible = tallies(&[(1, 2)]);
        assert_eq!(said(pass_at_k(&impossible, 1)), "2 of 1 samples cannot be right");
        let twice = [tallies(&[(1, 1)]), tallies(&[(1, 0)])].concat();
        assert_eq!(said(pass_at_k(&twice, 1)), "task `t/000` is counted twice");
    }

    #[test]
    fn other_tasks_cannot_be_compared() {
        let (few, more) = (tallies(&[(4, 1)]), tallies(&[(4, 1), (4, 1)]));
        for (one, other) in [(&few, &more), (&more, &few)] {
            let err = compare(one, other, 1).unwrap_err();
            assert_eq!(err.to_string(), "task `t/001` was measured on one side only");
            assert_eq!(err.hint(), Some("measure both on the same tasks"));
        }
    }
}
