//! Several projections of one input as one product, adapters included.
//!
//! The weights `W` of projections that read the same `inputs` numbers lie one below the other in one
//! matrix of `[outputs + narrow, inputs + narrow]`: `W` top left, the first halves `A` of adapters below
//! it, their second halves `B` right of it, each beside its own projection's rows, zeros elsewhere.
//! With `u = s·x·Aᵀ` right of `x`, a row of `inputs + narrow` numbers,
//!
//! ```text
//! y = [x|u]·[W|B]ᵀ            du = s·dy·B, right of dy            dx = [dy|du]·[W; A]
//! ```
//!
//! so that an adapter costs one narrow product each way, and a result is summed in one order and rounded
//! once. On processors these are plain products; models there compute projections one by one
//! ([`crate::linear`]).

// size: the layout of the matrix, its products there and back, and the gates whose passes over the rows compute a
// part of these products are one contract.

use std::ops::Range;
use std::sync::Arc;

use crate::buffer::{Buffer, View, ViewMut};
use crate::copy::copy_matrix;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, matmul};
use crate::qk_norm_rope::{self, PlacingInPages};
use crate::swiglu;

/// Numbers of a matrix that weights share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of all projections.
    pub outputs: usize,
    /// Numbers that they read.
    pub inputs: usize,
    /// Rows of all first halves of adapters, a multiple of 8.
    pub narrow: usize,
}

impl Sizes {
    /// Numbers between the beginnings of two rows.
    pub fn stride(&self) -> usize {
        self.inputs + self.narrow
    }
}

/// Outputs that one adapter belongs to. Beside them the matrix is zero in the columns of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterRange {
    /// The outputs, behind those of the part before.
    pub outputs: Range<usize>,
    /// The adapter's columns of what is narrow; none where there is no adapter.
    pub narrow: Range<usize>,
}

/// Whether adapters take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrow {
    /// They do.
    With,
    /// They do, and what is narrow is there already.
    Ready,
    /// The weights alone.
    Without,
}

/// A part of the matrix that belongs to one weight.
#[derive(Debug, Clone)]
pub struct WeightBlock {
    pub(crate) matrix: Arc<Buffer>,
    pub(crate) first: usize,
    pub(crate) stride: usize,
}

impl WeightBlock {
    pub(crate) fn matrix(&self, rows: usize, cols: usize) -> Matrix<'_> {
        let all = self.matrix.view();
        let data = all.part(self.first..all.len());
        Matrix::strided(data, rows, cols, self.stride)
    }
}

/// Weights with their adapters.
#[derive(Debug, Clone)]
pub struct AugmentedWeight {
    matrix: Arc<Buffer>,
    sizes: Sizes,
    scale: f32,
    parts: Vec<AdapterRange>,
}

impl AugmentedWeight {
    /// Zeros. `scale` is the adapters' `s`.
    pub fn new(device: &Device, sizes: Sizes, scale: f32) -> Self {
        let numbers = (sizes.outputs + sizes.narrow) * sizes.stride();
        Self { matrix: Arc::new(device.zeros(numbers)), sizes, scale, parts: one_part(sizes) }
    }

    /// The same where each of several adapters has outputs of its own. What lies beside outputs in columns
    /// of another adapter must stay zero: a device need not look at it.
    ///
    /// # Panics
    ///
    /// If the parts are not the outputs in their order, or have columns that are not there.
    #[must_use]
    pub fn with_parts(self, parts: Vec<AdapterRange>) -> Self {
        let mut end = 0;
        for AdapterRange { outputs, narrow } in &parts {
            assert!(outputs.start == end && narrow.end <= self.sizes.narrow, "{parts:?}");
            end = outputs.end;
        }
        assert_eq!(end, self.sizes.outputs, "{parts:?}");
        Self { parts, ..self }
    }

    /// With these numbers, row by row.
    ///
    /// # Panics
    ///
    /// If they are not as many as the sizes say.
    pub fn with_numbers(device: &Device, sizes: Sizes, scale: f32, numbers: &[f32]) -> Self {
        let count = (sizes.outputs + sizes.narrow) * sizes.stride();
        assert_eq!(numbers.len(), count, "numbers of {sizes:?}");
        Self { matrix: Arc::new(device.upload(numbers)), sizes, scale, parts: one_part(sizes) }
    }

