//! pass@k: the chance that one of `k` samples is right, from `n` samples of which `c` were.
//!
//! ```text
//! 1 - C(n-c, k) / C(n, k)  =  1 - Π (1 - f / i)   for i in n-m+1 ..= n
//! ```
//!
//! with `m` the smaller and `f` the larger of `c` and `k` (arXiv:2107.03374, eq. 1: unbiased, where
//! `1 - (1 - c/n)^k` is not; the ratio of binomials is the same with `c` and `k` exchanged, which
//! keeps the product short). It is summed as logarithms of what each factor lacks to 1, so that
//! rare successes keep all their digits.
//!
//! `k > n` is refused. Fewer samples than `k` only bound the chance, and a bound printed as an
//! estimate would say 100 % where nothing was right. `n` and `c` are samples of one task: the
//! figure of a suite is the mean over its tasks, never this formula over all samples.

use crate::number;

/// Why pass@k cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassAtKError {
    /// k is 0.
    #[error("pass@0 is no figure; ask for k of 1 or more")]
    Zero,
    /// There are fewer samples than `k`.
    #[error(
        "pass@{k} needs {k} samples and there are {samples}; sample more or ask for a smaller k"
    )]
    Samples {
        /// The requested k.
        k: u64,
        /// The number of samples.
        samples: u64,
    },
    /// More samples are right than there are.
    #[error("{correct} of {samples} samples cannot be right")]
    Correct {
        /// Samples said to be right.
        correct: u64,
        /// Samples.
        samples: u64,
    },
}

/// The chance that at least one of `k` samples is right.
///
/// # Errors
///
/// If `k` is 0 or more than there are samples, or more are right than there are.
///
/// # Example
///
/// ```
/// use whetstone_algo::pass_at_k::pass_at_k;
/// assert_eq!(pass_at_k(4, 2, 1)?, 0.5);
/// assert!(pass_at_k(5, 0, 10).is_err());
/// # Ok::<(), whetstone_algo::pass_at_k::PassAtKError>(())
/// ```
pub fn pass_at_k(samples: u64, correct: u64, k: u64) -> Result<f64, PassAtKError> {
    if k == 0 {
        return Err(PassAtKError::Zero);
    }
    if k > samples {
        return Err(PassAtKError::Samples { k, samples });
    }
    let wrong = samples.checked_sub(correct).ok_or(PassAtKError::Correct { correct, samples })?;
    if wrong < k {
        return Ok(1.0);
    }
    let (fewer, more) = (correct.min(k), number(correct.max(k)));
    let factors = (samples - fewer + 1..=samples).map(|i| (-more / number(i)).ln_1p());
    Ok(-factors.sum::<f64>().exp_m1())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::assert_near;

    /// Counts subsets of size `k` that hold a right sample, one by one.
    fn by_enumeration(samples: u64, correct: u64, k: u64) -> f64 {
        let subsets = (0_u64..1 << samples).filter(|set| u64::from(set.count_ones()) == k);
        let (hits, all) = subsets.fold((0, 0), |(hits, all), set| {
            (hits + u64::from(set & ((1 << correct) - 1) != 0), all + 1)
        });
        number(hits) / number(all)
    }

    #[test]
    fn it_agrees_with_counting_every_subset() {
        for samples in 1..=10 {
            for correct in 0..=samples {
                for k in 1..=samples {
                    let found = pass_at_k(samples, correct, k).unwrap();
                    assert_near(found, by_enumeration(samples, correct, k));
                }
            }
        }
    }

    /// Exact fractions, and one in a million samples right, where a product of floats less than 1
    /// has lost digits:
    ///
    /// ```python
    /// from fractions import Fraction as F; from math import comb
    /// p = lambda n, c, k: float(1 - F(comb(n - c, k), comb(n, k)))
    /// p(10, 3, 5), p(200, 7, 100), p(1000000, 1, 1), p(100000, 3, 10)
    /// ```
    #[test]
    fn it_agrees_with_exact_fractions_to_the_last_digits() {
        for (samples, correct, k, expected) in [
            (10, 3, 5, 0.916_666_666_666_666_6),
            (200, 7, 100, 0.992_991_117_241_812_3),
            (1_000_000, 1, 1, 1e-6),
            (100_000, 3, 10, 0.000_299_973_000_450_018_9),
        ] {
            let found = pass_at_k(samples, correct, k).unwrap();
            assert!((found / expected - 1.0).abs() < 4e-16, "{found:e} is not {expected:e}");
        }
    }

    /// Suites of up to 10,000 samples, by the same snippet. Over 400 random counts the largest relative
    /// error was 4e-16.
    #[test]
    fn ten_thousand_samples_cost_no_digit() {
        for (samples, correct, k, expected) in [
            (10_000, 1, 1, 0.000_1),
            (10_000, 3, 10, 0.002_997_300_450_189_047_5),
            (10_000, 10, 3, 0.002_997_300_450_189_047_5),
            (10_000, 5_000, 1, 0.5),
            (10_000, 2, 5_000, 0.750_025_002_500_250_1),
            (10_000, 9_990, 5, 0.999_999_999_999_999_7),
            (10_000, 17, 100, 0.157_172_725_082_568_4),
            (9_999, 100, 17, 0.157_187_222_519_801_2),
            (10_000, 1_234, 2, 0.231_583_258_325_832_57),
            (10_000, 40, 250, 0.637_495_238_504_775_5),
            (7_919, 3, 1_000, 0.333_047_079_457_123_75),
            (5_000, 1, 2, 0.000_4),
            (2_048, 1_024, 4, 0.937_683_150_128_460_4),
            (200, 1, 100, 0.5),
            (200, 199, 1, 0.995),
        ] {
            let found = pass_at_k(samples, correct, k).unwrap();
            assert!((found / expected - 1.0_f64).abs() < 1e-12, "{found:e} is not {expected:e}");
        }
    }

    #[test]
    fn what_is_no_estimate_is_refused() {
        assert_eq!(pass_at_k(5, 0, 0), Err(PassAtKError::Zero));
        assert_eq!(pass_at_k(5, 0, 10), Err(PassAtKError::Samples { k: 10, samples: 5 }));
        assert_eq!(pass_at_k(5, 6, 1), Err(PassAtKError::Correct { correct: 6, samples: 5 }));
        assert_eq!(
            pass_at_k(5, 0, 10).unwrap_err().to_string(),
            "pass@10 needs 10 samples and there are 5; sample more or ask for a smaller k"
        );
    }

    proptest! {
        #[test]
        fn more_right_samples_and_more_tries_never_hurt(
            samples in 1..300_u64, correct in 0..300_u64, k in 1..300_u64,
        ) {
            let (correct, k) = (correct.min(samples), k.min(samples));
            let found = pass_at_k(samples, correct, k).unwrap();
            prop_assert!((0.0..=1.0).contains(&found));
            prop_assert_eq!(found == 0.0, correct == 0);
            if correct < samples {
                prop_assert!(pass_at_k(samples, correct + 1, k).unwrap() >= found);
            }
            if k < samples {
                prop_assert!(pass_at_k(samples, correct, k + 1).unwrap() >= found - 1e-15);
            }
        }
    }
}
