//! Whether a lead of scores means what it says: confidence beside accuracy.

use super::ScoredPair;
use crate::bradley_terry::sigmoid;
use crate::number;

/// Bins of equal width between a confidence of 0.5 and 1.
pub const BINS: usize = 10;

/// Pairs of about one confidence.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bin {
    /// Pairs in it.
    pub pairs: u64,
    /// Their mean confidence.
    pub confidence: f64,
    /// The part of them in the right order.
    pub accuracy: f64,
}

/// The reliability of each bin, those without pairs included.
pub(super) fn bins(pairs: &[&ScoredPair]) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); BINS];
    for pair in pairs {
        let confidence = sigmoid(pair.lead().abs());
        let bin = &mut bins[place(confidence)];
        bin.pairs += 1;
        bin.confidence += confidence;
        bin.accuracy += pair.hit();
    }
    for bin in bins.iter_mut().filter(|bin| bin.pairs > 0) {
        bin.confidence /= number(bin.pairs);
        bin.accuracy /= number(bin.pairs);
    }
    bins
}

/// The expected calibration error.
pub(super) fn error(pairs: &[&ScoredPair]) -> f64 {
    let all = number(pairs.len().max(1) as u64);
    let of = |bin: &Bin| number(bin.pairs) / all * (bin.accuracy - bin.confidence).abs();
    bins(pairs).iter().map(of).sum()
}

/// The bin of a confidence.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the bins")]
fn place(confidence: f64) -> usize {
    let part = (confidence - 0.5).clamp(0.0, 0.5) * 2.0;
    ((part * number(BINS as u64)) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::pair;
    use super::*;
    use crate::testing::assert_near;

    /// The lead that stands for a probability.
    fn lead(probability: f64) -> f64 {
        (probability / (1.0 - probability)).ln()
    }

    /// Ten pairs that say 0.82 and four that say 0.58; of the first eight are right, of the second one.
    #[test]
    fn the_gap_of_each_bin_counts_by_its_pairs() {
        let of = |probability: f64, right: usize, all: usize| {
            (0..all).map(move |at| {
                let lead = lead(probability);
                pair(if at < right { lead } else { -lead }, 0.0)
            })
        };
        let pairs: Vec<ScoredPair> = of(0.82, 8, 10).chain(of(0.58, 1, 4)).collect();
        let all: Vec<&ScoredPair> = pairs.iter().collect();
        let found = bins(&all);
        assert_eq!(
            found.iter().map(|bin| bin.pairs).collect::<Vec<_>>()[1..7],
            [4, 0, 0, 0, 0, 10]
        );
        assert_near(found[6].accuracy, 0.8);
        assert_near(found[6].confidence, 0.82);
        assert_near(error(&all), (10.0 * 0.02 + 4.0 * 0.33) / 14.0);
    }

    #[test]
    fn both_ends_have_a_bin() {
        assert_eq!((place(0.5), place(0.549), place(0.551), place(1.0)), (0, 0, 1, 9));
    }
}
