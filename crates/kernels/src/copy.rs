//! Copies rows between matrices of different strides.

use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};

/// Copies row by row.
///
/// # Panics
///
/// If the shapes differ.
pub fn copy_matrix(device: &Device, mut to: MatrixMut<'_>, from: Matrix<'_>) {
    assert!((to.rows, to.cols, 1) == (from.rows, from.cols, from.col_stride), "rows to copy");
    if let Device::Cuda(cuda) = device {
        return cuda::elementwise::copy_rows(cuda, &mut to, from);
    }
    let (cols, stride) = (to.cols, to.stride);
    for row in 0..to.rows {
        let from = &from.data.host()[row * from.row_stride..][..cols];
        to.data.host()[row * stride..][..cols].copy_from_slice(from);
    }
}
