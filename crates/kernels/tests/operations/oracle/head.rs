//! Log-probabilities and entropies from whole rows of logits.

use super::attention::log_sum_exp;
use super::linear;

/// `logp` of each target and the entropy of each row.
pub(crate) fn head(
    hidden: &[f64],
    weight: &[f64],
    targets: &[u32],
    inverse_temperature: f64,
) -> (Vec<f64>, Vec<f64>) {
    let width = hidden.len() / targets.len();
    let logits = linear(hidden, weight, width);
    let rows = logits.chunks(weight.len() / width).zip(targets);
    rows.map(|(logits, target)| {
        let scaled: Vec<f64> = logits.iter().map(|l| l * inverse_temperature).collect();
        let lse = log_sum_exp(&scaled);
        let logps = scaled.iter().map(|l| l - lse);
        (scaled[*target as usize] - lse, -logps.map(|l| l.exp() * l).sum::<f64>())
    })
    .unzip()
}
