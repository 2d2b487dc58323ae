//! Products: by an algorithm of cuBLASLt that keeps the order of accumulation, else by our own kernel.
//!
//! A number of a product is one sum in f32, from the first to the last k, 16 at a time, as the tensor
//! core does it, then multiplied by the scale, then added to what is there, then rounded once
//! (`docs/adr/0016-accumulation-order.md`). An algorithm is used only after it gave every bit of that
//! on random numbers of the very shape and scale; of those that did, the fastest.
//!
//! The library's own addition to a bf16 result was seen to have other bits. Such a product is computed
//! to f32 and added by a kernel of ours, so that it is `bf16(product + what is there)`.

use std::sync::PoisonError;
use std::time::Instant;

use super::Cuda;
use super::driver::{Algorithm, Argument, Driver, Format, Launch, Operands, Order, Product};
use super::elementwise::{blocks, to_bf16};
use super::error::DeviceResult;
use crate::buffer::{Buffer, Part, Real, View};
use crate::matmul::{Before, Matrix, MatrixMut};
use Argument::{Address, F32, Four, U32, U64};

/// Rows at each end of a result that are compared.
const COMPARED_ROWS: u32 = 64;

/// The seed of what a result held before.
const OLD: u32 = 3;

/// Repetitions of a timed candidate.
const REPETITIONS: u32 = 5;

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
    (mut to, before): (MatrixMut<'_, T>, Before),
    (scale, a, b): (f32, Matrix<'_, A>, Matrix<'_, B>),
) {
    if to.rows == 0 || to.cols == 0 {
        return;
    }
    let (a_copy, b_copy) = (as_bf16(cuda, a.data), as_bf16(cuda, b.data));
    let address = |copy: &Option<Buffer>, own: u64| {
        copy.as_ref().map_or(own, |copy| copy.view().cuda().address)
    };
    let operands = Operands {
        a: address(&a_copy, a.data.cuda().address),
        b: address(&b_copy, b.data.cuda().address),
        to: to.data.cuda().address,
    };
    let product = Product {
        rows: blocks(to.rows),
        cols: blocks(to.cols),
        inner: blocks(a.cols),
        a: order_of((a.row_stride, a.col_stride)),
        b: order_of((b.row_stride, b.col_stride)),
        to_stride: to.stride as u64,
        to_format: T::FORMAT.unwrap_or(Format::F32),
        scale_bits: scale.to_bits(),
        kept: before == Before::Kept,
    };
    if product.kept && product.to_format == Format::Bf16 {
        add_to_bf16(cuda, &product, &operands);
    } else if !by_library(cuda, &product, &operands) {
        in_order(cuda, &product, &operands);
    }
}

/// Computes by an algorithm of the library that keeps the order, if there is one for it.
fn by_library(cuda: &Cuda, product: &Product, operands: &Operands) -> bool {
    let found = algorithm(cuda, product).filter(|_| operands_fit(product, operands));
    if let Some(by) = found {
        cuda.attempt(|driver| driver.multiply(product, operands, &by));
    }
    found.is_some()
}

