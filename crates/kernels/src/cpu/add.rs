//! The twin of [`crate::add`].

#![expect(unsafe_code, reason = "strided rows for different threads")]

use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::with_simd;
use crate::matmul::{Matrix, MatrixMut};

/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 15;

pub(crate) fn add(threads: &Threads, x: &mut [f32], y: &[f32]) {
    threads.pieces(x, PIECE, |piece, x| {
        with_simd(
            #[inline(always)]
            || plus(x, &y[piece * PIECE..]),
        );
    });
}

#[inline(always)]
fn plus(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

pub(crate) fn scaled(threads: &Threads, x: &mut [f32], factor: f32, y: &[f32]) {
    threads.pieces(x, PIECE, |piece, x| {
        with_simd(
            #[inline(always)]
            || {
                for (x, y) in x.iter_mut().zip(&y[piece * PIECE..]) {
                    *x = y.mul_add(factor, *x);
                }
            },
        );
    });
}

pub(crate) fn bias(threads: &Threads, x: &mut MatrixMut<'_>, bias: &[f32]) {
    let (rows, cols, stride) = (x.rows, x.cols, x.stride);
    let each = (PIECE / cols.max(1)).max(1);
    let x = Shared::new(x.data.host());
    threads.each(rows.div_ceil(each), |block| {
        with_simd(
            #[inline(always)]
            || {
                for row in block * each..rows.min((block + 1) * each) {
                    // SAFETY: different rows.
                    plus(unsafe { x.part(row * stride, cols) }, bias);
                }
            },
        );
    });
}

/// Divided by columns, so that a sum has one order.
pub(crate) fn bias_backward(threads: &Threads, dbias: &mut [f32], dy: Matrix<'_>) {
    let width = 256;
    threads.pieces(dbias, width, |piece, dbias| {
        with_simd(
            #[inline(always)]
            || {
                for row in 0..dy.rows {
                    plus(dbias, &dy.data.host()[row * dy.row_stride + piece * width..]);
                }
            },
        );
    });
}
