//! Matrices in buffers, and their product.

use std::ops::Range;

use crate::buffer::{Activation, Element, Real, View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::offsets::{self, Offsets};

/// A matrix in a buffer: rows with a stride, or their transpose.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a, T: Element = Activation> {
    pub(crate) data: View<'a, T>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

/// A mutable matrix, always by rows.
#[derive(Debug)]
pub struct MatrixMut<'a, T: Element = Activation> {
    pub(crate) data: ViewMut<'a, T>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
}

impl<'a, T: Element> Matrix<'a, T> {
    /// Rows of `cols` numbers side by side.
    ///
    /// # Panics
    ///
    /// If the view is too short for them.
    pub fn new(data: View<'a, T>, rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, cols)
    }

    /// Rows of `cols` numbers, `stride` apart.
    ///
    /// # Panics
    ///
    /// If the view is too short for them.
    pub fn strided(data: View<'a, T>, rows: usize, cols: usize, stride: usize) -> Self {
        check(data.len(), rows, cols, stride);
        Self { data, rows, cols, row_stride: stride, col_stride: 1 }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The transpose, without moving anything.
    #[must_use]
    pub fn transposed(self) -> Self {
        let Self { data, rows, cols, row_stride, col_stride } = self;
        Self { data, rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride }
    }

    /// Some of its rows.
    ///
    /// # Panics
    ///
    /// If it has not that many.
    #[must_use]
    pub fn row_range(self, range: Range<usize>) -> Self {
        assert!(range.end <= self.rows, "rows {range:?} of {}", self.rows);
        let begin = (range.start * self.row_stride).min(self.data.len());
        let data = self.data.part(begin..self.data.len());
        Self { data, rows: range.len(), ..self }
    }

    /// Some of its columns.
    ///
    /// # Panics
    ///
    /// If it has not that many.
    #[must_use]
    pub fn columns(self, range: Range<usize>) -> Self {
        assert!(range.end <= self.cols, "columns {range:?} of {}", self.cols);
        let begin = (range.start * self.col_stride).min(self.data.len());
        let data = self.data.part(begin..self.data.len());
        Self { data, cols: range.len(), ..self }
    }
}

impl<'a, T: Element> MatrixMut<'a, T> {
    /// Rows of `cols` numbers side by side.
    ///
    /// # Panics
    ///
    /// If the view is too short for them.
    pub fn new(data: ViewMut<'a, T>, rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, cols)
    }

    /// Rows of `cols` numbers, `stride` apart.
    ///
    /// # Panics
    ///
    /// If the view is too short for them.
    pub fn strided(data: ViewMut<'a, T>, rows: usize, cols: usize, stride: usize) -> Self {
        check(data.len(), rows, cols, stride);
        Self { data, rows, cols, stride }
    }

    /// A read-only view of the same matrix.
    pub fn view(&self) -> Matrix<'_, T> {
        Matrix::strided(self.data.view(), self.rows, self.cols, self.stride)
    }

    /// A shorter borrow, for a call that takes the matrix by value.
    pub fn reborrow(&mut self) -> MatrixMut<'_, T> {
        MatrixMut { data: self.data.reborrow(), ..*self }
    }

    /// Some of its rows.
    ///
    /// # Panics
    ///
    /// If it has not that many.
    pub fn row_range(&mut self, range: Range<usize>) -> MatrixMut<'_, T> {
        assert!(range.end <= self.rows, "rows {range:?} of {}", self.rows);
        let end = self.data.len();
        let begin = (range.start * self.stride).min(end);
        MatrixMut { data: self.data.part(begin..end), rows: range.len(), ..*self }
    }

    /// Some of its columns.
    ///
    /// # Panics
    ///
    /// If it has not that many.
    pub fn columns(&mut self, range: Range<usize>) -> MatrixMut<'_, T> {
        assert!(range.end <= self.cols, "columns {range:?} of {}", self.cols);
        let begin = range.start.min(self.data.len());
        let end = self.data.len();
        MatrixMut { data: self.data.part(begin..end), cols: range.len(), ..*self }
    }
}

impl<'a, T: Real> Matrix<'a, T> {
    /// On a processor every kind of number with a fraction is the same.
    pub(crate) fn on_host<U: Real>(self) -> Matrix<'a, U> {
        let Self { data, rows, cols, row_stride, col_stride } = self;
        Matrix { data: data.on_host(), rows, cols, row_stride, col_stride }
    }
}

