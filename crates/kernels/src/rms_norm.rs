//! `y = x · r · g` with `r = 1 / √(mean(x²) + ε)`, over whole rows or over the heads within rows.
//!
//! Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019. Backward, with `z = dy · g`:
//! `dx = r · z - x · r³ · Σ(z·x) / d`, and `dg = Σ dy · x · r` over all rows.

use crate::buffer::{View, ViewMut};
use crate::copy::copy_matrix;
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut, WriteMode};
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

/// Numbers to read, and how heads lie in them.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The numbers.
    pub data: View<'a>,
    /// The heads.
    pub shape: Heads,
}

/// Numbers to write, and how heads lie in them.
#[derive(Debug)]
pub struct Output<'a> {
    /// The numbers.
    pub data: ViewMut<'a>,
    /// The heads.
    pub shape: Heads,
}

/// `y` of `x`. The two may lie differently, but have the same heads.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward(device: &Device, y: Output<'_>, x: Input<'_>, norm: Norm<'_>) {
    let (from, to) = (x.shape, y.shape);
    from.check(x.data.len());
    to.check(y.data.len());
    assert!(from.fits(&to) && norm.gain.len() == from.size, "{from:?} to {to:?}");
    match device {
        Device::Cpu(cpu) => cpu::rms_norm::forward(&cpu.threads, y, x, norm),
        Device::Cuda(cuda) => cuda::rms_norm::forward(cuda, y, x, norm),
    }
}

/// What comes back: `dx = [dx +] …`, which lies as `x` does, and `dg += …` if it is asked for.
#[derive(Debug)]
pub struct Gradient<'a> {
    /// Gets the gradient of the input.
    pub dx: ViewMut<'a>,
    /// Whether `dx` is overwritten or added to.
    pub mode: WriteMode,
    /// Gets the gradient of the gain added, if there is one.
    pub dgain: Option<Gain<'a>>,
}

/// What comes back, added to something else: `dx = added + …`, which may lie differently from each other and
/// from `x`.
#[derive(Debug)]
pub struct GradientBeside<'a> {
    /// Gets the sum.
    pub dx: Output<'a>,
    /// The addend of the gradient.
    pub added: Input<'a>,
    /// Gets `y` once more, if something needs it.
    pub normed: Option<Output<'a>>,
    /// Gets the gradient of the gain added, if there is one.
    pub dgain: Option<Gain<'a>>,
}

/// The gradient of a gain, and the sequences within which it is summed.
#[derive(Debug)]
pub struct Gain<'a> {
    /// Is added to.
    pub to: ViewMut<'a, f32>,
    /// The index of the first row.
    pub sequences: Offsets<'a>,
}

/// The input of the forward pass and the gradient of its output.
#[derive(Debug, Clone, Copy)]
pub struct Saved<'a> {
    /// The input.
    pub x: Input<'a>,
    /// The gradient of the output.
    pub dy: Input<'a>,
}

/// The gradient, given that of `y`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward(device: &Device, gradient: Gradient<'_>, saved: Saved<'_>, norm: Norm<'_>) {
    let (from, to) = (saved.x.shape, saved.dy.shape);
    from.check(saved.x.data.len());
    from.check(gradient.dx.len());
    to.check(saved.dy.data.len());
    assert!(from.fits(&to) && norm.gain.len() == from.size, "{from:?} to {to:?}");
    let all = [0, from.rows];
    let sequences = gradient.dgain.as_ref().map_or(&all[..], |dgain| dgain.sequences);
    offsets::check(sequences, from.rows);
    let cpu = match device {
        Device::Cpu(cpu) => cpu,
        Device::Cuda(cuda) => return cuda::rms_norm::backward(cuda, gradient, saved, norm),
    };
    let blocks = offsets::blocks(sequences, cpu::rms_norm::BLOCK);
    let sums = gradient.dgain.as_ref().map(|_| device.take(blocks.len() * from.size));
    let backward = cpu::rms_norm::Backward { saved, norm, blocks: &blocks, sums };
    cpu::rms_norm::backward(&cpu.threads, gradient, backward);
}

/// The gradient, given that of `y`, added to something else.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward_beside(
    device: &Device,
    gradient: GradientBeside<'_>,
    saved: Saved<'_>,
    norm: Norm<'_>,
) {
    let GradientBeside { dx, added, normed, .. } = &gradient;
    let from = saved.x.shape;
    let normed = normed.as_ref().map(|normed| (normed.shape, normed.data.len()));
    let others = [(dx.shape, dx.data.len()), (added.shape, added.data.len())];
    for (shape, length) in others.into_iter().chain(normed) {
        shape.check(length);
        assert!(shape.fits(&from), "{shape:?} and {from:?}");
    }
    if let Device::Cuda(cuda) = device {
        saved.dy.shape.check(saved.dy.data.len());
        assert!(saved.dy.shape.fits(&from) && norm.gain.len() == from.size, "{from:?}");
        return cuda::rms_norm::backward_beside(cuda, gradient, saved, norm);
    }
    // As `x` lies, and then where it goes.
    let GradientBeside { mut dx, added, normed, dgain } = gradient;
    if let Some(normed) = normed {
        forward(device, normed, saved.x, norm);
    }
    let (mut sums, used) = (device.zeros(saved.x.data.len()), from.heads * from.size);
    let rows = |view, shape: Heads| Matrix::strided(view, from.rows, used, shape.stride);
    let to = MatrixMut::strided(sums.view_mut(), from.rows, used, from.stride);
    copy_matrix(device, to, rows(added.data, added.shape));
    let mode = WriteMode::Accumulate;
    backward(device, Gradient { dx: sums.view_mut(), mode, dgain }, saved, norm);
    let stride = dx.shape.stride;
    let end = dx.data.len();
    let to = MatrixMut::strided(dx.data.part(0..end), from.rows, used, stride);
    copy_matrix(device, to, rows(sums.view(), from));
}
