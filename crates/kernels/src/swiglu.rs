//! `y = silu(gate) · up` with `silu(x) = x · σ(x)`.
//!
//! Shazeer, "GLU Variants Improve Transformer", 2020. Backward, with `s = σ(gate)`:
//! `dup = dy · gate · s` and `dgate = dy · up · s · (1 + gate · (1 - s))`.

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;

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
        Device::Cuda(cuda) => cuda::elementwise::swiglu_forward(cuda, y, (gate, up)),
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
        Device::Cuda(cuda) => cuda::elementwise::swiglu_backward(cuda, dy, (gate, up)),
    }
}