/// The product alone in f32, side by side with rows that the library can write.
fn without_addition(product: &Product) -> Product {
    let to_stride = u64::from(product.cols).next_multiple_of(4);
    Product { to_stride, to_format: Format::F32, kept: false, ..*product }
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
    cuda.launch("add_product", Launch { blocks, threads: (256, 1) }, &arguments);
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

fn order_of((row_stride, col_stride): (usize, usize)) -> (Order, u64) {
    match col_stride {
        1 => (Order::ByRows, row_stride as u64),
        _ => (Order::ByColumns, col_stride as u64),
    }
}

/// Whether operands lie as the library wants them: every row begins at a multiple of 16 bytes.
fn operands_fit(product: &Product, operands: &Operands) -> bool {
    let to_numbers = if product.to_format == Format::F32 { 4 } else { 8 };
    let addresses = [operands.a, operands.b, operands.to];
    addresses.iter().all(|address| address.is_multiple_of(16))
        && product.a.1.is_multiple_of(8)
        && product.b.1.is_multiple_of(8)
        && product.to_stride.is_multiple_of(to_numbers)
}

/// The algorithm for a shape: looked for once.
fn algorithm(cuda: &Cuda, product: &Product) -> Option<Algorithm> {
    let aligned = Operands { a: 0, b: 0, to: 0 };
    if !operands_fit(product, &aligned) || product.inner == 0 {
        return None;
    }
    let lock = || cuda.0.algorithms.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get(product) {
        return *known;
    }
    let found = Trial::new(cuda, product).fastest_in_order();
    lock().insert(*product, found);
    found
}

/// Our own kernel.
fn in_order(cuda: &Cuda, product: &Product, operands: &Operands) {
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
        F32(product.kept_factor()),
    ];
    let tiles = rows.div_ceil(16) as usize * cols.div_ceil(8) as usize;
    let launch = Launch { blocks: cuda.blocks_for(tiles.saturating_mul(32)), threads: (256, 1) };
    cuda.launch("product_in_order", launch, &arguments);
}

/// Random operands of a shape, and the first and last rows of their product in order.
struct Trial<'a> {
    cuda: &'a Cuda,
    product: Product,
    a: Buffer,
    b: Buffer,
    to: Buffer<f32>,
    first: Buffer<f32>,
    last: Buffer<f32>,
    rows: u32,
}

impl<'a> Trial<'a> {
    fn new(cuda: &'a Cuda, product: &Product) -> Self {
        // Results side by side: what lies between rows is not compared.
        let product = Product { to_stride: u64::from(product.cols), ..*product };
        let Product { rows, cols, inner, .. } = product;
        let numbers = |(order, stride): (Order, u64), by_rows: u32, by_columns: u32| {
            let outer = if order == Order::ByRows { by_rows } else { by_columns };
            usize::try_from(u64::from(outer) * stride).unwrap_or(usize::MAX)
        };
        let compared = rows.min(COMPARED_ROWS);
        let compared_numbers = compared as usize * cols as usize;
        let trial = Self {
            cuda,
            product,
            a: noise(cuda, 1, numbers(product.a, rows, inner)),
            b: noise(cuda, 2, numbers(product.b, inner, cols)),
            // As many bytes as either format needs.
            to: cuda.take(rows as usize * cols as usize),
            first: cuda.take(compared_numbers),
            last: cuda.take(compared_numbers),
            rows: compared,
        };
        for (to, first_row) in [(&trial.first, 0), (&trial.last, rows - compared)] {
            let begin = u64::from(first_row) * u64::from(cols);
            fill_noise(cuda, to.view().cuda(), (Format::F32, OLD), begin);
            let part = Product { rows: compared, to_format: Format::F32, ..product };
            let skipped = match product.a.0 {
                Order::ByRows => u64::from(first_row) * product.a.1,
                Order::ByColumns => u64::from(first_row),
            };
            let mut operands = trial.operands();
            operands.a += 2 * skipped;
            operands.to = to.view().cuda().address;
            in_order(cuda, &part, &operands);
        }
        trial
    }

    fn operands(&self) -> Operands {
        let (a, b) = (self.a.view().cuda().address, self.b.view().cuda().address);
        Operands { a, b, to: self.to.view().cuda().address }
    }

    fn candidates(&self) -> Vec<Algorithm> {
        let all = self.cuda.attempt(|driver| driver.product_candidates(&self.product));
        all.unwrap_or_default()
    }

    fn fastest_in_order(&self) -> Option<Algorithm> {
        let candidates = self.candidates();
        let good = candidates.into_iter().filter(|candidate| self.keeps_order(candidate));
        let timed = good.filter_map(|candidate| {
            let time = self.cuda.attempt(|driver| self.time(driver, &candidate))?;
            Some((time, candidate))
        });
        // Of equals the first, which is the library's own choice.
        timed.min_by(|a, b| a.0.cmp(&b.0)).map(|(_, candidate)| candidate)
    }

