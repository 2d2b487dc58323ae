//! 95 % intervals of pairs that share prompts.
//!
//! Means resample prompts, each with all its pairs (the cluster bootstrap: A. C. Davison and D. V.
//! Hinkley, *Bootstrap Methods*, section 3.8). A part of pairs has Wilson's interval, which is not
//! empty where all pairs are right, with the effective number of pairs
//!
//! ```text
//! n = p (1 - p) / v        v = C/(C-1) · Σ prompts (Σ pairs (x - p))² / N²
//! ```
//!
//! at most `N`: what the pairs of `C` prompts tell, in independent pairs (Korn and Graubard, *Survey
//! Methodology* 1998). Where all are right or all wrong, a prompt is worth one pair.

use std::collections::BTreeMap;

use whetstone_core::{Seed, SplitMix};

use super::ScoredPair;
use crate::number;

/// Resamples that an interval is made of.
pub(crate) const RESAMPLES: u64 = 1000;
/// The quantile of the normal distribution that leaves 2.5 % above.
const NORMAL: f64 = 1.959_963_984_540_054;
/// The part of resamples below an interval, and above it.
const TAIL: f64 = 0.025;

/// A figure with its 95 % interval; its ends are infinite where nothing tells how far the figure may be off.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The middle 95 % of figures of `clusters` resampled clusters, with the figure itself. One cluster is drawn each time,
    /// and says nothing of others.
    pub(crate) fn of_quantiles(value: f64, mut resampled: Vec<f64>, clusters: usize) -> Self {
        if clusters < 2 {
            return Self { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        resampled.sort_unstable_by(f64::total_cmp);
        let low = quantile(&resampled, TAIL).min(value);
        Self { value, low, high: quantile(&resampled, 1.0 - TAIL).max(value) }
    }
}

/// The places of the pairs of each prompt.
pub(super) fn by_prompt(pairs: &[ScoredPair]) -> Vec<Vec<usize>> {
    let mut prompts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        prompts.entry(pair.prompt).or_default().push(at);
    }
    prompts.into_values().collect()
}

/// Figures of resampled prompts. Every stream begins at a constant: nobody can try seeds until an
/// interval pleases.
pub(super) fn resampled<const N: usize>(
    pairs: &[ScoredPair],
    prompts: &[Vec<usize>],
    figures: impl Fn(&[&ScoredPair]) -> [f64; N],
) -> Vec<[f64; N]> {
    let mut drawn = Vec::with_capacity(pairs.len());
    let resample = |at: u64| {
        let mut random = SplitMix::new(Seed::new(0).derive("pairs", at));
        drawn.clear();
        for _ in prompts {
            let prompt = &prompts[random.below(prompts.len())];
            drawn.extend(prompt.iter().map(|&at| &pairs[at]));
        }
        figures(&drawn)
    };
    (0..RESAMPLES).map(resample).collect()
}

/// The part of pairs in the right order.
pub(super) fn wilson(pairs: &[ScoredPair], prompts: &[Vec<usize>]) -> Interval {
    let hits: Vec<f64> = pairs.iter().map(ScoredPair::hit).collect();
    let count = number(hits.len().max(1) as u64);
    let p = hits.iter().sum::<f64>() / count;
    let n = effective(&hits, p, prompts).min(count);
    let t = NORMAL * NORMAL / n;
    let middle = (p + t / 2.0) / (1.0 + t);
    let half = (t * (p * (1.0 - p) + t / 4.0)).sqrt() / (1.0 + t);
    // Rounding must not exclude the observed part.
    let (low, high) = ((middle - half).clamp(0.0, p), (middle + half).clamp(p, 1.0));
    Interval { value: p, low, high }
}

/// The number of independent pairs that the pairs of prompts are worth.
fn effective(hits: &[f64], p: f64, prompts: &[Vec<usize>]) -> f64 {
    let (count, clusters) = (number(hits.len().max(1) as u64), number(prompts.len().max(1) as u64));
    let of = |prompt: &Vec<usize>| prompt.iter().map(|&at| hits[at] - p).sum::<f64>().powi(2);
    let squares: f64 = prompts.iter().map(of).sum();
    let variance = squares * clusters / (clusters - 1.0).max(1.0) / (count * count);
    // One that is all but 0 is a rounding error.
    if variance < 1e-15 { clusters } else { p * (1.0 - p) / variance }
}

