//! Products: by an algorithm of cuBLASLt that keeps the order of accumulation, else by our own kernel.
//!
//! A number of a product is one sum in f32, from the first to the last k, 16 at a time, as the tensor
//! core does it, then multiplied by the scale, then added to what is there, then rounded once
//! (`docs/adr/0016-accumulation-order.md`). Which algorithms keep to that is found out in `order/`.
//!
//! A residual is added by the library, in f32 before it rounds. Its addition to what a bf16 result holds
//! itself was seen to have other bits: such a product is computed to f32 and added by a kernel of ours, so
//! that it is `bf16(product + what is there)`.

use super::Cuda;
use super::choices::Choice;
use super::driver::{Addend, Algorithm, Argument, Format, Launch, Operands, Order, Product};
use super::elementwise::{blocks, to_bf16};
use super::order::{fastest_in_order, in_order_of, is_large, representative};
use super::weight_gradients::add_one;
use crate::buffer::{Buffer, Real, View};
use crate::matmul::{Matrix, Multiply, ScaledProduct, WriteMode};
use Argument::{Address, F32, Four, U32, U64};

/// How a device sums up products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccumulationOrder {
    /// Every algorithm that is used gives every bit of the one order.
    BitForBit,
    /// The library has no such algorithm for this shape: our own kernel computes.
    OwnKernel,
}

/// What was seen of the algorithms for one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidates {
    /// How many the library named.
    pub named: usize,
    /// How many of them kept the order.
    pub in_order: usize,
}

pub(crate) fn multiply<T: Real, A: Real, B: Real>(
    cuda: &Cuda,
    mut multiply: Multiply<'_, T, A, B>,
) {
    let (rows, cols, inner) = (multiply.to.rows, multiply.to.cols, multiply.product.a.cols);
    let nothing = rows == 0 || cols == 0;
    // A weight's gradient: how long its sums are changes from call to call, and no algorithm of the
    // library is looked for.
    let mut added =
        || multiply.mode == WriteMode::Accumulate && add_one(cuda, &mut multiply, &[0, inner]);
    if nothing || added() {
        return;
    }
    let Multiply { mut to, mode, product: ScaledProduct { scale, a, b } } = multiply;
    let (a_copy, b_copy) = (as_bf16(cuda, a.data), as_bf16(cuda, b.data));
    let address = |copy: &Option<Buffer>, own: u64| {
        copy.as_ref().map_or(own, |copy| copy.view().cuda().address)
    };
    let operands = Operands {
        a: address(&a_copy, a.data.cuda().address),
        b: address(&b_copy, b.data.cuda().address),
        to: to.data.cuda().address,
        residual: 0,
    };
    let product = Product {
        rows: blocks(to.rows),
        cols: blocks(to.cols),
        inner: blocks(a.cols),
        a: order_of(a),
        b: order_of(b),
        to_stride: to.stride as u64,
        to_format: T::FORMAT.unwrap_or(Format::F32),
        scale_bits: scale.to_bits(),
        addend: addend_of(mode),
    };
    multiply_at(cuda, &product, &operands);
}

/// The same by addresses, for operands that lie in one buffer.
pub(super) fn multiply_at(cuda: &Cuda, product: &Product, operands: &Operands) {
    if product.addend == Addend::Result && product.to_format == Format::Bf16 {
        add_to_bf16(cuda, product, operands);
    } else if !by_library(cuda, product, operands) {
        in_order(cuda, product, operands);
    }
}

