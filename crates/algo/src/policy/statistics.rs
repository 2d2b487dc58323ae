//! Statistics of a policy loss, for metrics.
//!
//! Sums and counts over trained tokens, so that those of micro-batches [merge](Statistics::merge)
//! into those of the step. Ratios are summed as distances from 1: near it, which is where they
//! are, their variance would otherwise be lost in rounding.

use super::clip::Bound;
use super::importance::Importance;
use crate::{Mean, number};

/// Statistics of the trained tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Trained tokens.
    pub tokens: u64,
    /// Those whose ratio the lower bound took hold of.
    pub clipped_low: u64,
    /// Those whose ratio the upper bound took hold of.
    pub clipped_high: u64,
    /// Those whose importance weight the cap took hold of.
    pub truncated: u64,
    /// Those whose log-ratio was clamped.
    pub clamped: u64,
    /// Importance weights against the sampler.
    pub importance: Mean,
    importance_squared: Mean,
    /// Entropies of the predictions, where they were given.
    pub entropy: Mean,
    distance: Mean,
    distance_squared: Mean,
    lowest: f64,
    highest: f64,
}

/// Statistics of one token.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenStatistics {
    pub(super) ratio: f64,
    pub(super) clipped: Option<Bound>,
    pub(super) clamped: bool,
    pub(super) importance: Option<Importance>,
    pub(super) entropy: Option<f64>,
}

impl Default for Statistics {
    fn default() -> Self {
        let none = Mean::default();
        Self {
            tokens: 0,
            clipped_low: 0,
            clipped_high: 0,
            truncated: 0,
            clamped: 0,
            importance: none,
            importance_squared: none,
            entropy: none,
            distance: none,
            distance_squared: none,
            lowest: f64::INFINITY,
            highest: f64::NEG_INFINITY,
        }
    }
}

impl Statistics {
    /// Takes one token in.
    pub(super) fn add(&mut self, seen: TokenStatistics) {
        self.tokens += 1;
        self.clipped_low += u64::from(seen.clipped == Some(Bound::Low));
        self.clipped_high += u64::from(seen.clipped == Some(Bound::High));
        self.clamped += u64::from(seen.clamped);
        if let Some(importance) = seen.importance {
            self.truncated += u64::from(importance.truncated);
            self.importance.add(importance.weight);
            self.importance_squared.add(importance.weight * importance.weight);
        }
        if let Some(entropy) = seen.entropy {
            self.entropy.add(entropy);
        }
        let distance = seen.ratio - 1.0;
        self.distance.add(distance);
        self.distance_squared.add(distance * distance);
        self.lowest = self.lowest.min(seen.ratio);
        self.highest = self.highest.max(seen.ratio);
    }

    /// Takes in what was seen of another micro-batch.
    pub fn merge(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.clipped_low += other.clipped_low;
        self.clipped_high += other.clipped_high;
        self.truncated += other.truncated;
        self.clamped += other.clamped;
        self.importance.merge(other.importance);
        self.importance_squared.merge(other.importance_squared);
        self.entropy.merge(other.entropy);
        self.distance.merge(other.distance);
        self.distance_squared.merge(other.distance_squared);
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
    }

    /// The part of tokens that a bound took hold of.
    pub fn clip_fraction(&self) -> Option<f64> {
        self.fraction(self.clipped_low + self.clipped_high)
    }

    /// The part of tokens whose importance weight was capped.
    pub fn truncated_fraction(&self) -> Option<f64> {
        self.fraction(self.truncated)
    }

    /// Kish's effective sample size as a part of the tokens, `(Σw)² / (n Σw²)`, for the importance weights or, where
    /// there are none, the ratios: what is left of a sample from another policy. 0 where every weight is 0.
    pub fn effective_sample_fraction(&self) -> Option<f64> {
        let weights = self.importance.get().zip(self.importance_squared.get());
        let ratios = || {
            let mean = self.ratio_mean()?;
            Some((mean, mean * mean + self.ratio_std()?.powi(2)))
        };
        let (mean, square) = weights.or_else(ratios)?;
        Some(if square > 0.0 { mean * mean / square } else { 0.0 })
    }

