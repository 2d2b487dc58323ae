//! The twin of [`crate::head`]: rows of logits, each by one thread.

#![expect(unsafe_code, reason = "one number of several slices for each row")]

use std::ops::Range;

use super::shared::Shared;
use super::threads::Threads;
use super::wide::{LANES, exp, fold, largest, wide};
use crate::head::Signal;

/// Numbers that are carried along for a row: the largest logit, `Σ e` and `Σ e·(l-t)`.
pub(crate) const CARRIED: usize = 3;

/// Adds some tokens of the vocabulary to what is carried; the first ones begin it. Where the target
/// is among them, its logit is left in `logp`.
pub(crate) fn carry(
    threads: &Threads,
    (carried, logp): (&mut [f32], &mut [f32]),
    (logits, targets, tokens): (&[f32], &[u32], Range<usize>),
) {
    let (count, first) = (tokens.len(), tokens.start == 0);
    let logp = Shared::new(logp);
    threads.pieces(carried, CARRIED, |row, carried| {
        let logits = &logits[row * count..][..count];
        let new = wide(
            #[inline(always)]
            || sums(logits),
        );
        let all = if first { new } else { joined([carried[0], carried[1], carried[2]], new) };
        carried.copy_from_slice(&all);
        let target = targets[row] as usize;
        if tokens.contains(&target) {
            // SAFETY: one number for each row.
            unsafe { logp.put(row, logits[target - tokens.start]) };
        }
    });
}

/// What is carried, as what is known of each row.
pub(crate) fn finish(carried: &[f32], (logp, entropy, lse): (&mut [f32], &mut [f32], &mut [f32])) {
    let (carried, _) = carried.as_chunks::<CARRIED>();
    for (row, carried) in carried.iter().enumerate() {
        (lse[row], entropy[row]) = known(*carried);
        logp[row] -= lse[row];
    }
}

/// `lse` and entropy of a row of logits.
#[inline(always)]
pub(crate) fn spread(logits: &[f32]) -> (f32, f32) {
    known(sums(logits))
}

/// `lse` and entropy.
#[inline(always)]
fn known([top, sum, weighted]: [f32; CARRIED]) -> (f32, f32) {
    let log_sum = sum.ln();
    (top + log_sum, log_sum - weighted / sum)
}

/// Both sums, by the larger of their largest logits.
fn joined(a: [f32; CARRIED], b: [f32; CARRIED]) -> [f32; CARRIED] {
    let top = if a[0] > b[0] { a[0] } else { b[0] };
    let [(a_sum, a_weighted), (b_sum, b_weighted)] = [a, b].map(|[own, sum, weighted]| {
        let shift = own - top;
        let factor = exp(shift);
        // A shift of minus infinity would make a number of nothing out of a sum of zero.
        let moved = if factor > 0.0 { shift.mul_add(sum, weighted) } else { 0.0 };
        (factor * sum, factor * moved)
    });
    [top, a_sum + b_sum, a_weighted + b_weighted]
}

#[inline(always)]
fn sums(logits: &[f32]) -> [f32; CARRIED] {
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
    [top, fold(sum), fold(weighted)]
}

/// Turns logits of some tokens into their gradients.
pub(crate) fn backward(
    threads: &Threads,
    logits: &mut [f32],
    ((signal, targets, scale), tokens): ((Signal<'_>, &[u32], f32), Range<usize>),
) {
    threads.pieces(logits, tokens.len(), |row, logits| {
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
        let target = targets[row] as usize;
        if tokens.contains(&target) {
            logits[target - tokens.start] += a;
        }
    });
}
