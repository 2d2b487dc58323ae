//! The size of a gradient, for clipping by the global norm.

use crate::buffer::{View, ViewMut};
use crate::cpu::wide::{dot, wide};
use crate::device::Device;

/// Numbers of one partial sum. Part of the definition of the result.
const BLOCK: usize = 1 << 12;

/// `Σ x²`: in f32 within blocks, in f64 over them.
pub fn sum_of_squares(device: &Device, x: View<'_>) -> f64 {
    let x = x.host();
    let mut sums = vec![0f32; x.len().div_ceil(BLOCK)];
    let Device::Cpu(cpu) = device;
    cpu.threads.pieces(&mut sums, 16, |piece, sums| {
        wide(
            #[inline(always)]
            || {
                for (sum, x) in sums.iter_mut().zip(x.chunks(BLOCK).skip(piece * 16)) {
                    *sum = dot(x, x);
                }
            },
        );
    });
    sums.into_iter().map(f64::from).sum()
}

/// `x ·= factor`.
pub fn scale(device: &Device, x: &mut ViewMut<'_>, factor: f32) {
    let Device::Cpu(cpu) = device;
    cpu.threads.pieces(x.host(), 1 << 15, |_, x| {
        wide(
            #[inline(always)]
            || {
                for x in x {
                    *x *= factor;
                }
            },
        );
    });
}
