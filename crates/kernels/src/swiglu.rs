//! `y = silu(gate) · up` with `silu(x) = x · σ(x)`.
//!
//! Shazeer, "GLU Variants Improve Transformer", 2020. Backward, with `s = σ(gate)`:
//! `dup = dy · gate · s` and `dgate = dy · up · s · (1 + gate · (1 - s))`.

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};

/// What is said if a processor is asked for rows of both.
const APART: &str = "on processors the gate and what goes through it lie apart";

/// `y` of a gate and what goes through it.
///
/// # Panics
///
/// If they are not equally long.
pub fn forward(device: &Device, y: &mut ViewMut<'_>, (gate, up): (View<'_>, View<'_>)) {
    assert!(y.len() == gate.len() && y.len() == up.len(), "as many gates as numbers");
    match device {
        Device::Cpu(cpu) => {
            cpu::swiglu::forward(&cpu.threads, y.host(), (gate.host(), up.host()));
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
    (gate, up): (&mut ViewMut<'_>, &mut ViewMut<'_>),
) {
    assert!(dy.len() == gate.len() && dy.len() == up.len(), "as many gates as numbers");
    match device {
        Device::Cpu(cpu) => {
            cpu::swiglu::backward(&cpu.threads, dy.host(), (gate.host(), up.host()));
        }
        Device::Cuda(cuda) => cuda::elementwise::swiglu_backward(cuda, dy, gate, up),
    }
}

/// `y` of rows in which the gate and what goes through it lie side by side: on CUDA.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor.
pub fn forward_rows(device: &Device, mut y: MatrixMut<'_>, both: Matrix<'_>) {
    assert!(both.rows == y.rows && both.cols == 2 * y.cols && both.col_stride == 1, "rows of both");
    match device {
        Device::Cpu(_) => panic!("{APART}"),
        Device::Cuda(cuda) => cuda::elementwise::swiglu_rows_forward(cuda, &mut y, both),
    }
}

/// Turns such rows into their gradients, and `dy` into `y`: on CUDA.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor.
pub fn backward_rows(device: &Device, mut dy: MatrixMut<'_>, mut both: MatrixMut<'_>) {
    assert!(both.rows == dy.rows && both.cols == 2 * dy.cols, "rows of both");
    match device {
        Device::Cpu(_) => panic!("{APART}"),
        Device::Cuda(cuda) => cuda::elementwise::swiglu_rows_backward(cuda, &mut dy, &mut both),
    }
}
