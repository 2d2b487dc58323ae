//! Wilson's interval of a mean of few values, each between 0 and 1.
//!
//! ```text
//! n = T·p·(1-p) / s²        what T values tell, in draws of one coin: the effective n
//! (p + t²/2n ± t·√(p(1-p)/n + t²/4n²)) / (1 + t²/n)
//! ```
//!
//! with `p` the mean, `s²` the variance of the values and `t` the quantile of Student's distribution
//! with `T - 1` degrees of freedom (Wilson, JASA 1927; the effective n as of Korn and Graubard, *Survey
//! Methodology* 1998). Below a hundred tasks resampled means vary too little: their 95 % intervals
//! cover about 92 %. This interval stays inside 0 and 1, and has a positive width where nothing was
//! solved: `T` identical values count as `T` coin tosses.

use crate::bootstrap::{mean, number};
use crate::student::student;

/// The ends of the 95 % interval of a mean; `values` must not be empty.
pub(crate) fn interval(values: &[f64]) -> (f64, f64) {
    let (p, n) = (mean(values).clamp(0.0, 1.0), effective(values));
    let t = student(values.len().saturating_sub(1));
    let whole = 1.0 + t * t / n;
    let middle = (p + t * t / (2.0 * n)) / whole;
    let half = t * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt() / whole;
    // Rounding must not exclude the observed mean.
    ((middle - half).clamp(0.0, p), (middle + half).clamp(p, 1.0))
}

/// The effective sample size.
fn effective(values: &[f64]) -> f64 {
    let (count, p) = (number(values.len()), mean(values));
    let squares: f64 = values.iter().map(|value| (value - p).powi(2)).sum();
    let variance = squares / (count - 1.0).max(1.0);
    // One that is all but 0 is a rounding error.
    if variance < 1e-12 { count } else { count * p * (1.0 - p) / variance }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within, "{found} is not {expected}");
    }

    /// Of ones and zeros the effective n is one less than there are: their variance divides by that.
    /// The ends by hand, with t = 2.0930 for 19 degrees: `n = 19`, `t² = 4.3807`.
    #[test]
    fn a_mean_of_coins_has_the_interval_of_coins() {
        let values: Vec<f64> = (0..20).map(|at| f64::from(u8::from(at < 5))).collect();
        near(effective(&values), 19.0, 1e-9);
        let (low, high) = interval(&values);
        near(low, 0.1036, 5e-4);
        near(high, 0.4900, 5e-4);
    }

    #[test]
    fn what_was_sampled_often_tells_more_than_what_was_sampled_once() {
        let once: Vec<f64> = (0..40).map(|at| f64::from(at % 2)).collect();
        let often: Vec<f64> = (0..40).map(|at| 0.375 + 0.25 * f64::from(at % 2)).collect();
        let width = |values: &[f64]| interval(values).1 - interval(values).0;
        near(width(&once) / width(&often), 4.0, 0.5);
    }

    #[test]
    fn nothing_solved_is_not_known_to_be_nothing() {
        let (low, high) = interval(&[0.0; 30]);
        near(low, 0.0, 1e-12);
        // t²/(n + t²), with t = 2.045.
        near(high, 0.1224, 5e-4);
        let (low, high) = interval(&[1.0; 30]);
        near(low, 1.0 - 0.1224, 5e-4);
        near(high, 1.0, 1e-12);
        assert!(interval(&[0.5]).0 < 0.1, "one task is hardly anything");
    }
}