    /// Its dimensions.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The block of the weights that begin at this row.
    pub fn weight(&self, first_output: usize) -> WeightBlock {
        self.place(first_output, 0)
    }

    /// The block of the adapter's A matrix that begins at this row of all A matrices.
    pub fn first_half(&self, first_narrow: usize) -> WeightBlock {
        self.place(self.sizes.outputs + first_narrow, 0)
    }

    /// The block of the same adapter's B matrix, beside the weights it belongs to.
    pub fn second_half(&self, first_output: usize, first_narrow: usize) -> WeightBlock {
        self.place(first_output, self.sizes.inputs + first_narrow)
    }

    fn place(&self, row: usize, column: usize) -> WeightBlock {
        let stride = self.sizes.stride();
        WeightBlock { matrix: Arc::clone(&self.matrix), first: row * stride + column, stride }
    }

    pub(crate) fn view(&self) -> View<'_> {
        self.matrix.view()
    }

    /// All of it as a matrix.
    fn all(&self) -> Matrix<'_> {
        let Sizes { outputs, narrow, .. } = self.sizes;
        Matrix::new(self.view(), outputs + narrow, self.sizes.stride())
    }

    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }

    pub(crate) fn parts(&self) -> &[AdapterRange] {
        &self.parts
    }
}

/// All of it.
fn one_part(sizes: Sizes) -> Vec<AdapterRange> {
    vec![AdapterRange { outputs: 0..sizes.outputs, narrow: 0..sizes.narrow }]
}

/// Weights, and whether their adapters take part.
#[derive(Debug, Clone, Copy)]
pub struct FusedWeight<'a> {
    /// Weights with their adapters.
    pub weight: &'a AugmentedWeight,
    /// Whether the adapters take part.
    pub narrow: Narrow,
}

/// A result, and what is added to it.
#[derive(Debug)]
pub struct Output<'a> {
    /// The result.
    pub y: MatrixMut<'a>,
    /// A number for each of the result's.
    pub residual: Option<Matrix<'a>>,
}

/// `u = s·x·Aᵀ` right of `x`, whose rows have room for it.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn narrow(device: &Device, x: &mut MatrixMut<'_>, weight: &AugmentedWeight) {
    assert_eq!(x.cols, weight.sizes.stride(), "rows with room for what is narrow");
    match device {
        Device::Cpu(_) => {
            let Sizes { outputs, inputs, narrow } = weight.sizes;
            let halves = weight.all().row_range(outputs..outputs + narrow).columns(0..inputs);
            multiply_beside(device, x, weight.scale, halves.transposed());
        }
        Device::Cuda(cuda) => cuda::fused_linear::narrow(cuda, x, weight),
    }
}

/// `y = [residual +] x·Wᵀ`, with adapters if they take part; `u` is then right of `x`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward(device: &Device, output: Output<'_>, x: &mut MatrixMut<'_>, fused: FusedWeight<'_>) {
    let FusedWeight { weight, narrow: part } = fused;
    let (sizes, Output { y, residual }) = (weight.sizes, &output);
    assert!(x.cols == sizes.stride() && x.rows == y.rows && y.cols == sizes.outputs, "{sizes:?}");
    if let Some(residual) = residual {
        let same = (residual.rows, residual.cols, residual.col_stride) == (y.rows, y.cols, 1);
        assert!(same, "a residual for each number");
    }
    match device {
        Device::Cpu(_) => {
            let Output { mut y, residual } = output;
            if part == Narrow::With {
                narrow(device, x, weight);
            }
            let with = part != Narrow::Without;
            let mode =
                if residual.is_some() { WriteMode::Accumulate } else { WriteMode::Overwrite };
            if let Some(residual) = residual {
                copy_matrix(device, y.reborrow(), residual);
            }
            let inner = 0..if with { sizes.stride() } else { sizes.inputs };
            let weights = weight.all().row_range(0..sizes.outputs).columns(inner.clone());
            let x = x.view().columns(inner);
            matmul(device, y, mode, ScaledProduct { scale: 1.0, a: x, b: weights.transposed() });
        }
        Device::Cuda(cuda) => cuda::fused_linear::forward(cuda, output, x, fused),
    }
}

