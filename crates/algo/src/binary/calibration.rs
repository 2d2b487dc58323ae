//! Whether a probability means what it says: the share of positive labels beside it.

use super::Weighted;
use crate::number;

/// Bins of equal width between a probability of 0 and 1.
pub const BINS: usize = 10;

/// Examples of about one probability.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bin {
    /// Examples in it, by weight.
    pub examples: f64,
    /// Their mean probability.
    pub probability: f64,
    /// The share of them with a positive label.
    pub positives: f64,
}

/// The reliability of each bin, those without examples included.
pub(super) fn bins(examples: &[Weighted]) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); BINS];
    for Weighted { example, weight } in examples {
        let probability = example.probability();
        let bin = &mut bins[place(probability)];
        bin.examples += weight;
        bin.probability += weight * probability;
        bin.positives += weight * example.label_value();
    }
    for bin in bins.iter_mut().filter(|bin| bin.examples > 0.0) {
        bin.probability /= bin.examples;
        bin.positives /= bin.examples;
    }
    bins
}

/// The expected calibration error.
pub(super) fn error(examples: &[Weighted]) -> f64 {
    let all: f64 = examples.iter().map(|weighted| weighted.weight).sum();
    let of = |bin: &Bin| bin.examples / all * (bin.positives - bin.probability).abs();
    bins(examples).iter().map(of).sum()
}

/// The bin of a probability.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the bins")]
fn place(probability: f64) -> usize {
    ((probability.clamp(0.0, 1.0) * number(BINS as u64)) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn both_ends_have_a_bin() {
        assert_eq!([0.0, 0.099, 0.101, 0.999, 1.0].map(place), [0, 0, 1, 9, 9]);
    }
}
