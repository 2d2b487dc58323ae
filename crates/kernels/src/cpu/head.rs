//! The twin of [`crate::head`]: rows of logits, each by one thread.

#![expect(unsafe_code, reason = "one number of several slices for each row")]

use std::ops::Range;

use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::{LANES, exp, fold, largest, with_simd};
use crate::head::Signal;
use crate::linear::Weight;
use crate::matmul::{Matrix, MatrixMut};

/// Numbers that are carried along for a row: the largest logit, `Σ e`, `Σ e·(l-t)`, and the largest
/// logit before the last tokens.
pub(crate) const CARRIED: usize = 4;

/// Without the last.
type Sums = [f32; 3];

/// A target outside the vocabulary would not be in any tile.
pub(crate) fn check(targets: &[u32], vocabulary: usize) {
    let known = |&target: &u32| (target as usize) < vocabulary;
    assert!(targets.iter().all(known), "targets of the vocabulary");
}

/// Numbers of each row that a pass over the vocabulary carries along.
#[derive(Debug)]
pub(crate) struct Carry<'a> {
    /// [`CARRIED`] of them.
    pub(crate) carried: &'a mut [f32],
    /// The logit of the target, once its token was there.
    pub(crate) logp: &'a mut [f32],
}

/// The target of each row, and the tokens of the vocabulary whose logits there are.
#[derive(Debug)]
pub(crate) struct Targets<'a> {
    pub(crate) targets: &'a [u32],
    pub(crate) tokens: Range<usize>,
}

/// Adds some tokens of the vocabulary to what is carried; the first ones begin it. Where the target
/// is among them, its logit is left in `logp`.
pub(crate) fn carry(threads: &Threads, to: Carry<'_>, logits: &[f32], targets: &Targets<'_>) {
    let (Carry { carried, logp }, Targets { targets, tokens }) = (to, targets);
    let (count, first) = (tokens.len(), tokens.start == 0);
    let logp = Shared::new(logp);
    threads.pieces(carried, CARRIED, |row, carried| {
        let logits = &logits[row * count..][..count];
        let new = with_simd(
            #[inline(always)]
            || sums(logits),
        );
        let before = [carried[0], carried[1], carried[2]];
        let [top, sum, weighted] = if first { new } else { joined(before, new) };
        carried.copy_from_slice(&[top, sum, weighted, if first { top } else { before[0] }]);
        let target = targets[row] as usize;
        if tokens.contains(&target) {
            // SAFETY: one number for each row.
            unsafe { logp.put(row, logits[target - tokens.start]) };
        }
    });
}

/// Logits that become weights, and the slopes that are summed by them.
#[derive(Debug)]
pub(crate) struct Slopes<'a> {
    pub(crate) logits: &'a mut [f32],
    pub(crate) slope: MatrixMut<'a>,
}

/// The same, for rows whose slopes are summed up as well: logits become weights `e^(l-t)`, and what
/// was summed before is brought to the new `t`.
pub(crate) fn carry_slope(
    threads: &Threads,
    to: Carry<'_>,
    slopes: Slopes<'_>,
    targets: &Targets<'_>,
) {
    let (Carry { carried, logp }, Slopes { logits, mut slope }) = (to, slopes);
    let count = targets.tokens.len();
    carry(threads, Carry { carried, logp }, logits, targets);
    let (cols, stride) = (slope.cols, slope.stride);
    let slope = Shared::new(slope.data.host());
    threads.pieces(logits, count, |row, logits| {
        let (top, before) = (carried[row * CARRIED], carried[row * CARRIED + 3]);
        with_simd(
            #[inline(always)]
            || {
                for l in logits.iter_mut() {
                    *l = exp(*l - top);
                }
            },
        );
        if before < top {
            let factor = exp(before - top);
            // SAFETY: different rows.
            for x in unsafe { slope.part(row * stride, cols) } {
                *x *= factor;
            }
        }
    });
}

