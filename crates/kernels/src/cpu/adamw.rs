//! The twin of [`crate::adamw`].

#![expect(unsafe_code, reason = "the same piece of three slices")]

use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::with_simd;
use crate::adamw::{AdamState, Factors};

/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 14;

pub(crate) fn step(threads: &Threads, state: &mut AdamState<'_>, gradient: &[f32], by: &Factors) {
    let Factors { kept, toward, beta2, fresh, rate, root, epsilon, scale } = *by;
    let (mean, square) = (Shared::new(state.mean.host()), Shared::new(state.square.host()));
    threads.pieces(state.weight.host(), PIECE, |piece, weight| {
        let gradient = &gradient[piece * PIECE..];
        // SAFETY: pieces do not overlap.
        let mean = unsafe { mean.part(piece * PIECE, weight.len()) };
        // SAFETY: the same.
        let square = unsafe { square.part(piece * PIECE, weight.len()) };
        with_simd(
            #[inline(always)]
            || {
                for (((w, m), v), g) in weight.iter_mut().zip(mean).zip(square).zip(gradient) {
                    let g = g * scale;
                    *m += toward * (g - *m);
                    *v = beta2 * *v + fresh * g * g;
                    *w = *w * kept - rate * *m / (v.sqrt() / root + epsilon);
                }
            },
        );
    });
}