/// A product to bf16 and a residual, added in f32 and rounded once.
pub(super) fn multiply_beside(
    cuda: &Cuda,
    product: &Product,
    operands: &Operands,
    residual: Matrix<'_>,
) {
    let with = Product { addend: Addend::Residual, ..*product };
    let at = Operands { residual: residual.data.cuda().address, ..*operands };
    if residual.row_stride as u64 == product.to_stride && by_library(cuda, &with, &at) {
        return;
    }
    let alone = without_addition(product);
    let numbers = u64::from(alone.rows).saturating_mul(alone.to_stride);
    let exact: Buffer<f32> = cuda.take(usize::try_from(numbers).unwrap_or(usize::MAX));
    let to = exact.view().cuda().address;
    let exact_operands = Operands { to, ..*operands };
    if !by_library(cuda, &alone, &exact_operands) {
        in_order(cuda, &alone, &exact_operands);
    }
    let arguments = [
        Address(operands.to),
        U64(product.to_stride),
        Address(residual.data.cuda().address),
        U64(residual.row_stride as u64),
        Address(to),
        U64(alone.to_stride),
        U64(u64::from(product.rows)),
        U64(u64::from(product.cols)),
    ];
    let blocks = cuda.blocks_for((product.rows as usize).saturating_mul(256));
    cuda.launch("add_residual", Launch::new(blocks, 256), &arguments);
}

/// Computes by an algorithm of the library that keeps the order, if there is one for it.
fn by_library(cuda: &Cuda, product: &Product, operands: &Operands) -> bool {
    let Some(by) = algorithm(cuda, product).filter(|_| operands_fit(product, operands)) else {
        return false;
    };
    if cuda.is_idle() {
        return true;
    }
    // An algorithm of the range that does not take this very shape is no failure of the device.
    cuda.0.driver.multiply(product, operands, &by).is_ok()
}

/// The product alone in f32, side by side with rows that the library can write.
fn without_addition(product: &Product) -> Product {
    let to_stride = u64::from(product.cols).next_multiple_of(4);
    Product { to_stride, to_format: Format::F32, addend: Addend::Nothing, ..*product }
}

/// A product to f32, which is then added to what is there and rounded once. Our own kernel, which
/// computes where the library does not, does both at a time; the bits are the same.
fn add_to_bf16(cuda: &Cuda, product: &Product, operands: &Operands) {
    let alone = without_addition(product);
    let numbers = u64::from(alone.rows).saturating_mul(alone.to_stride);
    let exact: Buffer<f32> = cuda.take(usize::try_from(numbers).unwrap_or(usize::MAX));
    let to = exact.view().cuda().address;
    if !by_library(cuda, &alone, &Operands { to, ..*operands }) {
        return in_order(cuda, product, operands);
    }
    let arguments = [
        Address(operands.to),
        U64(product.to_stride),
        Address(to),
        U64(alone.to_stride),
        U64(u64::from(product.rows)),
        U64(u64::from(product.cols)),
    ];
    let blocks = cuda.blocks_for((product.rows as usize).saturating_mul(256));
    cuda.launch("add_product", Launch::new(blocks, 256), &arguments);
}

/// The library keeps the order for this shape, or our own kernel is asked.
pub(crate) fn order(cuda: &Cuda, product: &Product) -> AccumulationOrder {
    match algorithm(cuda, product) {
        Some(_) => AccumulationOrder::BitForBit,
        None => AccumulationOrder::OwnKernel,
    }
}

/// A rounded copy of operands that are f32.
fn as_bf16<T: Real>(cuda: &Cuda, data: View<'_, T>) -> Option<Buffer> {
    (T::FORMAT == Some(Format::F32)).then(|| to_bf16(cuda, data.as_f32()))
}

fn addend_of(mode: WriteMode) -> Addend {
    match mode {
        WriteMode::Overwrite => Addend::Nothing,
        WriteMode::Accumulate => Addend::Result,
    }
}

fn order_of<T: Real>(matrix: Matrix<'_, T>) -> (Order, u64) {
    match matrix.col_stride {
        1 => (Order::ByRows, matrix.row_stride as u64),
        _ => (Order::ByColumns, matrix.col_stride as u64),
    }
}

