//! `y = x · r · g` with `r = 1 / √(mean(x²) + ε)`, over whole rows or over the heads within rows.
//!
//! Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019. Backward, with `z = dy · g`:
//! `dx = r · z - x · r³ · Σ(z·x) / d`, and `dg = Σ dy · x · r` over all rows.

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::matmul::WriteMode;
use crate::offsets::{self, Offsets};

/// Heads inside rows: `heads` pieces of `size` numbers at the beginning of each `stride` numbers.
/// A row that is normalised as a whole is one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// Rows.
    pub rows: usize,
    /// Heads in a row.
    pub heads: usize,
    /// Numbers in a head.
    pub size: usize,
    /// Numbers from the beginning of one row to that of the next.
    pub stride: usize,
}

impl Heads {
    /// Rows side by side, one head each.
    pub const fn rows(rows: usize, size: usize) -> Self {
        Self { rows, heads: 1, size, stride: size }
    }

    fn fits(&self, other: &Self) -> bool {
        (self.rows, self.heads, self.size) == (other.rows, other.heads, other.size)
    }

    pub(crate) fn check(&self, length: usize) {
        let used = self.heads * self.size;
        let end = self.rows.saturating_sub(1) * self.stride + if self.rows > 0 { used } else { 0 };
        assert!(self.size > 0 && used <= self.stride && end <= length, "{self:?} in {length}");
    }
}

/// The gain and the small number of a norm.
#[derive(Debug, Clone, Copy)]
pub struct Norm<'a> {
    /// `g`, one number for each place of a head.
    pub gain: View<'a>,
    /// `ε`.
    pub epsilon: f32,
}

/// `y` of `x`. The two may lie differently, but have the same heads.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward(
    device: &Device,
    (y, to): (&mut ViewMut<'_>, Heads),
    (x, from): (View<'_>, Heads),
    norm: Norm<'_>,
) {
    from.check(x.len());
    to.check(y.len());
    assert!(from.fits(&to) && norm.gain.len() == from.size, "{from:?} to {to:?}");
    match device {
        Device::Cpu(cpu) => {
            cpu::rms_norm::forward(&cpu.threads, (y.host(), to), (x.host(), from), norm);
        }
        Device::Cuda(cuda) => {
            let y = cuda::rms_norm::Output { data: y.reborrow(), shape: to };
            let x = cuda::rms_norm::Input { data: x, shape: from };
            cuda::rms_norm::forward(cuda, y, x, norm);
        }
    }
}

/// What comes back: `dx = [dx +] …`, which lies as `x` does, and `dg += …` if it is asked for.
#[derive(Debug)]
pub struct Gradient<'a> {
    /// Gets the gradient of the input.
    pub dx: ViewMut<'a>,
    /// What it held.
    pub before: WriteMode,
    /// Gets the gradient of the gain added, if there is one.
    pub dgain: Option<Gain<'a>>,
}

/// The gradient of a gain, and the sequences within which it is summed.
#[derive(Debug)]
pub struct Gain<'a> {
    /// Is added to.
    pub to: ViewMut<'a, f32>,
    /// Where they begin among the rows.
    pub sequences: Offsets<'a>,
}

/// The gradient, given that of `y`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward(
    device: &Device,
    gradient: Gradient<'_>,
    ((x, from), (dy, to)): ((View<'_>, Heads), (View<'_>, Heads)),
    norm: Norm<'_>,
) {
    from.check(x.len());
    from.check(gradient.dx.len());
    to.check(dy.len());
    assert!(from.fits(&to) && norm.gain.len() == from.size, "{from:?} to {to:?}");
    let all = [0, from.rows];
    let sequences = gradient.dgain.as_ref().map_or(&all[..], |dgain| dgain.sequences);
    offsets::check(sequences, from.rows);
    let cpu = match device {
        Device::Cpu(cpu) => cpu,
        Device::Cuda(cuda) => {
            let x = cuda::rms_norm::Input { data: x, shape: from };
            let dy = cuda::rms_norm::Input { data: dy, shape: to };
            let saved = cuda::rms_norm::Saved { x, dy };
            return cuda::rms_norm::backward(cuda, gradient, saved, norm);
        }
    };
    let blocks = offsets::blocks(sequences, cpu::rms_norm::BLOCK);
    let sums = gradient.dgain.as_ref().map(|_| device.take(blocks.len() * from.size));
    let known = ((x.host(), from), (dy.host(), to), norm);
    cpu::rms_norm::backward(&cpu.threads, gradient, (&blocks, sums), known);
}
