//! Examples with a label of yes or no: their loss, and how well scores tell the two apart.
//!
//! With the logit `z` of an example, the probability `p = σ(z)` and the label `y`, which is 0 or 1:
//!
//! ```text
//! AUC           the chance that a positive example has the higher logit than a negative one; a tie counts half
//! Brier         mean of (p - y)²
//! calibration   Σ bins (n/N) · |share of positive labels - mean p|
//! ```
//!
//! The AUC is the statistic of Mann and Whitney (Annals of Mathematical Statistics 1947); it does not change
//! with the share of positive labels. The calibration error has ten bins of equal width from 0 to 1
//! (C. Guo et al., arXiv:1706.04599), and is above 0 even for perfect probabilities of few examples: compare it
//! with its interval, not with 0.
//!
//! Examples of one task share their luck, so intervals resample tasks and not examples. Each resample weighs
//! the examples of a task by how often it was drawn, so that one order by logit serves all of them.

mod auc;
mod calibration;
mod loss;

pub use calibration::{BINS, Bin};
pub use loss::{BinaryExample, BinaryLoss, loss};

use std::collections::BTreeMap;

use whetstone_core::{Seed, SplitMix};

use crate::bradley_terry::sigmoid;
use crate::error::entries;
use crate::pairwise::{Interval, RESAMPLES};
use crate::{AlgoError, number};

/// An example with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labelled {
    /// The score that the sigmoid makes a probability of.
    pub logit: f64,
    /// The label.
    pub label: bool,
    /// The number of its task: examples with equal numbers are not independent.
    pub task: usize,
}

/// What scores are worth, with 95 % intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Examples.
    pub examples: u64,
    /// Different tasks among them.
    pub tasks: u64,
    /// The share of positive labels.
    pub positives: f64,
    /// The area under the curve of true and false positives; none where all labels are equal.
    pub auc: Option<Interval>,
    /// The expected calibration error.
    pub calibration_error: Interval,
    /// The Brier score.
    pub brier: Interval,
    /// The reliability of each bin of probability.
    pub reliability: Vec<Bin>,
}

impl Labelled {
    /// The probability that its score stands for.
    pub fn probability(&self) -> f64 {
        sigmoid(self.logit)
    }

    fn label_value(&self) -> f64 {
        f64::from(u8::from(self.label))
    }
}

/// An example as the figures of a resample count it.
#[derive(Debug, Clone, Copy)]
struct Weighted {
    example: Labelled,
    weight: f64,
}

/// The figures of examples.
///
/// # Errors
///
/// If there are none, or a logit is not finite.
pub fn figures(examples: &[Labelled]) -> Result<Figures, AlgoError> {
    let logits: Vec<f64> = examples.iter().map(|example| example.logit).collect();
    entries("logit", &logits)?;
    if examples.is_empty() {
        return Err(AlgoError::Lengths { what: "labelled examples", found: 0, expected: 1 });
    }
    let mut sorted: Vec<Weighted> =
        examples.iter().map(|&example| Weighted { example, weight: 1.0 }).collect();
    sorted.sort_by(|one, other| one.example.logit.total_cmp(&other.example.logit));
    let (auc, calibration_error, brier) =
        (auc::auc(&sorted), calibration::error(&sorted), brier(&sorted));
    let reliability = calibration::bins(&sorted);
    let tasks = number_tasks(&mut sorted);
    let resampled = resampled(&mut sorted, tasks);
    let column = |of: fn(&Resample) -> f64| resampled.iter().map(of).collect::<Vec<f64>>();
    // A resample with one kind of label has no area.
    let areas: Vec<f64> = resampled.iter().filter_map(|figures| figures.auc).collect();
    let count = number(examples.len() as u64);
    Ok(Figures {
        examples: examples.len() as u64,
        tasks: tasks as u64,
        positives: examples.iter().map(Labelled::label_value).sum::<f64>() / count,
        auc: auc.map(|auc| Interval::of_quantiles(auc, areas, tasks)),
        calibration_error: Interval::of_quantiles(
            calibration_error,
            column(|figures| figures.calibration_error),
            tasks,
        ),
        brier: Interval::of_quantiles(brier, column(|figures| figures.brier), tasks),
        reliability,
    })
}

/// The figures of one resample.
struct Resample {
    auc: Option<f64>,
    calibration_error: f64,
    brier: f64,
}

/// Numbers tasks from 0 without gaps; returns how many there are.
fn number_tasks(examples: &mut [Weighted]) -> usize {
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for Weighted { example, .. } in examples.iter() {
        let next = numbers.len();
        numbers.entry(example.task).or_insert(next);
    }
    // By the given number, whatever the order of logits is.
    for (at, number) in numbers.values_mut().enumerate() {
        *number = at;
    }
    for Weighted { example, .. } in examples.iter_mut() {
        example.task = numbers[&example.task];
    }
    numbers.len()
}

/// Figures of resampled tasks. Every stream begins at a constant: nobody can try seeds until an interval
/// pleases.
fn resampled(sorted: &mut [Weighted], tasks: usize) -> Vec<Resample> {
    let resample = |at: u64| {
        let mut random = SplitMix::new(Seed::new(0).derive("tasks", at));
        let mut drawn = vec![0.0; tasks];
        for _ in 0..tasks {
            drawn[random.below(tasks)] += 1.0;
        }
        for weighted in sorted.iter_mut() {
            weighted.weight = drawn[weighted.example.task];
        }
        Resample {
            auc: auc::auc(sorted),
            calibration_error: calibration::error(sorted),
            brier: brier(sorted),
        }
    };
    (0..RESAMPLES).map(resample).collect()
}

fn brier(examples: &[Weighted]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for Weighted { example, weight } in examples {
        sum += weight * (example.probability() - example.label_value()).powi(2);
        weights += weight;
    }
    sum / weights
}

#[cfg(test)]
mod tests;
