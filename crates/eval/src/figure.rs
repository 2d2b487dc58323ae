//! Figures of the programs that a model writes, beside pass@k.
//!
//! | figure | of a task, over its samples without the greedy one | unit |
//! |---|---|---|
//! | [`Figure::SyntaxRate`] | the share of replies with a program that compiles | 0 to 1 |
//! | [`Figure::TestsPassed`] | the mean share of hidden tests that a reply passed | 0 to 1 |
//! | [`Figure::Quality`] | the mean quality of the Python programs that compile | 0 to 10 |
//! | [`Figure::Diversity`] | the mean distance between two of its programs | 0 to 1 |
//! | [`Figure::DiversityPassing`] | the same among the programs that pass | 0 to 1 |
//!
//! A figure of a suite is the mean over its tasks. A task that has none, such as the diversity of fewer than two
//! programs, is left out and counted. Samples that could not be judged have none of these figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whetstone_core::metric::{
    CODE_AVG_TEST_PASS_RATE, CODE_QUALITY_SCORE, CODE_SYNTAX_SUCCESS_RATE,
};
use whetstone_core::outcome::Outcome;
use whetstone_env::metrics::of_outcome;

use crate::bootstrap::{RESAMPLES, mean, number};
use crate::estimate::{Difference, Estimate, around, difference};
use crate::sign_flip::FLIPS;

/// A figure of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The share of replies with a program that compiles.
    SyntaxRate,
    /// The share of hidden tests that pass.
    TestsPassed,
    /// How well programs are written, of 10.
    Quality,
    /// The mean distance between two programs of a task.
    Diversity,
    /// The mean distance between two programs of a task that pass.
    DiversityPassing,
}

/// The figures of one task.
pub type TaskFigures = BTreeMap<Figure, f64>;

impl Figure {
    /// Every figure.
    pub const ALL: [Self; 5] = [
        Self::SyntaxRate,
        Self::TestsPassed,
        Self::Quality,
        Self::Diversity,
        Self::DiversityPassing,
    ];

    /// The name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::SyntaxRate => "syntax rate",
            Self::TestsPassed => "tests passed",
            Self::Quality => "quality of 10",
            Self::Diversity => "diversity",
            Self::DiversityPassing => "diversity, passing",
        }
    }

    /// The largest value: intervals are those of a mean between 0 and 1, times this.
    pub fn scale(self) -> f64 {
        if self == Self::Quality { 10.0 } else { 1.0 }
    }

    /// The metric that a sample has it by.
    fn metric(self) -> Option<&'static str> {
        match self {
            Self::SyntaxRate => Some(CODE_SYNTAX_SUCCESS_RATE.name),
            Self::TestsPassed => Some(CODE_AVG_TEST_PASS_RATE.name),
            Self::Quality => Some(CODE_QUALITY_SCORE.name),
            Self::Diversity | Self::DiversityPassing => None,
        }
    }

    /// The mean over tasks; `None` if no task has the figure.
    pub(crate) fn estimate<'t>(
        self,
        tasks: impl Iterator<Item = &'t TaskFigures>,
    ) -> Option<Estimate> {
        let found: Vec<Option<f64>> = tasks.map(|task| self.of(task)).collect();
        let values: Vec<f64> = found.iter().copied().flatten().collect();
        if values.is_empty() {
            return None;
        }
        let ((low, high), value) = (around(&values, RESAMPLES), mean(&values));
        let (tasks, left_out) = (values.len(), found.len() - values.len());
        let scale = self.scale();
        Some(Estimate {
            value: scale * value,
            low: scale * low,
            high: scale * high,
            tasks,
            left_out,
        })
    }

    /// The mean of the differences of paired tasks; `None` if no task has the figure on both sides.
    pub(crate) fn difference(self, pairs: &[(&TaskFigures, &TaskFigures)]) -> Option<Difference> {
        let change = |(before, after): &(&TaskFigures, &TaskFigures)| {
            Some(self.of(after)? - self.of(before)?)
        };
        let values: Vec<f64> = pairs.iter().filter_map(change).collect();
        if values.is_empty() {
            return None;
        }
        let found = difference(&values, RESAMPLES, FLIPS);
        let scale = self.scale();
        Some(Difference {
            value: scale * found.value,
            low: scale * found.low,
            high: scale * found.high,
            left_out: pairs.len() - values.len(),
            ..found
        })
    }

    /// Whether a task has this figure.
    pub(crate) fn is_in(self, task: &TaskFigures) -> bool {
        self.of(task).is_some()
    }

    /// The value of a task between 0 and 1. A file of results may say anything.
    fn of(self, task: &TaskFigures) -> Option<f64> {
        let value = task.get(&self)? / self.scale();
        value.is_finite().then(|| value.clamp(0.0, 1.0))
    }
}

/// Means over the samples of a task, while they are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct FigureSums(BTreeMap<Figure, (f64, usize)>);

impl FigureSums {
    /// Takes in a judged sample.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        let metrics = of_outcome(outcome);
        for figure in Figure::ALL {
            let value = figure.metric().and_then(|name| metrics.get(name));
            if let Some(value) = value {
                let (sum, count) = self.0.entry(figure).or_default();
                *sum += value * figure.scale();
                *count += 1;
            }
        }
    }

    pub(crate) fn means(&self) -> TaskFigures {
        let mean =
            |(&figure, &(sum, count)): (&Figure, &(f64, usize))| (figure, sum / number(count));
        self.0.iter().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(figure: Figure, values: &[Option<f64>]) -> Vec<TaskFigures> {
        let of = |value: &Option<f64>| value.map(|value| (figure, value)).into_iter().collect();
        values.iter().map(of).collect()
    }

    #[test]
    fn a_figure_is_the_mean_over_the_tasks_that_have_it() {
        let found = tasks(Figure::Quality, &[Some(6.0), None, Some(8.0), Some(7.0)]);
        let estimate = Figure::Quality.estimate(found.iter()).unwrap();
        assert!((estimate.value - 7.0).abs() < 1e-12, "{estimate:?}");
        assert_eq!((estimate.tasks, estimate.left_out), (3, 1));
        assert!(0.0 < estimate.low && estimate.low < 7.0 && estimate.high < 10.0, "{estimate:?}");
        assert_eq!(Figure::Diversity.estimate(found.iter()), None);
    }

    #[test]
    fn a_difference_is_that_of_tasks_that_have_the_figure_on_both_sides() {
        let before = tasks(Figure::Quality, &[Some(6.0), None, Some(8.0), Some(5.0)]);
        let after = tasks(Figure::Quality, &[Some(7.0), Some(9.0), Some(8.5), Some(6.5)]);
        let pairs: Vec<_> = before.iter().zip(&after).collect();
        let found = Figure::Quality.difference(&pairs).unwrap();
        assert!((found.value - 1.0).abs() < 1e-12, "{found:?}");
        assert_eq!((found.tasks, found.left_out), (3, 1));
        assert!(0.5 - 1e-12 <= found.low && found.high <= 1.5 + 1e-12, "{found:?}");
        // All three signs are tried: all the same is 2 of 8.
        assert!((found.p - 0.25).abs() < 1e-12);
        assert_eq!(Figure::SyntaxRate.difference(&pairs), None);
    }

    #[test]
    fn what_a_file_of_results_claims_is_bounded() {
        let found = tasks(Figure::Diversity, &[Some(7.0), Some(f64::NAN), Some(-1.0)]);
        let estimate = Figure::Diversity.estimate(found.iter()).unwrap();
        assert_eq!((estimate.value, estimate.left_out), (0.5, 1));
    }
}
