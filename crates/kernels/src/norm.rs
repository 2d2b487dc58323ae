//! Norms and inner products of gradients, for clipping by the global norm and for their cosine.

use crate::buffer::{View, ViewMut};
use crate::cpu::vectorized::{self, with_simd};
use crate::cuda;
use crate::device::{Cpu, Device};

/// Numbers of one partial sum. Part of the definition of the result.
pub(crate) const BLOCK: usize = 1 << 12;

/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 15;

/// `Σ x²`: in f32 within blocks, in f64 over them.
pub fn sum_of_squares(device: &Device, x: View<'_, f32>) -> f64 {
    dot(device, x, x)
}

/// `Σ x·y`: in f32 within blocks, in f64 over them.
///
/// # Panics
///
/// If they are not equally long.
pub fn dot(device: &Device, x: View<'_, f32>, y: View<'_, f32>) -> f64 {
    dot_all(device, &[Pair { x, y }])
}

/// Two tensors that are multiplied number by number.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The first.
    pub x: View<'a, f32>,
    /// The second.
    pub y: View<'a, f32>,
}

/// The sum of [`dot`] over pairs of tensors, in their order. A device with a queue is waited for once.
///
/// # Panics
///
/// If the two of a pair are not equally long.
pub fn dot_all(device: &Device, pairs: &[Pair<'_>]) -> f64 {
    let equal = pairs.iter().all(|Pair { x, y }| x.len() == y.len());
    assert!(equal, "what is multiplied by what");
    match device {
        Device::Cpu(cpu) => pairs.iter().map(|&Pair { x, y }| on_cpu(cpu, x, y)).sum(),
        Device::Cuda(cuda) => {
            let sums = cuda::tensors::dot_blocks(cuda, pairs).into_iter();
            sums.map(|blocks| blocks.into_iter().map(f64::from).sum::<f64>()).sum()
        }
    }
}

fn on_cpu(cpu: &Cpu, x: View<'_, f32>, y: View<'_, f32>) -> f64 {
    let (x, y) = (x.host(), y.host());
    let mut sums = vec![0f32; x.len().div_ceil(BLOCK)];
    cpu.threads.pieces(&mut sums, 16, |piece, sums| {
        with_simd(
            #[inline(always)]
            || {
                let blocks = x.chunks(BLOCK).zip(y.chunks(BLOCK)).skip(piece * 16);
                for (sum, (x, y)) in sums.iter_mut().zip(blocks) {
                    *sum = vectorized::dot(x, y);
                }
            },
        );
    });
    sums.into_iter().map(f64::from).sum()
}

/// Whether every value is finite: neither infinite nor NaN.
pub fn is_finite(device: &Device, x: View<'_, f32>) -> bool {
    let cpu = match device {
        Device::Cpu(cpu) => cpu,
        Device::Cuda(cuda) => return cuda::tensors::not_finite(cuda, &[x]) == [0],
    };
    let x = x.host();
    let mut found = vec![false; x.len().div_ceil(PIECE)];
    cpu.threads.pieces(&mut found, 1, |piece, found| {
        let x = &x[piece * PIECE..][..PIECE.min(x.len() - piece * PIECE)];
        found[0] = with_simd(
            #[inline(always)]
            || {
                let mut found = false;
                for x in x {
                    found |= !x.is_finite();
                }
                found
            },
        );
    });
    !found.contains(&true)
}

/// The first tensor with a non-finite value. A device with a queue is waited for
/// once.
pub fn first_not_finite(device: &Device, tensors: &[View<'_, f32>]) -> Option<usize> {
    match device {
        Device::Cpu(_) => tensors.iter().position(|&x| !is_finite(device, x)),
        Device::Cuda(cuda) => {
            cuda::tensors::not_finite(cuda, tensors).iter().position(|&count| count > 0)
        }
    }
}

/// Zeros in all of them.
pub fn clear(device: &Device, tensors: &mut [ViewMut<'_, f32>]) {
    match device {
        Device::Cpu(_) => tensors.iter_mut().for_each(|tensor| device.fill(tensor, 0.0)),
        Device::Cuda(cuda) => cuda::tensors::clear(cuda, tensors),
    }
}

/// `x ·= factor`.
pub fn scale(device: &Device, x: &mut ViewMut<'_, f32>, factor: f32) {
    let cpu = match device {
        Device::Cpu(cpu) => cpu,
        Device::Cuda(cuda) => return cuda::elementwise::scale(cuda, x, factor),
    };
    cpu.threads.pieces(x.host(), PIECE, |_, x| {
        with_simd(
            #[inline(always)]
            || {
                for x in x {
                    *x *= factor;
                }
            },
        );
    });
}