/// `y = silu(gate) · up`, where the first half of the outputs is the gate and the second goes through it;
/// both are rounded as results are. With adapters if they take part; what is narrow may not be there afterwards.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward_gated(
    device: &Device,
    mut y: MatrixMut<'_>,
    x: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) {
    let (sizes, rows) = (fused.weight.sizes, y.rows);
    assert!(x.cols == sizes.stride() && x.rows == rows && 2 * y.cols == sizes.outputs, "{sizes:?}");
    if let Device::Cuda(cuda) = device
        && cuda::fused_linear::forward_gated(cuda, y.reborrow(), x, fused)
    {
        return;
    }
    let mut both: Buffer = device.take(rows * sizes.outputs);
    let to = MatrixMut::new(both.view_mut(), rows, sizes.outputs);
    forward(device, Output { y: to, residual: None }, x, fused);
    swiglu::forward_rows(device, y, Matrix::new(both.view(), rows, sizes.outputs));
}

/// Queries, keys and values as [`qk_norm_rope::forward_and_store`] places them, from the input of their
/// projection. What is narrow may not be there afterwards.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward_heads(
    device: &Device,
    mut to: MatrixMut<'_>,
    x: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
    mut with: PlacingInPages<'_>,
) {
    let (sizes, rows) = (fused.weight.sizes, to.rows);
    assert!(x.cols == sizes.stride() && x.rows == rows && to.cols == sizes.outputs, "{sizes:?}");
    with.check(rows, to.cols);
    if let Device::Cuda(cuda) = device
        && cuda::fused_linear::forward_heads(cuda, &mut to, x, fused, &mut with)
    {
        return;
    }
    let mut qkv: Buffer = device.take(rows * sizes.outputs);
    let y = MatrixMut::new(qkv.view_mut(), rows, sizes.outputs);
    forward(device, Output { y, residual: None }, x, fused);
    qk_norm_rope::forward_and_store(device, to, Matrix::new(qkv.view(), rows, sizes.outputs), with);
}

/// A gate and what goes through it side by side, and a place for the narrow product of what comes out.
#[derive(Debug)]
pub struct Gated<'a> {
    /// Rows of both.
    pub both: Matrix<'a>,
    /// Gets `u` once more, rows side by side, if adapters take part and it is computed here.
    pub kept: ViewMut<'a>,
}

/// `x = silu(gate) · up` as the input of a projection, rows that have room. Some devices compute `u` in the same
/// pass: says whether adapters take part in the projection, and whether `u` is ready.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn gated_input(
    device: &Device,
    x: &mut MatrixMut<'_>,
    mut gated: Gated<'_>,
    fused: FusedWeight<'_>,
) -> Narrow {
    let FusedWeight { weight, narrow: part } = fused;
    let (Sizes { inputs, narrow, .. }, both) = (weight.sizes, gated.both);
    assert!(x.cols == inputs + narrow && x.rows == both.rows, "{:?}", weight.sizes);
    assert!(both.cols == 2 * inputs && both.col_stride == 1, "rows of both");
    if let Device::Cuda(cuda) = device
        && part == Narrow::With
        && gated.kept.len() == x.rows * narrow
        && cuda::gated_narrow::forward(cuda, x, &mut gated, weight)
    {
        return Narrow::Ready;
    }
    swiglu::forward_rows(device, x.columns(0..inputs), both);
    part
}

/// Turns a gate and what goes through it, the outputs of a projection, into their gradients, and `dy` into
/// `silu(gate) · up`. Some devices compute `du` in the same pass, right of both: says whether adapters take part
/// in what comes back, and whether `du` is ready.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn gated_backward(
    device: &Device,
    mut dy: MatrixMut<'_>,
    both: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) -> Narrow {
    let FusedWeight { weight, narrow: part } = fused;
    let Sizes { outputs, narrow, .. } = weight.sizes;
    assert!(both.cols == outputs + narrow && both.rows == dy.rows, "{:?}", weight.sizes);
    assert!(2 * dy.cols == outputs, "rows of both");
    if let Device::Cuda(cuda) = device
        && part == Narrow::With
        && cuda::gated_narrow::backward(cuda, &mut dy, both, weight)
    {
        return Narrow::Ready;
    }
    swiglu::backward_rows(device, dy, both.columns(0..outputs));
    part
}