/// Whether operands lie as the library wants them: every row begins at a multiple of 16 bytes.
fn operands_fit(product: &Product, operands: &Operands) -> bool {
    let to_numbers = if product.to_format == Format::F32 { 4 } else { 8 };
    let addresses = [operands.a, operands.b, operands.to, operands.residual];
    addresses.iter().all(|address| address.is_multiple_of(16))
        && product.a.1.is_multiple_of(8)
        && product.b.1.is_multiple_of(8)
        && product.to_stride.is_multiple_of(to_numbers)
}

/// The algorithm for a shape: looked for once for all of its range.
fn algorithm(cuda: &Cuda, product: &Product) -> Option<Algorithm> {
    let aligned = Operands { a: 0, b: 0, to: 0, residual: 0 };
    if !operands_fit(product, &aligned) || product.inner == 0 {
        return None;
    }
    let product = representative(product);
    match cuda.0.choices.get(&product) {
        Some(Choice::Library(known)) => return Some(known),
        Some(Choice::OwnKernel) => return None,
        None if cuda.gives_up_capture("an algorithm that was not looked for") => return None,
        None => {}
    }
    let found = cuda.search(|| fastest_in_order(cuda, &product));
    if is_large(&product) {
        cuda.trim();
    }
    // After a failure nothing was tried.
    if cuda.0.failure.get().is_none() {
        cuda.0.choices.put(product, found.map_or(Choice::OwnKernel, Choice::Library));
    }
    found
}

/// Our own kernel.
pub(super) fn in_order(cuda: &Cuda, product: &Product, operands: &Operands) {
    let Product { rows, cols, inner, to_stride, to_format, .. } = *product;
    let operand = |(order, stride): (Order, u64), outer: u32, outer_is_row: bool| {
        let along_rows = (order == Order::ByRows) == outer_is_row;
        let (outer_stride, k_stride) = if along_rows { (stride, 1) } else { (1, stride) };
        Four([outer_stride, k_stride, u64::from(outer), 0])
    };
    let arguments = [
        Address(operands.to),
        U32(u32::from(to_format == Format::Bf16)),
        Four([u64::from(rows), u64::from(cols), u64::from(inner), to_stride]),
        Address(operands.a),
        operand(product.a, rows, true),
        Address(operands.b),
        operand(product.b, cols, false),
        F32(product.scale()),
        F32(product.addend_factor()),
    ];
    let tiles = rows.div_ceil(16) as usize * cols.div_ceil(8) as usize;
    let launch = Launch::new(cuda.blocks_for(tiles.saturating_mul(32)), 256);
    cuda.launch("product_in_order", launch, &arguments);
}

impl Cuda {
    /// Whether `rows` times `inner` by `inner` times `cols`, the second stored by its columns as
    /// weights are, is summed up in the one order.
    pub fn accumulation_order(&self, rows: u32, cols: u32, inner: u32) -> AccumulationOrder {
        order(self, &weight_product(rows, cols, inner))
    }

    /// How many algorithms the library names for that product, and how many keep the order; `scale`
    /// is what it is multiplied by, and `mode` what becomes of what the result held.
    pub fn candidates(&self, shape: [u32; 3], scale: f32, mode: WriteMode) -> Candidates {
        let [rows, cols, inner] = shape;
        let (scale_bits, addend) = (scale.to_bits(), addend_of(mode));
        let product = Product { scale_bits, addend, ..weight_product(rows, cols, inner) };
        let found = in_order_of(self, &product);
        Candidates { named: found.named, in_order: found.all.len() }
    }
}

pub(super) fn weight_product(rows: u32, cols: u32, inner: u32) -> Product {
    let stride = u64::from(inner);
    Product {
        rows,
        cols,
        inner,
        a: (Order::ByRows, stride),
        b: (Order::ByColumns, stride),
        to_stride: u64::from(cols),
        to_format: Format::Bf16,
        scale_bits: 1f32.to_bits(),
        addend: Addend::Nothing,
    }
}
