//! `y = x · Wᵀ`, for weights that are numbers or bytes with a scale a row.
//!
//! A row's bits depend on that row alone, never on the other rows: that makes a sample the same
//! alone and in a batch. The contribution of a sequence to a weight's gradient depends on its rows
//! alone.

use std::ops::Range;

use crate::buffer::{Activation, Element, Real, View};
use crate::cuda;
use crate::device::Device;
use crate::int8;
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, add_pieces, matmul};
use crate::offsets::{self, Offsets};

/// The weight of a projection: `outputs` rows of `inputs` numbers.
#[derive(Debug, Clone, Copy)]
pub enum Weight<'a> {
    /// As it is.
    Full(Matrix<'a>),
    /// Bytes, and for each row what one of them is worth.
    Int8 {
        /// The bytes, row by row.
        bytes: View<'a, i8>,
        /// One number for each row.
        scales: View<'a, f32>,
        /// Length of a row.
        inputs: usize,
    },
}

impl<'a> Weight<'a> {
    /// Rows side by side.
    ///
    /// # Panics
    ///
    /// If the view is not that long.
    pub fn new(data: View<'a>, outputs: usize, inputs: usize) -> Self {
        Self::Full(Matrix::new(data, outputs, inputs))
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Full(matrix) => (matrix.rows, matrix.cols),
            Self::Int8 { scales, inputs, .. } => (scales.len(), *inputs),
        }
    }

    /// Some of its rows.
    ///
    /// # Panics
    ///
    /// If it has not that many.
    #[must_use]
    pub fn row_range(self, range: Range<usize>) -> Self {
        match self {
            Self::Full(matrix) => Self::Full(matrix.row_range(range)),
            Self::Int8 { bytes, scales, inputs } => Self::Int8 {
                bytes: bytes.part(range.start * inputs..range.end * inputs),
                scales: scales.part(range),
                inputs,
            },
        }
    }
}

/// Rows of a byte weight that are turned into numbers at a time on a processor.
pub const UNPACKED_ROWS: usize = 512;

/// `scale · x · Wᵀ`.
#[derive(Debug, Clone, Copy)]
pub struct Forward<'a> {
    /// Multiplies every sum.
    pub scale: f32,
    /// The input, a row for each token.
    pub x: Matrix<'a>,
    /// `W`.
    pub weight: Weight<'a>,
}

/// `scale · dy · W`.
#[derive(Debug, Clone, Copy)]
pub struct Backward<'a, T: Element = Activation> {
    /// Multiplies every sum.
    pub scale: f32,
    /// The gradient of the output, a row for each token.
    pub dy: Matrix<'a, T>,
    /// `W`.
    pub weight: Weight<'a>,
}

/// `y = [y +] scale · x · Wᵀ`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward<T: Real>(
    device: &Device,
    mut y: MatrixMut<'_, T>,
    mode: WriteMode,
    forward: Forward<'_>,
) {
    let Forward { scale, x, weight } = forward;
    for_each_piece(device, weight, |begin, weight| {
        let part = y.columns(begin..begin + weight.rows);
        matmul(device, part, mode, ScaledProduct { scale, a: x, b: weight.transposed() });
    });
}

/// `dx = [dx +] scale · dy · W`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward<T: Real>(
    device: &Device,
    mut dx: MatrixMut<'_>,
    mode: WriteMode,
    backward: Backward<'_, T>,
) {
    let Backward { scale, dy, weight } = backward;
    for_each_piece(device, weight, |begin, weight| {
        let mode = if begin == 0 { mode } else { WriteMode::Accumulate };
        let dy = dy.columns(begin..begin + weight.rows);
        matmul(device, dx.reborrow(), mode, ScaledProduct { scale, a: dy, b: weight });
    });
}

/// `dW += scale · dyᵀ · x`, a sum over the rows of one sequence after another.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward_weight<T: Real>(
    device: &Device,
    gradient: WeightGradient<'_, T>,
    sequences: Offsets<'_>,
) {
    let WeightGradient { to, scale, dy, x } = gradient;
    let product = ScaledProduct { scale, a: dy.transposed(), b: x };
    add_pieces(device, to, product, sequences);
}

/// The gradient of a weight: `to += scale · dyᵀ · x`.
#[derive(Debug)]
pub struct WeightGradient<'a, T: Element = Activation> {
    /// Is added to: a row for each column of `dy`, a column for each of `x`.
    pub to: MatrixMut<'a, f32>,
    /// Scale of the product.
    pub scale: f32,
    /// Gradient of the output.
    pub dy: Matrix<'a, T>,
    /// Input of the forward pass.
    pub x: Matrix<'a>,
}

/// Several gradients of narrow weights, each a sum over the rows of one sequence after another, as
/// [`backward_weight`] adds one.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward_weights(
    device: &Device,
    gradients: &mut [WeightGradient<'_>],
    sequences: Offsets<'_>,
) {
    for WeightGradient { to, dy, x, .. } in gradients.iter() {
        offsets::check(sequences, dy.rows);
        let fits = to.rows == dy.cols && to.cols == x.cols && dy.rows == x.rows;
        assert!(fits && dy.col_stride == 1 && x.col_stride == 1, "a gradient of a weight");
    }
    if let Device::Cuda(cuda) = device
        && cuda::weight_gradients::add_all(cuda, gradients, sequences)
    {
        return;
    }
    for WeightGradient { to, scale, dy, x } in gradients {
        let gradient = WeightGradient { to: to.reborrow(), scale: *scale, dy: *dy, x: *x };
        backward_weight(device, gradient, sequences);
    }
}

/// Calls a function with the weight as numbers: at once or, for an int8 weight on the CPU, some
/// rows at a time. On CUDA a result is rounded after each piece, so there is only one.
fn for_each_piece(device: &Device, weight: Weight<'_>, mut work: impl FnMut(usize, Matrix<'_>)) {
    match weight {
        Weight::Full(matrix) => work(0, matrix),
        Weight::Int8 { bytes, scales, inputs } => {
            let at_once = match device {
                Device::Cpu(_) => UNPACKED_ROWS,
                Device::Cuda(_) => scales.len().max(1),
            };
            let mut scratch = device.take(at_once.min(scales.len()) * inputs);
            for begin in (0..scales.len()).step_by(at_once) {
                let rows = at_once.min(scales.len() - begin);
                let bytes = bytes.part(begin * inputs..(begin + rows) * inputs);
                let mut to = scratch.view_mut();
                int8::unpack(
                    device,
                    &mut to.part(0..rows * inputs),
                    bytes,
                    scales.part(begin..begin + rows),
                );
                work(begin, Matrix::new(scratch.view(), rows, inputs));
            }
        }
    }
}