/// Numbers of each row that turn `Σ e·W` into its slope.
#[derive(Debug)]
pub(crate) struct FinishSlope<'a> {
    pub(crate) carried: &'a [f32],
    pub(crate) targets: &'a [u32],
    /// `W`.
    pub(crate) weight: Weight<'a>,
    /// `τ`.
    pub(crate) scale: f32,
}

/// `τ · (W_target - Σ e·W / Σ e)` from `Σ e·W`.
pub(crate) fn finish_slope(threads: &Threads, slope: &mut MatrixMut<'_>, known: &FinishSlope<'_>) {
    let FinishSlope { carried, targets, weight, scale } = *known;
    let (cols, stride) = (slope.cols, slope.stride);
    let slope = Shared::new(slope.data.host());
    threads.each(targets.len(), |row| {
        // SAFETY: different rows.
        let slope = unsafe { slope.part(row * stride, cols) };
        let inverse = 1.0 / carried[row * CARRIED + 1];
        let target = targets[row] as usize;
        match weight {
            Weight::Full(weight) => {
                let weight = &weight.data.host()[target * weight.row_stride..][..cols];
                for (slope, w) in slope.iter_mut().zip(weight) {
                    *slope = scale * (w - *slope * inverse);
                }
            }
            Weight::Int8 { bytes, scales, inputs } => {
                let (bytes, worth) = (&bytes.host()[target * inputs..], scales.host()[target]);
                for (slope, byte) in slope.iter_mut().zip(bytes) {
                    *slope = scale * (f32::from(*byte) * worth - *slope * inverse);
                }
            }
        }
    });
}

/// Rows of slopes, each times its signal.
pub(crate) fn backward_by_slope(
    threads: &Threads,
    dhidden: &mut MatrixMut<'_>,
    slope: Matrix<'_>,
    dlogp: &[f32],
) {
    let (cols, stride) = (dhidden.cols, dhidden.stride);
    let dhidden = Shared::new(dhidden.data.host());
    threads.each(dlogp.len(), |row| {
        // SAFETY: different rows.
        let to = unsafe { dhidden.part(row * stride, cols) };
        let from = &slope.data.host()[row * slope.row_stride..][..cols];
        for (to, slope) in to.iter_mut().zip(from) {
            *to = slope * dlogp[row];
        }
    });
}

/// What is carried, as what is known of each row.
pub(crate) fn finish(carried: &[f32], logp: &mut [f32], entropy: &mut [f32], lse: &mut [f32]) {
    let (carried, _) = carried.as_chunks::<CARRIED>();
    for (row, carried) in carried.iter().enumerate() {
        let [top, sum, weighted, _] = *carried;
        (lse[row], entropy[row]) = known([top, sum, weighted]);
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
fn known([top, sum, weighted]: Sums) -> (f32, f32) {
    let log_sum = sum.ln();
    (top + log_sum, log_sum - weighted / sum)
}

/// Both sums, by the larger of their largest logits.
fn joined(a: Sums, b: Sums) -> Sums {
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
fn sums(logits: &[f32]) -> Sums {
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

/// Gradients that come back to each row.
#[derive(Debug)]
pub(crate) struct Backward<'a> {
    pub(crate) signal: Signal<'a>,
    /// `τ`.
    pub(crate) scale: f32,
    pub(crate) targets: Targets<'a>,
}

/// Turns logits of some tokens into their gradients.
pub(crate) fn backward(threads: &Threads, logits: &mut [f32], backward: &Backward<'_>) {
    let Backward { signal, scale, targets: Targets { targets, tokens } } = backward;
    threads.pieces(logits, tokens.len(), |row, logits| {
        let (lse, entropy) = (signal.lse.host()[row], signal.entropy.host()[row]);
        let a = signal.dlogp.host()[row] * scale;
        let b = signal.dentropy.host()[row] * scale;
        with_simd(
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
