//! The percentile bootstrap of a mean.
//!
//! The values are one per task. A resample draws as many values with replacement and takes the
//! mean; the interval covers the middle 95 % of many such means (Efron and Tibshirani, *An
//! Introduction to the Bootstrap*, chapter 13). Tasks are resampled and not samples, because the
//! interval answers how the figure would vary with another choice of tasks.
//!
//! Identical values have an interval of width 0: if no task was solved, resampling cannot tell how
//! rare a solution is, and `wilson` is used instead.

use crate::random::stream;

/// Means that an interval is made of.
pub const RESAMPLES: u64 = 2000;

/// The fraction of means below the interval, and above it.
const TAIL: f64 = 0.025;

/// The interval from this many resampled means; `values` must not be empty.
pub(crate) fn interval_of(values: &[f64], resamples: u64) -> (f64, f64) {
    middle_of((0..resamples).map(|at| resampled(values, at)).collect())
}

/// The ends of the middle 95 % of resampled means.
pub(crate) fn middle_of(mut means: Vec<f64>) -> (f64, f64) {
    means.sort_unstable_by(f64::total_cmp);
    (quantile(&means, TAIL), quantile(&means, 1.0 - TAIL))
}

/// The mean of all values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / number(values.len())
}

fn resampled(values: &[f64], resample: u64) -> f64 {
    let mut random = stream("bootstrap", resample);
    let sum: f64 = (0..values.len()).map(|_| values[random.below(values.len())]).sum();
    sum / number(values.len())
}

/// The quantile of a sorted list, with linear interpolation.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * number(sorted.len() - 1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside the list")]
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let way = place - number(below);
    sorted[below] + (sorted[above] - sorted[below]) * way
}

#[expect(clippy::cast_precision_loss, reason = "tasks and resamples are counted in thousands")]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(values: &[f64]) -> (f64, f64) {
        interval_of(values, RESAMPLES)
    }

    #[test]
    fn a_quantile_between_two_places_is_between_their_values() {
        let sorted = [0.0, 10.0, 20.0, 40.0];
        let found = [0.0, 0.25, 0.5, 0.9, 1.0].map(|part| quantile(&sorted, part));
        for (found, expected) in found.into_iter().zip([0.0, 7.5, 15.0, 34.0, 40.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    /// The mean of two values is each of them with probability 1/4 and half way with 1/2, so both
    /// ends are in a quarter.
    #[test]
    fn two_values_are_their_own_interval() {
        assert_eq!(interval(&[0.0, 1.0]), (0.0, 1.0));
        assert_eq!(interval(&[0.25]), (0.25, 0.25));
    }

    /// A resample of ones and zeros is binomial, whose quantiles are known:
    ///
    /// ```python
    /// from itertools import accumulate; from math import comb
    /// def quantile(q, n, h):
    ///     chances = (comb(n, k) * (h / n) ** k * (1 - h / n) ** (n - k) for k in range(n + 1))
    ///     return next(k / n for k, sum in enumerate(accumulate(chances)) if sum >= q)
    /// [[quantile(q, n, h) for q in (.025, .975)] for n, h in [(100, 50), (100, 10), (400, 120)]]
    /// ```
    #[test]
    fn the_interval_of_ones_and_zeros_is_the_binomial_one() {
        for (all, ones, low, high) in
            [(100, 50, 0.40, 0.60), (100, 10, 0.05, 0.16), (400, 120, 0.255, 0.345)]
        {
            let values: Vec<f64> = (0..all).map(|at| f64::from(u8::from(at < ones))).collect();
            let found = interval(&values);
            let near = |a: f64, b: f64| (a - b).abs() <= 1.0 / f64::from(all) + 1e-12;
            assert!(near(found.0, low) && near(found.1, high), "{found:?} for {ones} of {all}");
        }
    }
}
