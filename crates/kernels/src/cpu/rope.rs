//! The twin of [`crate::rope`].

#![expect(unsafe_code, reason = "strided rows for different threads")]

use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::with_simd;
use crate::rms_norm::Heads;
use crate::rope::{Angles, Rotate};

/// Rows that a thread takes at a time.
const BLOCK: usize = 64;

pub(crate) fn turn(threads: &Threads, x: &mut [f32], shape: Heads, angles: Angles<'_>) {
    let half = shape.size / 2;
    let (cos, sin) = angles.table.tables();
    let (cos, sin, positions) = (cos.host(), sin.host(), angles.positions.host());
    let sign = if angles.direction == Rotate::Forward { 1.0 } else { -1.0 };
    let x = Shared::new(x);
    threads.each(shape.rows.div_ceil(BLOCK), |block| {
        with_simd(
            #[inline(always)]
            || {
                let rows = positions.iter().enumerate().skip(block * BLOCK).take(BLOCK);
                for (row, &position) in rows {
                    let at = position as usize * half;
                    let (cos, sin) = (&cos[at..at + half], &sin[at..at + half]);
                    for head in 0..shape.heads {
                        // SAFETY: different heads of different rows.
                        let head =
                            unsafe { x.part(row * shape.stride + head * shape.size, shape.size) };
                        let (low, high) = head.split_at_mut(half);
                        for (((a, b), c), s) in low.iter_mut().zip(high).zip(cos).zip(sin) {
                            let (x, y, s) = (*a, *b, s * sign);
                            *a = x * c - y * s;
                            *b = y * c + x * s;
                        }
                    }
                }
            },
        );
    });
}
