//! `y = x · Wᵀ`, for weights that are numbers or bytes with a scale a row.
//!
//! Two ways forward. [`forward`] is for many rows: it is the fastest, and a row's bits may depend on
//! how many rows came with it. [`each_row`] is for the few rows of a decoding step: a row's bits
//! depend on that row alone, which is what makes a sample the same alone and in a batch.

use crate::buffer::View;
use crate::cpu;
use crate::device::Device;
use crate::int8;
use crate::matmul::{Before, Matrix, MatrixMut, matmul};

/// The weight of a projection: `outputs` rows of `inputs` numbers.
#[derive(Debug, Clone, Copy)]
pub enum Weight<'a> {
    /// As it is.
    F32(Matrix<'a>),
    /// Bytes, and for each row what one of them is worth.
    Int8 {
        /// The bytes, row by row.
        bytes: View<'a, i8>,
        /// One number for each row.
        scales: View<'a>,
        /// How long a row is.
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
        Self::F32(Matrix::new(data, outputs, inputs))
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::F32(matrix) => (matrix.rows, matrix.cols),
            Self::Int8 { scales, inputs, .. } => (scales.len(), *inputs),
        }
    }
}

/// Rows of a byte weight that are turned into numbers at a time.
pub const UNPACKED_ROWS: usize = 512;

/// `y = [y +] scale · x · Wᵀ`, for many rows.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward(
    device: &Device,
    mut y: MatrixMut<'_>,
    before: Before,
    (scale, x, weight): (f32, Matrix<'_>, Weight<'_>),
) {
    for_each_piece(device, weight, |begin, weight| {
        let part = y.columns(begin..begin + weight.rows);
        matmul(device, part, before, (scale, x, weight.turned()));
    });
}

/// `dx = [dx +] scale · dy · W`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward(
    device: &Device,
    mut dx: MatrixMut<'_>,
    before: Before,
    (scale, dy, weight): (f32, Matrix<'_>, Weight<'_>),
) {
    for_each_piece(device, weight, |begin, weight| {
        let before = if begin == 0 { before } else { Before::Kept };
        let dy = dy.columns(begin..begin + weight.rows);
        matmul(device, dx.again(), before, (scale, dy, weight));
    });
}

/// `y = [y +] scale · x · Wᵀ`, every row as if it were alone.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn each_row(
    device: &Device,
    mut y: MatrixMut<'_>,
    before: Before,
    (scale, x, weight): (f32, Matrix<'_>, Weight<'_>),
) {
    let (outputs, inputs) = weight.shape();
    assert!(y.rows == x.rows && y.cols == outputs && x.cols == inputs, "shapes of a projection");
    assert!(x.col_stride == 1, "rows of a transpose");
    let Device::Cpu(cpu) = device;
    cpu::thin::multiply(&cpu.threads, &mut y, before, (scale, x, weight));
}

/// Hands out the weight as numbers: at once, or so many rows at a time if it is bytes.
fn for_each_piece(device: &Device, weight: Weight<'_>, mut work: impl FnMut(usize, Matrix<'_>)) {
    match weight {
        Weight::F32(matrix) => work(0, matrix),
        Weight::Int8 { bytes, scales, inputs } => {
            let mut scratch = device.take(UNPACKED_ROWS.min(scales.len()) * inputs);
            for begin in (0..scales.len()).step_by(UNPACKED_ROWS) {
                let rows = UNPACKED_ROWS.min(scales.len() - begin);
                let bytes = bytes.part(begin * inputs..(begin + rows) * inputs);
                let mut to = scratch.view_mut();
                int8::unpack(
                    device,
                    &mut to.part(0..rows * inputs),
                    (bytes, scales.part(begin..begin + rows)),
                );
                work(begin, Matrix::new(scratch.view(), rows, inputs));
            }
        }
    }
}
