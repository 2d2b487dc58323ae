//! The twin of [`crate::swiglu`].

#![expect(unsafe_code, reason = "the same piece of three slices")]

use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::{sigmoid, with_simd};

/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 14;

pub(crate) fn forward(threads: &Threads, y: &mut [f32], gate: &[f32], up: &[f32]) {
    threads.pieces(y, PIECE, |piece, y| {
        let (gate, up) = (&gate[piece * PIECE..][..y.len()], &up[piece * PIECE..][..y.len()]);
        with_simd(
            #[inline(always)]
            || {
                for ((y, g), u) in y.iter_mut().zip(gate).zip(up) {
                    *y = g * sigmoid(*g) * u;
                }
            },
        );
    });
}

pub(crate) fn backward(threads: &Threads, dy: &mut [f32], gate: &mut [f32], up: &mut [f32]) {
    let (gate, up) = (Shared::new(gate), Shared::new(up));
    threads.pieces(dy, PIECE, |piece, dy| {
        // SAFETY: pieces do not overlap.
        let gate = unsafe { gate.part(piece * PIECE, dy.len()) };
        // SAFETY: the same.
        let up = unsafe { up.part(piece * PIECE, dy.len()) };
        with_simd(
            #[inline(always)]
            || {
                for ((dy, gate), up) in dy.iter_mut().zip(gate).zip(up) {
                    let (d, g, u) = (*dy, *gate, *up);
                    let s = sigmoid(g);
                    let open = g * s;
                    *up = d * open;
                    *gate = d * u * s * (1.0 + g * (1.0 - s));
                    *dy = open * u;
                }
            },
        );
    });
}
