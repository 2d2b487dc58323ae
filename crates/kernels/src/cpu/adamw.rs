//! The twin of [`crate::adamw`].

#![expect(unsafe_code, reason = "the same piece of three slices")]

use super::shared::Shared;
use super::threads::Threads;
use super::wide::wide;
use crate::adamw::{AdamW, State};

/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 14;

#[expect(clippy::cast_possible_truncation, reason = "computed in f64, used in f32")]
pub(crate) fn step(threads: &Threads, state: &mut State<'_>, gradient: &[f32], rule: &AdamW) {
    let steps = i32::try_from(rule.step).unwrap_or(i32::MAX);
    let kept = (1.0 - rule.lr * rule.decay) as f32;
    let (toward, beta2) = ((1.0 - rule.beta1) as f32, rule.beta2 as f32);
    let fresh = (1.0 - rule.beta2) as f32;
    let rate = (rule.lr / (1.0 - rule.beta1.powi(steps))) as f32;
    let root = (1.0 - rule.beta2.powi(steps)).sqrt() as f32;
    let (epsilon, scale) = (rule.epsilon as f32, rule.gradient_scale as f32);
    let (mean, square) = (Shared::new(state.mean.host()), Shared::new(state.square.host()));
    threads.pieces(state.weight.host(), PIECE, |piece, weight| {
        let gradient = &gradient[piece * PIECE..];
        // SAFETY: pieces do not overlap.
        let mean = unsafe { mean.part(piece * PIECE, weight.len()) };
        // SAFETY: the same.
        let square = unsafe { square.part(piece * PIECE, weight.len()) };
        wide(
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
