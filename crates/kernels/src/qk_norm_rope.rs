//! Norms and rotary positions of query and key heads in one pass: on CUDA.
//!
//! What [`crate::rms_norm`] and then [`crate::rope`] do, without a rounding between them. The way back
//! gives no gradient of the gains; where these are trained the two go back one after the other.

use crate::attention::Shape;
use crate::buffer::View;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};
use crate::rope::Turns;

/// What is said if a processor is asked.
const APART: &str = "processors norm and turn one after the other";

/// Gains, positions and how heads lie.
#[derive(Debug, Clone, Copy)]
pub struct Placing<'a> {
    /// Heads of a row.
    pub shape: &'a Shape,
    /// The gain of query heads.
    pub q_gain: View<'a>,
    /// That of key heads.
    pub k_gain: View<'a>,
    /// The small number of the norm.
    pub epsilon: f32,
    /// Tables of positions.
    pub turns: &'a Turns,
    /// One for each row.
    pub positions: View<'a, u32>,
}

impl Placing<'_> {
    fn check(&self, rows: usize, cols: usize) {
        let Shape { size, .. } = *self.shape;
        assert!(rows == self.positions.len() && cols == self.shape.packed_width(), "rows to place");
        assert!(self.q_gain.len() == size && self.k_gain.len() == size, "a gain for each place");
    }
}

/// Whether there is a kernel for heads of this size whose rows lie so far apart.
pub fn is_there(device: &Device, shape: &Shape, stride: usize) -> bool {
    let even = shape.size.is_multiple_of(8) && shape.size <= 128 && stride.is_multiple_of(8);
    matches!(device, Device::Cuda(_)) && even
}

/// Normed and turned queries and keys, and values as they are.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor.
pub fn forward(device: &Device, mut to: MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    placing.check(qkv.rows, qkv.cols);
    assert!((to.rows, to.cols, 1) == (qkv.rows, qkv.cols, qkv.col_stride), "a row for each row");
    match device {
        Device::Cpu(_) => panic!("{APART}"),
        Device::Cuda(cuda) => cuda::qk_norm_rope::forward(cuda, &mut to, qkv, placing),
    }
}

/// Turns the gradients of placed queries and keys into those of what was placed; those of values stay.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor.
pub fn backward(device: &Device, mut d: MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    placing.check(qkv.rows, qkv.cols);
    assert!((d.rows, d.cols, 1) == (qkv.rows, qkv.cols, qkv.col_stride), "a row for each row");
    match device {
        Device::Cpu(_) => panic!("{APART}"),
        Device::Cuda(cuda) => cuda::qk_norm_rope::backward(cuda, &mut d, qkv, placing),
    }
}
