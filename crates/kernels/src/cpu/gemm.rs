//! Products of matrices: the `gemm` crate's kernel, one call for each part of the result.
//!
//! A result is divided along its longer side, never along the inner one, so that every number is the
//! same sum in the same order however many threads there are. The kernel's inner blocking depends
//! on the inner side alone unless a part is tiny; [`SMALLEST`] keeps parts out of those cases.

#![expect(unsafe_code, reason = "the kernel takes addresses")]
#![expect(clippy::many_single_char_names, reason = "the names of the sides of a product")]

use gemm_common::Parallelism;

use super::shared::Shared;
use super::threads::Threads;
use crate::matmul::{Before, Matrix, MatrixMut};

/// A part has at least so many rows (or columns), and [`SMALLEST_AREA`] numbers: the kernel takes
/// other ways for results of up to 64 by 64 and up to 256 numbers.
const SMALLEST: usize = 96;
const SMALLEST_AREA: usize = 512;

/// `to = [to +] scale · a · b`. Shapes were checked.
pub(crate) fn multiply(
    threads: &Threads,
    to: &mut MatrixMut<'_>,
    before: Before,
    (scale, a, b): (f32, Matrix<'_>, Matrix<'_>),
) {
    let (m, n, k) = (to.rows, to.cols, a.cols);
    if m == 0 || n == 0 {
        return;
    }
    let by_rows = m >= n;
    let (side, other) = if by_rows { (m, n) } else { (n, m) };
    let smallest = SMALLEST.max(SMALLEST_AREA.div_ceil(other));
    let parts = threads.count().min(side / smallest).max(1);
    let stride = to.stride;
    let all = Shared::new(to.data.host());
    let (a_all, b_all) = (a.data.host(), b.data.host());
    threads.each(parts, |part| {
        let (begin, end) = (bound(side, parts, part), bound(side, parts, part + 1));
        let (rows, cols) = if by_rows { (begin..end, 0..n) } else { (0..m, begin..end) };
        let call = Call {
            shape: (rows.len(), cols.len(), k),
            to: all.at(rows.start * stride + cols.start),
            to_stride: stride,
            before,
            scale,
            a: a_all[rows.start * a.row_stride..].as_ptr(),
            a_strides: (a.row_stride, a.col_stride),
            b: b_all[cols.start * b.col_stride..].as_ptr(),
            b_strides: (b.row_stride, b.col_stride),
        };
        // SAFETY: a `Matrix` is inside its view, so are its parts, and parts of the result do not
        // overlap.
        unsafe { call.run() };
    });
}

/// Where part `part` of `parts` begins; parts but the last are whole vectors.
fn bound(side: usize, parts: usize, part: usize) -> usize {
    if part == parts { side } else { side * part / parts / 16 * 16 }
}

/// One product in this thread.
pub(crate) struct Call {
    /// Rows and columns of the result, and the inner side.
    pub(crate) shape: (usize, usize, usize),
    pub(crate) to: *mut f32,
    pub(crate) to_stride: usize,
    pub(crate) before: Before,
    pub(crate) scale: f32,
    pub(crate) a: *const f32,
    /// From row to row, and from column to column.
    pub(crate) a_strides: (usize, usize),
    pub(crate) b: *const f32,
    pub(crate) b_strides: (usize, usize),
}

impl Call {
    /// The kernel likes results by columns, so it is asked for the transpose.
    ///
    /// # Safety
    ///
    /// The three matrices must be inside what their addresses may reach, and the result must
    /// overlap neither the others nor what another thread uses.
    pub(crate) unsafe fn run(self) {
        let (m, n, k) = self.shape;
        let kept = self.before == Before::Kept;
        // SAFETY: the caller's.
        unsafe {
            gemm_f32::gemm::f32::get_gemm_fn()(
                n,
                m,
                k,
                self.to,
                self.to_stride.cast_signed(),
                1,
                kept,
                self.b,
                self.b_strides.0.cast_signed(),
                self.b_strides.1.cast_signed(),
                self.a,
                self.a_strides.0.cast_signed(),
                self.a_strides.1.cast_signed(),
                1.0,
                self.scale,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::matmul::matmul;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| (((i + seed) * 7919 % 1009) as f32 - 504.0) / 300.0).collect()
    }

    /// The product of `a` (m x k, or its transpose) and `b` by the formula, in f64.
    fn oracle(
        shape: (usize, usize, usize),
        a: &[f32],
        b: &[f32],
        turned: (bool, bool),
    ) -> Vec<f64> {
        let (m, n, k) = shape;
        let at = |i: usize, p: usize| if turned.0 { a[p * m + i] } else { a[i * k + p] };
        let bt = |p: usize, j: usize| if turned.1 { b[j * k + p] } else { b[p * n + j] };
        (0..m * n)
            .map(|x| (0..k).map(|p| f64::from(at(x / n, p)) * f64::from(bt(p, x % n))).sum())
            .collect()
    }

    fn product(
        device: &Device,
        shape: (usize, usize, usize),
        (a, b): (&[f32], &[f32]),
        turned: (bool, bool),
        before: (Before, f32),
    ) -> Vec<f32> {
        let (m, n, k) = shape;
        let (a, b) = (device.upload(a), device.upload(b));
        let mut to = device.upload(&vec![before.1; m * n]);
        let left = if turned.0 {
            Matrix::new(a.view(), k, m).turned()
        } else {
            Matrix::new(a.view(), m, k)
        };
        let right = if turned.1 {
            Matrix::new(b.view(), n, k).turned()
        } else {
            Matrix::new(b.view(), k, n)
        };
        matmul(device, MatrixMut::new(to.view_mut(), m, n), before.0, (0.5, left, right));
        device.read(to.view())
    }

    /// The last two would be divided into parts of which the kernel makes other sums, if parts could be
    /// that small.
    const SHAPES: [(usize, usize, usize); 11] = [
        (1, 1, 1),
        (1, 70, 33),
        (65, 1, 600),
        (5, 7, 2),
        (64, 64, 64),
        (130, 70, 515),
        (257, 300, 40),
        (16, 1000, 600),
        (600, 3, 1030),
        (130, 60, 1030),
        (40, 150, 1030),
    ];

    #[test]
    fn every_transpose_is_the_formula_with_and_without_what_was_there() {
        let device = Device::cpu(2).unwrap();
        for shape in SHAPES {
            let (m, n, k) = shape;
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            for turned in [(false, false), (false, true), (true, false), (true, true)] {
                let truth = oracle(shape, &a, &b, turned);
                for before in [(Before::Gone, f32::NAN), (Before::Kept, 3.0)] {
                    let ours = product(&device, shape, (&a, &b), turned, before);
                    let base = if before.0 == Before::Kept { 3.0 } else { 0.0 };
                    for (ours, truth) in ours.iter().zip(&truth) {
                        let truth = base + 0.5 * truth;
                        let near = 2e-6 * (k as f64).max(10.0);
                        assert!((f64::from(*ours) - truth).abs() < near, "{shape:?} {turned:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let alone = Device::cpu(1).unwrap();
        let many = [2, 3, 5].map(|count| Device::cpu(count).unwrap());
        for shape in SHAPES {
            let (m, n, k) = shape;
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            for turned in [(false, true), (true, false)] {
                let bits = |device| {
                    let ours = product(device, shape, (&a, &b), turned, (Before::Kept, 1.0));
                    ours.into_iter().map(f32::to_bits).collect::<Vec<_>>()
                };
                let one = bits(&alone);
                for device in &many {
                    assert_eq!(bits(device), one, "{shape:?} {turned:?}");
                }
            }
        }
    }
}
