//! How well scores order preference pairs: accuracy, lead, calibration and the part of length in it.
//!
//! With the lead `d = chosen - rejected` of a pair and the probability `p = σ(d)` that it stands for:
//!
//! ```text
//! accuracy      mean of [d > 0], a tie counts half
//! lead          mean of d
//! Brier         mean of (1 - p)²
//! calibration   Σ bins (n/N) · |accuracy - mean confidence|     confidence = max(p, 1 - p)
//! ```
//!
//! The calibration error has ten bins of equal width from 0.5 to 1 (C. Guo et al., arXiv:1706.04599). It
//! is above 0 even for perfect scores of few pairs: compare it with its interval, not with 0.
//!
//! Pairs of one prompt share their luck, so intervals resample prompts and not pairs; that of the
//! accuracy is Wilson's, with the number of pairs that the prompts are worth ([`interval`]).

mod calibration;
mod interval;
mod length;

pub use calibration::{BINS, Bin};
pub use interval::Interval;
pub(crate) use interval::RESAMPLES;
pub use length::{Half, LengthBias};

use crate::bradley_terry::sigmoid;
use crate::error::entries;
use crate::{AlgoError, number};

/// A pair with its scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredPair {
    /// The score of the chosen reply.
    pub chosen: f64,
    /// The score of the rejected reply.
    pub rejected: f64,
    /// Tokens of the chosen reply.
    pub chosen_tokens: u64,
    /// Tokens of the rejected reply.
    pub rejected_tokens: u64,
    /// The number of its prompt: pairs with equal numbers are not independent.
    pub prompt: usize,
}

/// What scores are worth, with 95 % intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Pairs.
    pub pairs: u64,
    /// Different prompts among them.
    pub prompts: u64,
    /// The part of pairs in the right order.
    pub accuracy: Interval,
    /// The mean lead of the chosen reply.
    pub margin: Interval,
    /// The expected calibration error.
    pub calibration_error: Interval,
    /// The Brier score.
    pub brier: Interval,
    /// The reliability of each bin of confidence.
    pub reliability: Vec<Bin>,
    /// How much scores follow length.
    pub length: LengthBias,
    /// The mean of all scores.
    pub score_mean: f64,
    /// Their standard deviation.
    pub score_std: f64,
}

impl ScoredPair {
    /// The lead of the chosen reply.
    pub fn lead(&self) -> f64 {
        self.chosen - self.rejected
    }

    /// 1 if the order is right, 0 if it is wrong, and half of that for equal scores.
    pub fn hit(&self) -> f64 {
        match self.lead() {
            lead if lead > 0.0 => 1.0,
            lead if lead < 0.0 => 0.0,
            _ => 0.5,
        }
    }

    /// Tokens that the chosen reply has more.
    #[expect(clippy::cast_precision_loss, reason = "a reply has far fewer than 2^53 tokens")]
    pub fn longer(&self) -> f64 {
        self.chosen_tokens as f64 - self.rejected_tokens as f64
    }
}

/// The figures of pairs.
///
/// # Errors
///
/// If there are none, or a score is not finite.
pub fn figures(pairs: &[ScoredPair]) -> Result<Figures, AlgoError> {
    let scores: Vec<f64> = pairs.iter().flat_map(|pair| [pair.chosen, pair.rejected]).collect();
    entries("score", &scores)?;
    if pairs.is_empty() {
        return Err(AlgoError::Lengths { what: "scored pairs", found: 0, expected: 1 });
    }
    let prompts = interval::by_prompt(pairs);
    let resampled = interval::resampled(pairs, &prompts, |pairs| {
        [mean(pairs, ScoredPair::lead), calibration::error(pairs), mean(pairs, brier)]
    });
    let all: Vec<&ScoredPair> = pairs.iter().collect();
    let between = |value: f64, which: usize| {
        let drawn = resampled.iter().map(|figures| figures[which]).collect();
        Interval::of_quantiles(value, drawn, prompts.len())
    };
    let score_mean = scores.iter().sum::<f64>() / number(scores.len() as u64);
    let squares: f64 = scores.iter().map(|score| (score - score_mean).powi(2)).sum();
    Ok(Figures {
        pairs: pairs.len() as u64,
        prompts: prompts.len() as u64,
        accuracy: interval::wilson(pairs, &prompts),
        margin: between(mean(&all, ScoredPair::lead), 0),
        calibration_error: between(calibration::error(&all), 1),
        brier: between(mean(&all, brier), 2),
        reliability: calibration::bins(&all),
        length: LengthBias::of(pairs),
        score_mean,
        score_std: (squares / number(scores.len() as u64)).sqrt(),
    })
}

fn brier(pair: &ScoredPair) -> f64 {
    (1.0 - sigmoid(pair.lead())).powi(2)
}

fn mean(pairs: &[&ScoredPair], of: impl Fn(&ScoredPair) -> f64) -> f64 {
    pairs.iter().map(|pair| of(pair)).sum::<f64>() / number(pairs.len().max(1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_near;

    pub(super) fn pair(chosen: f64, rejected: f64) -> ScoredPair {
        ScoredPair { chosen, rejected, chosen_tokens: 10, rejected_tokens: 10, prompt: 0 }
    }

    /// Leads 2, -1, 0 and 1 on four prompts.
    #[test]
    fn worked_by_hand() {
        let leads = [(2.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, 0.0)];
        let pairs: Vec<ScoredPair> = (0..)
            .zip(leads)
            .map(|(prompt, (chosen, rejected))| ScoredPair { prompt, ..pair(chosen, rejected) })
            .collect();
        let found = figures(&pairs).unwrap();
        assert_eq!((found.pairs, found.prompts), (4, 4));
        assert_near(found.accuracy.value, 2.5 / 4.0);
        assert_near(found.margin.value, 0.5);
        // p = 0.880797, 0.268941, 0.5, 0.731059.
        let p = [0.880_797_077_977_882_3, 0.268_941_421_369_995_1, 0.5, 0.731_058_578_630_004_9];
        let expected: f64 = p.iter().map(|p| (1.0 - p) * (1.0 - p)).sum::<f64>() / 4.0;
        assert_near(found.brier.value, expected);
        // Scores 2, 0, 0, 1, .5, .5, 1, 0: mean 5/8, squares 6.5 less 8 · 25/64.
        assert_near(found.score_mean, 0.625);
        assert_near(found.score_std, ((6.5 - 8.0 * 0.625 * 0.625) / 8.0_f64).sqrt());
        for interval in [found.accuracy, found.margin, found.brier, found.calibration_error] {
            assert!(interval.low <= interval.value && interval.value <= interval.high);
        }
    }

    #[test]
    fn nothing_and_what_is_not_finite_are_refused() {
        assert!(figures(&[]).is_err());
        let err = figures(&[pair(0.0, 1.0), pair(f64::NAN, 0.0)]).unwrap_err();
        assert_eq!(err.to_string(), "score 2 is NaN; leave it out");
    }
}
