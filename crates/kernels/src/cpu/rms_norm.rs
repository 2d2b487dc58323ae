//! The twin of [`crate::rms_norm`]. A row's `r` is computed again in the backward pass: it costs less
//! than to keep it.

#![expect(unsafe_code, reason = "strided rows for different threads")]

use std::ops::Range;

use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::{LANES, dot, fold, with_simd};
use crate::buffer::Buffer;
use crate::matmul::WriteMode;
use crate::rms_norm::{Gradient, Heads, Input, Norm, Output, Saved};

/// Rows that a thread takes at a time. The gradient of a gain is summed within such a block of a
/// sequence first.
pub(crate) const BLOCK: usize = 64;

#[inline(always)]
fn reciprocal(x: &[f32], epsilon: f32) -> f32 {
    1.0 / (dot(x, x) / x.len() as f32 + epsilon).sqrt()
}

pub(crate) fn forward(threads: &Threads, mut y: Output<'_>, x: Input<'_>, norm: Norm<'_>) {
    let (to, from) = (y.shape, x.shape);
    let (y, x) = (Shared::new(y.data.host()), x.data.host());
    let gain = norm.gain.host();
    threads.each(from.rows.div_ceil(BLOCK), |block| {
        with_simd(
            #[inline(always)]
            || {
                let rows = block * BLOCK..from.rows.min((block + 1) * BLOCK);
                for (row, head) in heads_in(rows, from) {
                    let x = &x[row * from.stride + head * from.size..][..from.size];
                    // SAFETY: different heads of different rows.
                    let y = unsafe { y.part(row * to.stride + head * to.size, to.size) };
                    let r = reciprocal(x, norm.epsilon);
                    for ((y, x), g) in y.iter_mut().zip(x).zip(gain) {
                        *y = x * r * g;
                    }
                }
            },
        );
    });
}

/// The backward pass, divided into blocks of rows.
#[derive(Debug)]
pub(crate) struct Backward<'a> {
    pub(crate) saved: Saved<'a>,
    pub(crate) norm: Norm<'a>,
    /// The rows of each block.
    pub(crate) blocks: &'a [Range<usize>],
    /// A row of sums for each block, where the gain has a gradient.
    pub(crate) sums: Option<Buffer<f32>>,
}

pub(crate) fn backward(threads: &Threads, mut gradient: Gradient<'_>, backward: Backward<'_>) {
    let Backward { saved: Saved { x, dy }, norm, blocks, mut sums } = backward;
    let (from, to) = (x.shape, dy.shape);
    let (x, dy) = (x.data.host(), dy.data.host());
    let gain = norm.gain.host();
    let dx = Shared::new(gradient.dx.host());
    let mut view = sums.as_mut().map(Buffer::view_mut);
    let shared = view.as_mut().map(|view| Shared::new(view.host()));
    threads.each(blocks.len(), |block| {
        // SAFETY: each block has its own.
        let mut dgain = shared.map(|sums| unsafe { sums.part(block * from.size, from.size) });
        with_simd(
            #[inline(always)]
            || {
                if let Some(dgain) = &mut dgain {
                    dgain.fill(0.0);
                }
                for (row, head) in heads_in(blocks[block].clone(), from) {
                    let at = row * from.stride + head * from.size;
                    let x = &x[at..at + from.size];
                    let dy = &dy[row * to.stride + head * to.size..][..to.size];
                    // SAFETY: different heads of different rows.
                    let dx = unsafe { dx.part(at, from.size) };
                    let r = reciprocal(x, norm.epsilon);
                    if let Some(dgain) = &mut dgain {
                        for ((dgain, dy), x) in dgain.iter_mut().zip(dy).zip(x) {
                            *dgain += dy * x * r;
                        }
                    }
                    one_head(dx, gradient.mode, &HeadInput { x, dy, gain, r });
                }
            },
        );
    });
    if let (Some(mut dgain), Some(sums)) = (gradient.dgain, sums) {
        let sums = sums.view().host();
        for block in sums.chunks_exact(from.size) {
            for (dgain, sum) in dgain.to.host().iter_mut().zip(block) {
                *dgain += sum;
            }
        }
    }
}

/// One head on its way back.
struct HeadInput<'a> {
    x: &'a [f32],
    dy: &'a [f32],
    gain: &'a [f32],
    /// `1 / √(mean(x²) + ε)`.
    r: f32,
}

#[inline(always)]
fn one_head(dx: &mut [f32], mode: WriteMode, head: &HeadInput<'_>) {
    let HeadInput { x, dy, gain, r } = *head;
    let shift = weighted_dot(x, dy, gain) * r * r * r / x.len() as f32;
    let of = |x: f32, dy: f32, g: f32| dy * g * r - x * shift;
    let all = dx.iter_mut().zip(x).zip(dy).zip(gain);
    if mode == WriteMode::Accumulate {
        for (((dx, x), dy), g) in all {
            *dx += of(*x, *dy, *g);
        }
    } else {
        for (((dx, x), dy), g) in all {
            *dx = of(*x, *dy, *g);
        }
    }
}

/// `Σ x·dy·g`.
#[inline(always)]
fn weighted_dot(x: &[f32], dy: &[f32], gain: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (dys, dy_rest) = dy.as_chunks::<LANES>();
    let (gains, gain_rest) = gain.as_chunks::<LANES>();
    for ((x, dy), g) in xs.iter().zip(dys).zip(gains) {
        for at in 0..LANES {
            lanes[at] = (dy[at] * g[at]).mul_add(x[at], lanes[at]);
        }
    }
    for (((lane, x), dy), g) in lanes.iter_mut().zip(x_rest).zip(dy_rest).zip(gain_rest) {
        *lane = (dy * g).mul_add(*x, *lane);
    }
    fold(lanes)
}

/// Some rows and their heads.
#[inline(always)]
fn heads_in(rows: Range<usize>, shape: Heads) -> impl Iterator<Item = (usize, usize)> {
    rows.flat_map(move |row| (0..shape.heads).map(move |head| (row, head)))
}
