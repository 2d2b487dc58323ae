//! Best of N: the chance that the sample with the highest score of `N` is right, from `n` scored samples.
//!
//! ```text
//! Σ right_i · C(n-i, N-1) / C(n, N)      samples sorted by score, the highest first, i from 1
//! ```
//!
//! The weight of sample `i` is the chance that it is the best of `N` drawn without putting back, so the sum is the
//! mean over all choices of `N` of the `n` samples: unbiased, as pass@k is. Samples of one score share the mean of
//! their results, as if one of them were chosen by chance. With one score for all it is pass@1, and with a score
//! that knows what is right it is pass@N.

use crate::number;
use crate::pass_at_k::PassAtKError;

/// A sample with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredSample {
    /// Its score; the highest is chosen.
    pub score: f64,
    /// Whether it is right.
    pub passed: bool,
}

/// The chance that the best of `count` samples is right.
///
/// # Errors
///
/// If `count` is 0 or more than there are samples.
pub fn best_of(samples: &[ScoredSample], count: u64) -> Result<f64, PassAtKError> {
    let all = samples.len() as u64;
    if count == 0 {
        return Err(PassAtKError::Zero);
    }
    if count > all {
        return Err(PassAtKError::Samples { k: count, samples: all });
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(|one, other| other.score.total_cmp(&one.score));
    let (mut chance, mut rank) = (number(count) / number(all), 1);
    let mut sum = 0.0;
    for tied in sorted.chunk_by(|one, other| one.score.total_cmp(&other.score).is_eq()) {
        let right = tied.iter().filter(|sample| sample.passed).count() as u64;
        let mut weight = 0.0;
        for _ in tied {
            weight += chance;
            // C(n-i-1, N-1) / C(n-i, N-1); behind the last sample that can be the best it is 0.
            let behind = all - rank;
            chance *= number(behind.saturating_sub(count - 1)) / number(behind.max(1));
            rank += 1;
        }
        sum += weight * number(right) / number(tied.len() as u64);
    }
    Ok(sum.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pass_at_k::pass_at_k;

    fn samples(scores: &[(u8, bool)]) -> Vec<ScoredSample> {
        let of = |&(score, passed): &(u8, bool)| ScoredSample { score: f64::from(score), passed };
        scores.iter().map(of).collect()
    }

    /// The mean over every choice of `count` samples, of the mean result of the best ones in it.
    fn slowly(samples: &[ScoredSample], count: u32) -> f64 {
        let (mut sum, mut choices) = (0.0, 0.0);
        for mask in 0_u32..1 << samples.len() {
            if mask.count_ones() != count {
                continue;
            }
            let chosen: Vec<&ScoredSample> = (0..samples.len())
                .filter(|at| mask >> at & 1 == 1)
                .map(|at| &samples[at])
                .collect();
            let best = chosen.iter().map(|sample| sample.score).fold(f64::NEG_INFINITY, f64::max);
            let best: Vec<_> = chosen
                .iter()
                .filter(|sample| sample.score.total_cmp(&best).is_eq())
                .map(|sample| f64::from(u8::from(sample.passed)))
                .collect();
            sum += best.iter().sum::<f64>() / number(best.len() as u64);
            choices += 1.0;
        }
        sum / choices
    }

    #[test]
    fn the_best_of_two_of_three() {
        // Of {0,1}, {0,2}, {1,2} the first is best twice and the second once.
        let found = samples(&[(9, true), (5, false), (1, true)]);
        assert!((best_of(&found, 2).unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert!((best_of(&found, 3).unwrap() - 1.0).abs() < 1e-12);
        assert!(matches!(best_of(&found, 4), Err(PassAtKError::Samples { k: 4, samples: 3 })));
        assert_eq!(best_of(&found, 0), Err(PassAtKError::Zero));
    }

    proptest! {
        /// Distinct scores: every choice has one best sample.
        #[test]
        fn it_is_the_mean_over_all_choices(
            passed in prop::collection::vec(any::<bool>(), 1..9),
            count in 1_u32..9,
        ) {
            prop_assume!(count as usize <= passed.len());
            let scores: Vec<(u8, bool)> = (0_u8..).map(|at| at.wrapping_mul(37)).zip(passed).collect();
            let samples = samples(&scores);
            let found = best_of(&samples, u64::from(count)).unwrap();
            prop_assert!((found - slowly(&samples, count)).abs() < 1e-12);
        }

        /// Tied scores share their results whatever is chosen with them: the mean over choices again.
        #[test]
        fn ties_are_broken_by_chance(
            scores in prop::collection::vec((0_u8..3, any::<bool>()), 1..8),
            count in 1_u32..8,
        ) {
            prop_assume!(count as usize <= scores.len());
            let samples = samples(&scores);
            let found = best_of(&samples, u64::from(count)).unwrap();
            prop_assert!((found - slowly(&samples, count)).abs() < 1e-12);
        }

        #[test]
        fn a_score_that_knows_nothing_is_pass_at_1_and_one_that_knows_all_is_pass_at_n(
            passed in prop::collection::vec(any::<bool>(), 1..30),
            count in 1_u64..30,
        ) {
            prop_assume!(count <= passed.len() as u64);
            let right = passed.iter().filter(|passed| **passed).count() as u64;
            let of = |knows: bool| {
                let score = |passed: bool| u8::from(passed && knows);
                let scores: Vec<(u8, bool)> = passed.iter().map(|&p| (score(p), p)).collect();
                best_of(&samples(&scores), count).unwrap()
            };
            let all = passed.len() as u64;
            prop_assert!((of(false) - pass_at_k(all, right, 1).unwrap()).abs() < 1e-9);
            prop_assert!((of(true) - pass_at_k(all, right, count).unwrap()).abs() < 1e-9);
        }
    }
}
