//! Whether differences lean to one side: the sign-flip test.
//!
//! If two models were equal, the sign of each task's difference would be random. So signs are
//! flipped at random many times; the fraction of flips whose sum is at least as far from 0 as the
//! real one is the p-value of a two-sided test (Fisher, *The Design of Experiments*, section 21).
//! The test assumes nothing about the distribution of differences.
//!
//! Tasks without a difference have no sign and change no sum. Where there are so few others that all of
//! their signs can be tried, all are; else the real one counts as one of the throws, so that no p-value
//! is 0.

use crate::random::stream;

/// Throws of all signs.
pub(crate) const FLIPS: u64 = 10_000;

/// The chance of so large a sum, either way, if signs were coins.
pub(crate) fn p_value(differences: &[f64], flips: u64) -> f64 {
    let sizes: Vec<f64> = differences.iter().copied().filter(|size| *size != 0.0).collect();
    let real = sizes.iter().sum::<f64>().abs();
    // Sums in another order differ by rounding.
    let as_far = |sum: f64| sum.abs() >= real - 1e-9;
    let all = u32::try_from(sizes.len()).ok().and_then(|count| 1_u64.checked_shl(count));
    if let Some(all) = all.filter(|all| *all <= flips) {
        let hits = (0..all).filter(|signs| as_far(flipped(&sizes, || *signs))).count();
        return part(hits as u64, all);
    }
    let hits = (0..flips).filter(|throw| {
        let mut random = stream("sign-flip", *throw);
        as_far(flipped(&sizes, || random.next_u64()))
    });
    part(hits.count() as u64 + 1, flips + 1)
}

/// The sum with a sign for each by a bit; `bits` is asked for every 64 of them.
fn flipped(sizes: &[f64], mut bits: impl FnMut() -> u64) -> f64 {
    let mut sum = 0.0;
    for some in sizes.chunks(64) {
        let mut signs = bits();
        for size in some {
            sum += if signs & 1 == 0 { *size } else { -size };
            signs >>= 1;
        }
    }
    sum
}

#[expect(clippy::cast_precision_loss, reason = "throws are counted in thousands")]
fn part(hits: u64, all: u64) -> f64 {
    hits as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within, "{found} is not {expected}");
    }

    /// Of eight signs, all the same is 2 of 256. Of 1, 2 and 4, all sums differ: ±7 are 2 of 8, and 5 or
    /// more either way 4 of 8.
    #[test]
    fn few_differences_are_tried_with_all_signs() {
        near(p_value(&[0.5; 8], FLIPS), 2.0 / 256.0, 1e-12);
        near(p_value(&[-0.5; 8], FLIPS), 2.0 / 256.0, 1e-12);
        near(p_value(&[1.0, 0.0, 2.0, 4.0, 0.0], FLIPS), 0.25, 1e-12);
        near(p_value(&[-1.0, 2.0, 4.0], FLIPS), 0.5, 1e-12);
        near(p_value(&[], FLIPS), 1.0, 1e-12);
        near(p_value(&[0.0; 50], FLIPS), 1.0, 1e-12);
    }

    /// Signs of equal differences are a binomial: of 100, 60 or more on one side have the chance
    ///
    /// ```python
    /// from math import comb; 2 * sum(comb(100, k) for k in range(60, 101)) / 2**100
    /// ```
    #[test]
    fn many_are_thrown() {
        let differences: Vec<f64> = (0..100).map(|at| if at < 60 { 0.1 } else { -0.1 }).collect();
        near(p_value(&differences, FLIPS), 0.0569, 0.007);
        near(p_value(&[0.1; 100], FLIPS), 1.0 / 10_001.0, 1e-12);
    }
}
