//! Attention of one sequence, one query at a time.

use whetstone_kernels::attention::Shape;

/// `o` and `lse` for each token and query head.
pub(crate) fn attention(qkv: &[f64], shape: &Shape) -> (Vec<f64>, Vec<f64>) {
    let (size, width) = (shape.size, shape.packed_width());
    let head = |token: usize, head: usize| &qkv[token * width + head * size..][..size];
    let (mut out, mut all_lse) = (Vec::new(), Vec::new());
    for token in 0..qkv.len() / width {
        for query in 0..shape.heads {
            let key = shape.heads + query / (shape.heads / shape.kv_heads);
            let score = |before: usize| {
                let pairs = head(token, query).iter().zip(head(before, key));
                f64::from(shape.scale) * pairs.map(|(q, k)| q * k).sum::<f64>()
            };
            let scores: Vec<f64> = (0..=token).map(score).collect();
            let lse = log_sum_exp(&scores);
            let weights: Vec<f64> = scores.iter().map(|s| (s - lse).exp()).collect();
            let place = |at: usize| {
                let values = (0..=token).map(|before| head(before, key + shape.kv_heads)[at]);
                values.zip(&weights).map(|(v, p)| v * p).sum::<f64>()
            };
            out.extend((0..size).map(place));
            all_lse.push(lse);
        }
    }
    (out, all_lse)
}

/// `ln Σ e^x`.
pub(crate) fn log_sum_exp(x: &[f64]) -> f64 {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + x.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}
