//! The area under the curve of true and false positives, from examples in the order of their logits.

use super::Weighted;

/// The weighted share of pairs of a positive and a negative example in the right order; a tie counts half.
/// None where there is no such pair.
#[expect(clippy::float_cmp, reason = "equal logits are a tie")]
pub(super) fn auc(sorted: &[Weighted]) -> Option<f64> {
    let (mut below, mut pairs, mut positives) = (0.0, 0.0, 0.0);
    for tied in sorted.chunk_by(|one, other| one.example.logit == other.example.logit) {
        let weight = |label: bool| -> f64 {
            let of = tied.iter().filter(|weighted| weighted.example.label == label);
            of.map(|weighted| weighted.weight).sum()
        };
        let (yes, no) = (weight(true), weight(false));
        pairs += yes * (below + no / 2.0);
        below += no;
        positives += yes;
    }
    let all = positives * below;
    (all > 0.0).then(|| pairs / all)
}