    /// Whether both ends have every bit. An algorithm that cannot run at all does not.
    fn keeps_order(&self, by: &Algorithm) -> bool {
        let cuda = self.cuda;
        let mut found: Buffer<u32> = cuda.take(1);
        fill_noise(cuda, self.to.view().cuda(), (self.product.to_format, OLD), 0);
        cuda.fill(&mut found.view_mut(), 0);
        // Its refusal is no failure of the device.
        if self.cuda.0.driver.multiply(&self.product, &self.operands(), by).is_err() {
            return false;
        }
        let (kernel, bytes) = match self.product.to_format {
            Format::F32 => ("count_differences_f32", 4),
            Format::Bf16 => ("count_differences_bf16", 2),
        };
        let cols = u64::from(self.product.cols);
        let skipped = u64::from(self.product.rows - self.rows) * cols * bytes;
        for (reference, begin) in [(&self.first, 0), (&self.last, skipped)] {
            let arguments = [
                Address(found.view().cuda().address),
                Address(reference.view().cuda().address),
                Address(self.operands().to + begin),
                U64(reference.len() as u64),
            ];
            let blocks = cuda.blocks_for(reference.len());
            cuda.launch(kernel, Launch { blocks, threads: (256, 1) }, &arguments);
        }
        cuda.read(found.view()) == [0] && cuda.0.failure.get().is_none()
    }

    fn time(&self, driver: &dyn Driver, by: &Algorithm) -> DeviceResult<std::time::Duration> {
        driver.multiply(&self.product, &self.operands(), by)?;
        driver.wait()?;
        let begin = Instant::now();
        for _ in 0..REPETITIONS {
            driver.multiply(&self.product, &self.operands(), by)?;
        }
        driver.wait()?;
        Ok(begin.elapsed())
    }
}

fn noise(cuda: &Cuda, seed: u32, count: usize) -> Buffer {
    let to: Buffer = cuda.take(count);
    fill_noise(cuda, to.view().cuda(), (Format::Bf16, seed), 0);
    to
}

/// Numbers that bf16 can hold, each a function of the seed and its place from `begin` on.
fn fill_noise(cuda: &Cuda, to: Part<'_>, (format, seed): (Format, u32), begin: u64) {
    let is_bf16 = U32(u32::from(format == Format::Bf16));
    let arguments = [Address(to.address), is_bf16, U32(seed), U64(begin), U64(to.length as u64)];
    let launch = Launch { blocks: cuda.blocks_for(to.length), threads: (256, 1) };
    cuda.launch("noise", launch, &arguments);
}

impl Cuda {
    /// Whether `rows` times `inner` by `inner` times `cols`, the second stored by its columns as
    /// weights are, is summed up in the one order.
    pub fn accumulation_order(&self, rows: u32, cols: u32, inner: u32) -> AccumulationOrder {
        order(self, &weight_product(rows, cols, inner))
    }

    /// How many algorithms the library names for that product, and how many keep the order; `scale`
    /// is what it is multiplied by, and `before` what becomes of what the result held.
    pub fn candidates(&self, shape: [u32; 3], (scale, before): (f32, Before)) -> Candidates {
        let [rows, cols, inner] = shape;
        let (scale_bits, kept) = (scale.to_bits(), before == Before::Kept);
        let product = Product { scale_bits, kept, ..weight_product(rows, cols, inner) };
        let trial = Trial::new(self, &product);
        let all = trial.candidates();
        let in_order = all.iter().filter(|candidate| trial.keeps_order(candidate)).count();
        Candidates { named: all.len(), in_order }
    }
}

fn weight_product(rows: u32, cols: u32, inner: u32) -> Product {
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
        kept: false,
    }
}