/// The quantile of a sorted list, with linear interpolation.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside the list")]
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = part * number(last as u64);
    let below = place as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - number(below as u64))
}

#[cfg(test)]
mod tests {
    use super::super::{figures, tests::pair};
    use super::*;
    use crate::testing::assert_near;

    fn hits(pattern: &[(usize, bool)]) -> Vec<ScoredPair> {
        let of = |&(prompt, right)| ScoredPair {
            prompt,
            ..if right { pair(1.0, 0.0) } else { pair(0.0, 1.0) }
        };
        pattern.iter().map(of).collect()
    }

    fn interval(pattern: &[(usize, bool)]) -> Interval {
        let pairs = hits(pattern);
        wilson(&pairs, &by_prompt(&pairs))
    }

    /// Wilson's own interval of 8 of 10, from the formula with n = 9: that of independent pairs divides
    /// their variance by one less.
    #[test]
    fn independent_pairs_have_wilsons_interval() {
        let pattern: Vec<(usize, bool)> = (0..10).map(|at| (at, at < 8)).collect();
        let found = interval(&pattern);
        let (p, n, z) = (0.8_f64, 9.0, NORMAL);
        let whole = 1.0 + z * z / n;
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        assert_near(found.value, p);
        assert_near(found.low, (p + z * z / (2.0 * n) - half) / whole);
        assert_near(found.high, (p + z * z / (2.0 * n) + half) / whole);
    }

    /// Ten prompts whose eight pairs agree tell as much as ten pairs.
    #[test]
    fn pairs_that_share_their_luck_count_once() {
        let alone: Vec<(usize, bool)> = (0..10).map(|at| (at, at < 7)).collect();
        let shared: Vec<(usize, bool)> =
            alone.iter().flat_map(|&(prompt, right)| vec![(prompt, right); 8]).collect();
        let (one, other) = (interval(&alone), interval(&shared));
        assert_near(one.low, other.low);
        assert_near(one.high, other.high);
        let all_right: Vec<(usize, bool)> =
            shared.iter().map(|&(prompt, _)| (prompt, true)).collect();
        assert!(interval(&all_right).low < 0.75, "ten prompts prove no more");
    }

    #[test]
    fn pairs_of_one_prompt_say_nothing_of_others() {
        let one = figures(&hits(&[(7, true), (7, true), (7, false)])).unwrap();
        for interval in [one.margin, one.calibration_error, one.brier] {
            assert!(interval.low.is_infinite() && interval.high.is_infinite(), "{interval:?}");
        }
        assert!(one.accuracy.low < 0.1 && one.accuracy.high > 0.9, "{:?}", one.accuracy);
        let two = figures(&hits(&[(7, true), (8, false)])).unwrap();
        assert!(two.margin.low < two.margin.high && two.margin.high.is_finite(), "{two:?}");
    }

    /// Of 200 sets of 40 prompts with three pairs each, whose luck is partly the prompt's, 190 should have the
    /// truth in their intervals; three standard errors are nine.
    #[test]
    fn intervals_hold_what_they_promise() {
        let (mut accuracy, mut margin) = (0, 0);
        for set in 0..200 {
            let mut random = SplitMix::new(Seed::new(9).derive("sets", set));
            let mut unit = || number(random.next_u64() >> 11) / number(1 << 53);
            let pairs: Vec<ScoredPair> = (0..40)
                .flat_map(|prompt| {
                    // The prompt's own part, and the pair's: both even on ±1, around a lead of 0.5.
                    let shared = 2.0 * unit() - 1.0;
                    let mut of = || 0.5 + shared + 2.0 * unit() - 1.0;
                    [of(), of(), of()].map(|lead| ScoredPair { prompt, ..pair(lead, 0.0) })
                })
                .collect();
            let found = figures(&pairs).unwrap();
            // The sum of two even numbers is above -1/2 with chance 1 - (3/2)²/8 = 23/32.
            let holds = |interval: Interval, truth: f64| {
                usize::from(interval.low <= truth && truth <= interval.high)
            };
            accuracy += holds(found.accuracy, 23.0 / 32.0);
            margin += holds(found.margin, 0.5);
        }
        for held in [accuracy, margin] {
            assert!((181..=199).contains(&held), "{held} of 200");
        }
    }
}