impl<'a, T: Real> MatrixMut<'a, T> {
    /// Like [`Matrix::on_host`], mutable.
    pub(crate) fn on_host<U: Real>(self) -> MatrixMut<'a, U> {
        let Self { data, rows, cols, stride } = self;
        MatrixMut { data: data.on_host(), rows, cols, stride }
    }
}

fn check(length: usize, rows: usize, cols: usize, stride: usize) {
    let last = rows.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride));
    let end = last.and_then(|last| last.checked_add(if rows == 0 { 0 } else { cols }));
    assert!(
        cols <= stride && end.is_some_and(|end| end <= length),
        "{rows} rows of {cols}, {stride} apart, in {length} numbers"
    );
}

/// Whether a result overwrites the destination or is added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// The old values are not read.
    Overwrite,
    /// The new values are added to the old ones.
    Accumulate,
}

/// `scale · a · b`.
#[derive(Debug, Clone, Copy)]
pub struct ScaledProduct<'a, A: Element = Activation, B: Element = Activation> {
    /// Multiplies every sum.
    pub scale: f32,
    /// The left matrix.
    pub a: Matrix<'a, A>,
    /// The right matrix, with a row for each column of `a`.
    pub b: Matrix<'a, B>,
}

/// A product and the matrix that it is written to.
#[derive(Debug)]
pub(crate) struct Multiply<'a, T: Element, A: Element, B: Element> {
    pub(crate) to: MatrixMut<'a, T>,
    pub(crate) mode: WriteMode,
    pub(crate) product: ScaledProduct<'a, A, B>,
}

impl<'a, T: Real, A: Real, B: Real> Multiply<'a, T, A, B> {
    /// On a processor every kind of number with a fraction is the same.
    fn on_host(self) -> Multiply<'a, Activation, Activation, Activation> {
        let Self { to, mode, product: ScaledProduct { scale, a, b } } = self;
        let product = ScaledProduct { scale, a: a.on_host(), b: b.on_host() };
        Multiply { to: to.on_host(), mode, product }
    }
}

/// `to = [to +] scale · a · b`.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn matmul<T: Real, A: Real, B: Real>(
    device: &Device,
    to: MatrixMut<'_, T>,
    mode: WriteMode,
    product: ScaledProduct<'_, A, B>,
) {
    check_product(&to, product);
    let inner = product.a.cols;
    let multiply = Multiply { to, mode, product };
    match device {
        Device::Cpu(cpu) => {
            cpu::product::multiply(&cpu.threads, multiply.on_host(), &[0, inner]);
        }
        Device::Cuda(cuda) => cuda::product::multiply(cuda, multiply),
    }
}

/// `to += scale · a · b`, piece by piece of the inner dimension: the contribution of a piece
/// depends on that piece alone.
///
/// # Panics
///
/// If the shapes do not fit.
pub(crate) fn add_pieces<T: Real, A: Real, B: Real>(
    device: &Device,
    mut to: MatrixMut<'_, T>,
    product: ScaledProduct<'_, A, B>,
    pieces: Offsets<'_>,
) {
    check_product(&to, product);
    offsets::check(pieces, product.a.cols);
    let mode = WriteMode::Accumulate;
    match device {
        Device::Cpu(cpu) => {
            let multiply = Multiply { to, mode, product };
            cpu::product::multiply(&cpu.threads, multiply.on_host(), pieces);
        }
        Device::Cuda(cuda) => {
            let mut all = Multiply { to: to.reborrow(), mode, product };
            if cuda::weight_gradients::add_one(cuda, &mut all, pieces) {
                return;
            }
            let ScaledProduct { scale, a, b } = product;
            for ends in pieces.windows(2).filter(|ends| ends[0] < ends[1]) {
                let (a, b) = (a.columns(ends[0]..ends[1]), b.row_range(ends[0]..ends[1]));
                let product = ScaledProduct { scale, a, b };
                cuda::product::multiply(cuda, Multiply { to: to.reborrow(), mode, product });
            }
        }
    }
}

fn check_product<T: Element, A: Element, B: Element>(
    to: &MatrixMut<'_, T>,
    product: ScaledProduct<'_, A, B>,
) {
    let ScaledProduct { a, b, .. } = product;
    assert!(
        a.rows == to.rows && b.cols == to.cols && a.cols == b.rows,
        "a product of {}x{} and {}x{} is not {}x{}",
        a.rows,
        a.cols,
        b.rows,
        b.cols,
        to.rows,
        to.cols
    );
}
