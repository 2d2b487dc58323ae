//! Sums: a residual, a multiple, a bias for every row, and a bias's gradient.

use crate::buffer::{Real, View, ViewMut};
use crate::cpu;
use crate::cuda::elementwise;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};

/// `x += y`.
///
/// # Panics
///
/// If they are not equally long.
pub fn add(device: &Device, x: &mut ViewMut<'_>, y: View<'_>) {
    assert_eq!(x.len(), y.len(), "what is added to what");
    match device {
        Device::Cpu(cpu) => cpu::add::add(&cpu.threads, x.host(), y.host()),
        Device::Cuda(cuda) => elementwise::add(cuda, x, y),
    }
}

/// `x += b` for every row.
///
/// # Panics
///
/// If a row is not as long as the bias.
pub fn bias<T: Real>(device: &Device, mut x: MatrixMut<'_, T>, bias: View<'_, T>) {
    assert_eq!(x.cols, bias.len(), "a bias for each column");
    match device {
        Device::Cpu(cpu) => cpu::add::bias(&cpu.threads, &mut x.on_host(), bias.host()),
        Device::Cuda(cuda) => elementwise::add_bias(cuda, &mut x, bias),
    }
}

/// `x += factor · y`.
///
/// # Panics
///
/// If they are not equally long.
pub fn scaled(device: &Device, x: &mut ViewMut<'_, f32>, factor: f32, y: View<'_, f32>) {
    assert_eq!(x.len(), y.len(), "what is added to what");
    match device {
        Device::Cpu(cpu) => cpu::add::scaled(&cpu.threads, x.host(), factor, y.host()),
        Device::Cuda(cuda) => elementwise::add_scaled(cuda, x, factor, y),
    }
}

/// `db += Σ dy` over the rows, row by row: the same in one call and in several.
///
/// # Panics
///
/// If a row is not as long as the bias.
pub fn bias_backward<T: Real>(device: &Device, dbias: &mut ViewMut<'_, f32>, dy: Matrix<'_, T>) {
    assert!(dy.cols == dbias.len() && dy.col_stride == 1, "a bias for each column");
    match device {
        Device::Cpu(cpu) => cpu::add::bias_backward(&cpu.threads, dbias.host(), dy.on_host()),
        Device::Cuda(cuda) => elementwise::bias_backward(cuda, dbias, dy),
    }
}
