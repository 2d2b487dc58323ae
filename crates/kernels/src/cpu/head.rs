//! The twin of [`crate::head`]: rows of logits, each by one thread.

#![expect(unsafe_code, reason = "one number of three slices for each row")]

use super::shared::Shared;
use super::threads::Threads;
use super::wide::{LANES, exp, fold, largest, wide};
use crate::head::{Output, Signal};

pub(crate) fn forward(
    threads: &Threads,
    mut output: Output<'_>,
    (logits, targets): (&[f32], &[u32]),
) {
    let vocabulary = logits.len() / targets.len().max(1);
    let entropy = Shared::new(output.entropy.host());
    let lse = Shared::new(output.lse.host());
    threads.pieces(output.logp.host(), 1, |row, logp| {
        let logits = &logits[row * vocabulary..][..vocabulary];
        let (row_lse, row_entropy) = wide(
            #[inline(always)]
            || spread(logits),
        );
        // SAFETY: one number for each row.
        unsafe { lse.put(row, row_lse) };
        // SAFETY: the same.
        unsafe { entropy.put(row, row_entropy) };
        logp[0] = logits[targets[row] as usize] - row_lse;
    });
}

/// `lse` and entropy of a row of logits.
#[inline(always)]
pub(crate) fn spread(logits: &[f32]) -> (f32, f32) {
    let top = largest(logits);
    let (mut sum, mut weighted) = ([0.0f32; LANES], [0.0f32; LANES]);
    let (chunks, rest) = logits.as_chunks::<LANES>();
    for chunk in chunks {
        for at in 0..LANES {
            let e = exp(chunk[at] - top);
            sum[at] += e;
            weighted[at] = e.mul_add(chunk[at] - top, weighted[at]);
        }
    }
    for (at, logit) in rest.iter().enumerate() {
        let e = exp(logit - top);
        sum[at] += e;
        weighted[at] = e.mul_add(logit - top, weighted[at]);
    }
    let (sum, weighted) = (fold(sum), fold(weighted));
    let log_sum = sum.ln();
    (top + log_sum, log_sum - weighted / sum)
}

/// Turns logits into their gradients.
pub(crate) fn backward(
    threads: &Threads,
    logits: &mut [f32],
    (signal, targets, scale): (Signal<'_>, &[u32], f32),
) {
    let vocabulary = logits.len() / targets.len().max(1);
    threads.pieces(logits, vocabulary, |row, logits| {
        let (lse, entropy) = (signal.lse.host()[row], signal.entropy.host()[row]);
        let a = signal.dlogp.host()[row] * scale;
        let b = signal.dentropy.host()[row] * scale;
        wide(
            #[inline(always)]
            || {
                for l in logits.iter_mut() {
                    let logp = *l - lse;
                    *l = -exp(logp) * (a + b * (logp + entropy));
                }
            },
        );
        logits[targets[row] as usize] += a;
    });
}
