//! Norms and rotary positions of query and key heads.
//!
//! What [`crate::rms_norm`] and then [`crate::rope`] do: on processors these, on CUDA one pass without a
//! rounding between them. The way back gives no gradient of the gains; where these are trained the two go
//! back one after the other.

use std::ops::Range;

use crate::attention::Shape;
use crate::buffer::{Buffer, View};
use crate::copy::copy_matrix;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut, WriteMode};
use crate::paged::{self, Cache, Store};
use crate::rms_norm::{self, Gradient, Heads, Norm};
use crate::rope::{self, Angles, RopeTable, Rotate};

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
    pub turns: &'a RopeTable,
    /// One for each row.
    pub positions: View<'a, u32>,
}

impl Placing<'_> {
    fn check(&self, rows: usize, cols: usize) {
        let Shape { size, .. } = *self.shape;
        assert!(rows == self.positions.len() && cols == self.shape.packed_width(), "rows to place");
        assert!(self.q_gain.len() == size && self.k_gain.len() == size, "a gain for each place");
    }

    /// Columns of queries and keys.
    fn rotated_columns(&self) -> usize {
        (self.shape.heads + self.shape.kv_heads) * self.shape.size
    }

    fn norms(&self) -> [HeadNorm; 2] {
        let Shape { heads, kv_heads, size, .. } = *self.shape;
        let queries = HeadNorm { columns: 0..heads * size, count: heads, size, is_key: false };
        let columns = heads * size..self.rotated_columns();
        [queries, HeadNorm { columns, count: kv_heads, size, is_key: true }]
    }

    fn turn(&self, device: &Device, x: &mut MatrixMut<'_>, direction: Rotate) {
        let Shape { heads, kv_heads, size, .. } = *self.shape;
        let heads = Heads { rows: x.rows, heads: heads + kv_heads, size, stride: x.stride };
        let angles = Angles { table: self.turns, positions: self.positions, direction };
        rope::turn(device, &mut x.data, heads, angles);
    }
}

/// Heads that share a gain, and their columns.
#[derive(Debug, Clone)]
struct HeadNorm {
    columns: Range<usize>,
    count: usize,
    size: usize,
    is_key: bool,
}

impl HeadNorm {
    fn heads(&self, rows: usize, stride: usize) -> Heads {
        Heads { rows, heads: self.count, size: self.size, stride }
    }

    fn norm<'a>(&self, placing: &Placing<'a>) -> Norm<'a> {
        let gain = if self.is_key { placing.k_gain } else { placing.q_gain };
        Norm { gain, epsilon: placing.epsilon }
    }
}

/// Whether there is a kernel for heads of this size whose rows lie so far apart: one that is faster than
/// norms and turns one after the other.
pub fn is_there(device: &Device, shape: &Shape, stride: usize) -> bool {
    let even = shape.size.is_multiple_of(8) && shape.size <= 128 && stride.is_multiple_of(8);
    matches!(device, Device::Cuda(_)) && even
}

/// Normed and turned queries and keys, and values as they are if there is room for them.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward(device: &Device, mut to: MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    placing.check(qkv.rows, qkv.cols);
    assert!((to.rows, 1) == (qkv.rows, qkv.col_stride), "a row for each row");
    assert!([placing.rotated_columns(), qkv.cols].contains(&to.cols), "queries and keys");
    match device {
        Device::Cpu(_) => {
            for norm in placing.norms() {
                let (to_heads, from_heads) =
                    (norm.heads(to.rows, to.stride), norm.heads(qkv.rows, qkv.row_stride));
                let part = to.columns(norm.columns.clone());
                let from = qkv.columns(norm.columns.clone());
                let y = rms_norm::Output { data: part.data, shape: to_heads };
                let x = rms_norm::Input { data: from.data, shape: from_heads };
                rms_norm::forward(device, y, x, norm.norm(&placing));
            }
            let values = placing.rotated_columns()..to.cols;
            copy_matrix(device, to.columns(values.clone()), qkv.columns(values));
            placing.turn(device, &mut to, Rotate::Forward);
        }
        Device::Cuda(cuda) => cuda::qk_norm_rope::forward(cuda, &mut to, qkv, placing),
    }
}

/// Placing, and where keys and values go.
#[derive(Debug)]
pub struct PlacingInPages<'a> {
    /// Norm gains, rotation and layout.
    pub placing: Placing<'a>,
    /// The pages.
    pub cache: &'a mut Cache,
    /// The layer of the cache.
    pub layer: usize,
    /// A slot for each row.
    pub slots: View<'a, u32>,
}

impl PlacingInPages<'_> {
    pub(crate) fn check(&self, rows: usize, cols: usize) {
        let Self { placing, cache, layer, slots } = self;
        placing.check(rows, cols);
        assert!(rows == slots.len() && *layer < cache.layers(), "a slot for each row");
    }
}

/// The same, and keys and values into their places of a layer's pages, as [`paged::store`] puts them.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward_and_store(
    device: &Device,
    mut to: MatrixMut<'_>,
    qkv: Matrix<'_>,
    with: PlacingInPages<'_>,
) {
    let PlacingInPages { placing, cache, layer, slots } = with;
    let Device::Cuda(cuda) = device else {
        forward(device, to.reborrow(), qkv, placing);
        return paged::store(device, Store { cache, layer, qkv: to.view(), slots });
    };
    placing.check(qkv.rows, qkv.cols);
    assert!((to.rows, to.cols, 1) == (qkv.rows, qkv.cols, qkv.col_stride), "a row for each row");
    let store = Store { cache, layer, qkv, slots };
    store.check();
    cuda::qk_norm_rope::forward_and_store(cuda, &mut to, store, placing);
}

/// Turns the gradients of placed queries and keys into those of what was placed; those of values stay.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward(device: &Device, mut d: MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    placing.check(qkv.rows, qkv.cols);
    assert!((d.rows, d.cols, 1) == (qkv.rows, qkv.cols, qkv.col_stride), "a row for each row");
    match device {
        Device::Cpu(_) => {
            placing.turn(device, &mut d, Rotate::Inverse);
            for norm in placing.norms() {
                let cols = norm.columns.len();
                let mut dy: Buffer = device.take(qkv.rows * cols);
                let copy = MatrixMut::new(dy.view_mut(), qkv.rows, cols);
                copy_matrix(device, copy, d.columns(norm.columns.clone()).view());
                // What comes back lies as what was placed does.
                let mut dx: Buffer = device.take(qkv.rows * cols);
                let mut x: Buffer = device.take(qkv.rows * cols);
                let copy = MatrixMut::new(x.view_mut(), qkv.rows, cols);
                copy_matrix(device, copy, qkv.columns(norm.columns.clone()));
                let shape = norm.heads(qkv.rows, cols);
                let gradient =
                    Gradient { dx: dx.view_mut(), mode: WriteMode::Overwrite, dgain: None };
                let x = rms_norm::Input { data: x.view(), shape };
                let dy = rms_norm::Input { data: dy.view(), shape };
                let saved = rms_norm::Saved { x, dy };
                rms_norm::backward(device, gradient, saved, norm.norm(&placing));
                let dx = Matrix::new(dx.view(), qkv.rows, cols);
                copy_matrix(device, d.columns(norm.columns.clone()), dx);
            }
        }
        Device::Cuda(cuda) => cuda::qk_norm_rope::backward(cuda, &mut d, qkv, placing),
    }
}