/// `du` right of `dy`, whose rows have room for it: for projections whose input nothing trained lies before.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward_narrow(device: &Device, dy: &mut MatrixMut<'_>, weight: &AugmentedWeight) {
    let Sizes { outputs, inputs, narrow } = weight.sizes;
    assert!(dy.cols == outputs + narrow, "{:?}", weight.sizes);
    match device {
        Device::Cpu(_) => {
            let halves = weight.all().row_range(0..outputs).columns(inputs..inputs + narrow);
            multiply_beside(device, dy, weight.scale, halves);
        }
        Device::Cuda(cuda) => cuda::fused_linear::backward_narrow(cuda, dy, weight),
    }
}

/// `dx = dy·W`, with adapters if they take part; `du` is then right of `dy`, whose rows have room for
/// it.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward(
    device: &Device,
    dx: MatrixMut<'_>,
    dy: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) {
    let FusedWeight { weight, narrow: part } = fused;
    let Sizes { outputs, inputs, narrow } = weight.sizes;
    let fits = dy.cols == outputs + narrow && dy.rows == dx.rows && dx.cols == inputs;
    assert!(fits, "{:?}", weight.sizes);
    match device {
        Device::Cpu(_) => {
            let mut inner = 0..outputs;
            if part == Narrow::With {
                backward_narrow(device, dy, weight);
            }
            if part != Narrow::Without {
                inner.end += narrow;
            }
            let weights = weight.all().row_range(inner.clone()).columns(0..inputs);
            let product = ScaledProduct { scale: 1.0, a: dy.view().columns(inner), b: weights };
            matmul(device, dx, WriteMode::Overwrite, product);
        }
        Device::Cuda(cuda) => cuda::fused_linear::backward(cuda, dx, dy, fused),
    }
}

/// On a processor: the first columns times a scaled matrix with a row for each of them, into the
/// columns behind them.
fn multiply_beside(device: &Device, rows: &mut MatrixMut<'_>, scale: f32, by: Matrix<'_>) {
    let (count, cols, inputs) = (rows.rows, rows.cols, by.rows);
    let mut from: Buffer = device.take(count * inputs);
    let to = MatrixMut::new(from.view_mut(), count, inputs);
    copy_matrix(device, to, rows.view().columns(0..inputs));
    let from = Matrix::new(from.view(), count, inputs);
    let product = ScaledProduct { scale, a: from, b: by };
    matmul(device, rows.columns(inputs..cols), WriteMode::Overwrite, product);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_halves_have_places_of_their_own() {
        let device = Device::cpu(1).unwrap();
        let sizes = Sizes { outputs: 10, inputs: 6, narrow: 8 };
        let weight = AugmentedWeight::new(&device, sizes, 2.0);
        let mut owners = vec![0; 18 * 14];
        let mut own = |place: &WeightBlock, rows: usize, cols: usize, owner: i32| {
            for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
                let at = place.first + row * place.stride + col;
                assert_eq!(std::mem::replace(&mut owners[at], owner), 0, "{row} {col}");
            }
        };
        own(&weight.weight(0), 7, 6, 1);
        own(&weight.weight(7), 3, 6, 2);
        own(&weight.first_half(0), 4, 6, 3);
        own(&weight.first_half(4), 4, 6, 4);
        own(&weight.second_half(0, 0), 7, 4, 5);
        own(&weight.second_half(7, 4), 3, 4, 6);
        let row = |at: usize| owners[at * 14..(at + 1) * 14].to_vec();
        assert_eq!(row(0), [1, 1, 1, 1, 1, 1, 5, 5, 5, 5, 0, 0, 0, 0]);
        assert_eq!(row(9), [2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 6, 6, 6, 6]);
        assert_eq!(row(17), [4, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn parts_are_the_outputs_in_their_order() {
        let device = Device::cpu(1).unwrap();
        let sizes = Sizes { outputs: 10, inputs: 6, narrow: 8 };
        let weight = || AugmentedWeight::new(&device, sizes, 2.0);
        let part = |outputs, narrow| AdapterRange { outputs, narrow };
        assert_eq!(weight().parts(), [part(0..10, 0..8)]);
        let two = vec![part(0..7, 0..4), part(7..10, 4..8)];
        assert_eq!(weight().with_parts(two.clone()).parts(), two);
        for wrong in [
            vec![part(0..7, 0..4)],
            vec![part(0..7, 0..4), part(8..10, 4..8)],
            vec![part(0..7, 0..4), part(7..10, 4..9)],
        ] {
            let refused = std::panic::AssertUnwindSafe(|| weight().with_parts(wrong));
            assert!(std::panic::catch_unwind(refused).is_err());
        }
    }
}