    /// The mean ratio.
    pub fn ratio_mean(&self) -> Option<f64> {
        self.distance.get().map(|distance| 1.0 + distance)
    }

    /// The standard deviation of ratios, that of a population.
    pub fn ratio_std(&self) -> Option<f64> {
        let (mean, square) = (self.distance.get()?, self.distance_squared.get()?);
        Some((square - mean * mean).max(0.0).sqrt())
    }

    /// The lowest and the highest ratio.
    pub fn ratio_range(&self) -> Option<(f64, f64)> {
        (self.tokens > 0).then_some((self.lowest, self.highest))
    }

    fn fraction(&self, count: u64) -> Option<f64> {
        (self.tokens > 0).then(|| number(count) / number(self.tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_near;

    fn seen(ratio: f64, clipped: Option<Bound>) -> TokenStatistics {
        let importance = Importance { weight: ratio / 2.0, truncated: ratio > 2.0 };
        let entropy = (ratio < 2.0).then_some(ratio);
        TokenStatistics {
            ratio,
            clipped,
            clamped: ratio > 2.0,
            importance: Some(importance),
            entropy,
        }
    }

    /// Ratios 1/2, 1, 3/2 and 3: mean 3/2, squares of the distances from it 1 + 1/4 + 0 + 9/4.
    #[test]
    fn worked_by_hand_in_one_batch_and_in_two() {
        let all = [
            seen(0.5, Some(Bound::Low)),
            seen(1.0, None),
            seen(1.5, Some(Bound::High)),
            seen(3.0, Some(Bound::High)),
        ];
        for cut in 0..=4 {
            let (mut found, mut rest) = (Statistics::default(), Statistics::default());
            all[..cut].iter().for_each(|&one| found.add(one));
            all[cut..].iter().for_each(|&one| rest.add(one));
            found.merge(&rest);
            assert_eq!((found.tokens, found.clipped_low, found.clipped_high), (4, 1, 2));
            assert_eq!((found.truncated, found.clamped), (1, 1));
            assert_near(found.clip_fraction().unwrap(), 0.75);
            assert_near(found.truncated_fraction().unwrap(), 0.25);
            assert_near(found.ratio_mean().unwrap(), 1.5);
            assert_near(found.ratio_std().unwrap(), (3.5_f64 / 4.0).sqrt());
            assert_eq!(found.ratio_range(), Some((0.5, 3.0)));
            assert_near(found.importance.get().unwrap(), 0.75);
            // Weights 1/4, 1/2, 3/4 and 3/2: the square of their sum 9 over 4 times the sum of squares 3 1/8.
            assert_near(found.effective_sample_fraction().unwrap(), 9.0 / 12.5);
            assert_near(found.entropy.get().unwrap(), 1.0);
            assert_eq!(found.entropy.count(), 3);
        }
    }

    #[test]
    fn without_weights_the_effective_sample_is_that_of_the_ratios() {
        let mut found = Statistics::default();
        for ratio in [0.5, 1.0, 1.5, 3.0] {
            found.add(TokenStatistics { importance: None, ..seen(ratio, None) });
        }
        // 6² over 4 (1/4 + 1 + 9/4 + 9).
        assert_near(found.effective_sample_fraction().unwrap(), 36.0 / 50.0);
        let mut alike = Statistics::default();
        for _ in 0..3 {
            alike.add(TokenStatistics { importance: None, ..seen(2.0, None) });
        }
        assert_near(alike.effective_sample_fraction().unwrap(), 1.0);
    }

    #[test]
    fn of_nothing_there_are_no_figures() {
        let found = Statistics::default();
        assert_eq!(found.effective_sample_fraction(), None);
        assert_eq!((found.clip_fraction(), found.truncated_fraction()), (None, None));
        assert_eq!(
            (found.ratio_mean(), found.ratio_std(), found.ratio_range()),
            (None, None, None)
        );
    }

    #[test]
    fn a_spread_far_below_rounding_of_one_is_seen() {
        let mut found = Statistics::default();
        for ratio in [1.0 - 1e-10, 1.0 + 1e-10] {
            found.add(seen(ratio, None));
        }
        assert!((found.ratio_std().unwrap() / 1e-10 - 1.0).abs() < 1e-4);
    }
}
