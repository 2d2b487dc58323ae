//! `y = silu(gate) · up` with `silu(x) = x · σ(x)`.
//!
//! Shazeer, "GLU Variants Improve Transformer", 2020. Backward, with `s = σ(gate)`:
//! `dup = dy · gate · s` and `dgate = dy · up · s · (1 + gate · (1 - s))`.

use crate::buffer::{Buffer, View, ViewMut};
use crate::copy::copy_matrix;
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};

/// `y` of a gate and what goes through it.
///
/// # Panics
///
/// If they are not equally long.
pub fn forward(device: &Device, y: &mut ViewMut<'_>, gate: View<'_>, up: View<'_>) {
    assert!(y.len() == gate.len() && y.len() == up.len(), "as many gates as numbers");
    match device {
        Device::Cpu(cpu) => {
            cpu::swiglu::forward(&cpu.threads, y.host(), gate.host(), up.host());
        }
        Device::Cuda(cuda) => cuda::elementwise::swiglu_forward(cuda, y, gate, up),
    }
}

/// Turns a gate and what goes through it into their gradients, and `dy` into `y`, which the
/// projection behind it needs for its own.
///
/// # Panics
///
/// If they are not equally long.
pub fn backward(
    device: &Device,
    dy: &mut ViewMut<'_>,
    gate: &mut ViewMut<'_>,
    up: &mut ViewMut<'_>,
) {
    assert!(dy.len() == gate.len() && dy.len() == up.len(), "as many gates as numbers");
    match device {
        Device::Cpu(cpu) => {
            cpu::swiglu::backward(&cpu.threads, dy.host(), gate.host(), up.host());
        }
        Device::Cuda(cuda) => cuda::elementwise::swiglu_backward(cuda, dy, gate, up),
    }
}

/// `y` of rows in which the gate and what goes through it lie side by side.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward_rows(device: &Device, mut y: MatrixMut<'_>, both: Matrix<'_>) {
    assert!(both.rows == y.rows && both.cols == 2 * y.cols && both.col_stride == 1, "rows of both");
    match device {
        Device::Cpu(_) => {
            let [gate, up] = halves(device, both);
            let mut together: Buffer = device.take(gate.len());
            forward(device, &mut together.view_mut(), gate.view(), up.view());
            let from = Matrix::new(together.view(), y.rows, y.cols);
            copy_matrix(device, y, from);
        }
        Device::Cuda(cuda) => cuda::elementwise::swiglu_rows_forward(cuda, &mut y, both),
    }
}

/// Turns such rows into their gradients, and `dy` into `y`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward_rows(device: &Device, mut dy: MatrixMut<'_>, mut both: MatrixMut<'_>) {
    assert!(both.rows == dy.rows && both.cols == 2 * dy.cols, "rows of both");
    match device {
        Device::Cpu(_) => {
            let (rows, cols) = (dy.rows, dy.cols);
            let [mut gate, mut up] = halves(device, both.view());
            let mut own = copied(device, dy.view());
            backward(device, &mut own.view_mut(), &mut gate.view_mut(), &mut up.view_mut());
            copy_matrix(device, dy, Matrix::new(own.view(), rows, cols));
            copy_matrix(device, both.columns(0..cols), Matrix::new(gate.view(), rows, cols));
            copy_matrix(device, both.columns(cols..2 * cols), Matrix::new(up.view(), rows, cols));
        }
        Device::Cuda(cuda) => cuda::elementwise::swiglu_rows_backward(cuda, &mut dy, &mut both),
    }
}

/// Rows side by side.
fn copied(device: &Device, from: Matrix<'_>) -> Buffer {
    let mut to: Buffer = device.take(from.rows * from.cols);
    copy_matrix(device, MatrixMut::new(to.view_mut(), from.rows, from.cols), from);
    to
}

/// The gate and what goes through it, apart.
fn halves(device: &Device, both: Matrix<'_>) -> [Buffer; 2] {
    let cols = both.cols / 2;
    [0..cols, cols..2 * cols].map(|half| copied(device, both.columns(half)))
}
