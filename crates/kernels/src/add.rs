//! Sums: a residual, a multiple, a bias for every row, and a bias's gradient.

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};

/// `x += y`.
///
/// # Panics
///
/// If they are not equally long.
pub fn add(device: &Device, x: &mut ViewMut<'_>, y: View<'_>) {
    assert_eq!(x.len(), y.len(), "what is added to what");
    let Device::Cpu(cpu) = device;
    cpu::add::add(&cpu.threads, x.host(), y.host());
}

/// `x += b` for every row.
///
/// # Panics
///
/// If a row is not as long as the bias.
pub fn bias(device: &Device, mut x: MatrixMut<'_>, bias: View<'_>) {
    assert_eq!(x.cols, bias.len(), "a bias for each column");
    let Device::Cpu(cpu) = device;
    cpu::add::bias(&cpu.threads, &mut x, bias.host());
}

/// `x += factor · y`.
///
/// # Panics
///
/// If they are not equally long.
pub fn scaled(device: &Device, x: &mut ViewMut<'_>, factor: f32, y: View<'_>) {
    assert_eq!(x.len(), y.len(), "what is added to what");
    let Device::Cpu(cpu) = device;
    cpu::add::scaled(&cpu.threads, x.host(), factor, y.host());
}

/// `db += Σ dy` over the rows, row by row: the same in one call and in several.
///
/// # Panics
///
/// If a row is not as long as the bias.
pub fn bias_backward(device: &Device, dbias: &mut ViewMut<'_>, dy: Matrix<'_>) {
    assert!(dy.cols == dbias.len() && dy.col_stride == 1, "a bias for each column");
    let Device::Cpu(cpu) = device;
    cpu::add::bias_backward(&cpu.threads, dbias.host(), dy);
}
