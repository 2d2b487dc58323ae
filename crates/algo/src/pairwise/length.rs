//! How much scores follow length.
//!
//! Which reply of a pair stands first is a convention, so each pair counts in both orders; the means
//! are then 0, and the correlation of leads `d` with differences of length `l` is
//!
//! ```text
//! r = Σ d l / √(Σ d² · Σ l²)        r² is the part of the leads' variance that length explains
//! ```
//!
//! The same with `1` in the place of `d` says how much the labels follow length: where preferred replies
//! are longer, good scores follow length too. A reward model that has learnt length instead of quality
//! follows it more than the labels do, or has nothing but labels that follow it; and it is wrong where
//! the shorter reply is the better one.

use super::ScoredPair;
use crate::number;

/// How much scores follow length.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LengthBias {
    /// The correlation of the lead of a pair with the difference of its lengths in tokens; 0 where all
    /// lengths, or all scores, are equal.
    pub correlation: f64,
    /// The part of the variance of leads that differences of length explain.
    pub explained: f64,
    /// The correlation of the labels with the difference of lengths.
    pub label_correlation: f64,
    /// Pairs whose chosen reply is the longer one.
    pub longer: Half,
    /// Pairs whose chosen reply is the shorter one.
    pub shorter: Half,
}

/// Some of the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Half {
    /// How many.
    pub pairs: u64,
    /// The part of them in the right order; 0 of none.
    pub accuracy: f64,
}

impl LengthBias {
    /// That of pairs with finite scores.
    pub(super) fn of(pairs: &[ScoredPair]) -> Self {
        let correlation = correlation(pairs, ScoredPair::lead);
        Self {
            correlation,
            explained: correlation * correlation,
            label_correlation: self::correlation(pairs, |_| 1.0),
            longer: Half::of(pairs, |longer| longer > 0.0),
            shorter: Half::of(pairs, |longer| longer < 0.0),
        }
    }
}

impl Half {
    fn of(pairs: &[ScoredPair], is_in: impl Fn(f64) -> bool) -> Self {
        let hits: Vec<f64> =
            pairs.iter().filter(|pair| is_in(pair.longer())).map(ScoredPair::hit).collect();
        let count = hits.len() as u64;
        Self { pairs: count, accuracy: hits.iter().sum::<f64>() / number(count.max(1)) }
    }
}

/// The correlation of something of a pair with its difference of lengths, each pair in both orders.
fn correlation(pairs: &[ScoredPair], of: impl Fn(&ScoredPair) -> f64) -> f64 {
    // In units of the largest number, so that no square overflows.
    let unit = |of: &dyn Fn(&ScoredPair) -> f64| {
        pairs.iter().map(|pair| of(pair).abs()).fold(0.0, f64::max)
    };
    let (value_unit, length_unit) = (unit(&of), unit(&ScoredPair::longer));
    if value_unit == 0.0 || length_unit == 0.0 {
        return 0.0;
    }
    let (mut both, mut values, mut lengths) = (0.0, 0.0, 0.0);
    for pair in pairs {
        let (value, length) = (of(pair) / value_unit, pair.longer() / length_unit);
        both += value * length;
        values += value * value;
        lengths += length * length;
    }
    (both / (values * lengths).sqrt()).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::pair;
    use super::*;
    use crate::testing::assert_near;

    fn of(lead: f64, chosen_tokens: u64, rejected_tokens: u64) -> ScoredPair {
        ScoredPair { chosen_tokens, rejected_tokens, ..pair(lead, 0.0) }
    }

    /// Pearson's correlation of every pair in both orders, as it is written down.
    fn slow(pairs: &[ScoredPair]) -> f64 {
        let both: Vec<(f64, f64)> = pairs
            .iter()
            .flat_map(|pair| [1.0, -1.0].map(|sign| (sign * pair.lead(), sign * pair.longer())))
            .collect();
        let count = number(both.len() as u64);
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| both.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        let covariance = mean(&|pair| (pair.0 - x) * (pair.1 - y));
        let deviations =
            mean(&|pair| (pair.0 - x).powi(2)).sqrt() * mean(&|pair| (pair.1 - y).powi(2)).sqrt();
        covariance / deviations
    }

    #[test]
    fn it_is_pearsons_of_both_orders() {
        let pairs = [of(1.0, 12, 10), of(-0.5, 9, 13), of(0.25, 8, 20), of(2.0, 30, 31)];
        let found = LengthBias::of(&pairs);
        assert_near(found.correlation, slow(&pairs));
        assert_near(found.explained, found.correlation.powi(2));
        let turned = pairs.map(|pair| ScoredPair {
            chosen: pair.rejected,
            rejected: pair.chosen,
            chosen_tokens: pair.rejected_tokens,
            rejected_tokens: pair.chosen_tokens,
            ..pair
        });
        assert_near(LengthBias::of(&turned).correlation, found.correlation);
        // Differences 2, -4, -12, -1.
        assert_near(found.label_correlation, -15.0 / (4.0_f64 * 165.0).sqrt());
    }

    #[test]
    fn scores_that_are_lengths_are_wrong_where_the_better_reply_is_the_shorter() {
        let pairs = [of(3.0, 13, 10), of(2.0, 12, 10), of(-4.0, 6, 10), of(0.0, 7, 7)];
        let found = LengthBias::of(&pairs);
        assert_near(found.correlation, 1.0);
        assert_eq!(found.longer, Half { pairs: 2, accuracy: 1.0 });
        assert_eq!(found.shorter, Half { pairs: 1, accuracy: 0.0 });
    }

    #[test]
    fn where_nothing_differs_nothing_is_followed() {
        assert_near(LengthBias::of(&[of(1.0, 5, 5), of(2.0, 6, 6)]).correlation, 0.0);
        assert_near(LengthBias::of(&[of(0.0, 5, 6)]).correlation, 0.0);
        assert_near(LengthBias::of(&[of(1e300, 5, 2), of(1e300, 9, 6)]).correlation, 1.0);
    }
}
