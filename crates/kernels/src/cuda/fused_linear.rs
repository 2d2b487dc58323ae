//! Products of [`crate::fused_linear`]: operands and results lie in one buffer. Shapes were checked by
//! the caller.
//!
//! For few rows a narrow product takes as long as a wide one: it waits for each of its sums. There one
//! product gives `[x·Wᵀ | x·Aᵀ]` in f32, and a kernel of ours continues each sum with `u·Bᵀ`. Bits are
//! those of many rows.

use super::Cuda;
use super::driver::{Argument, Format, Launch, Operands, Order, Product};
use super::elementwise::blocks;
use super::product::{multiply_at, multiply_beside};
use crate::buffer::Buffer;
use crate::fused_linear::{AugmentedWeight, FusedWeight, Narrow, Output, Sizes};
use crate::matmul::{Matrix, MatrixMut};
use Argument::{Address, F32, Four};

/// Bytes of an activation.
const BYTES: u64 = 2;

/// The most rows that are few.
const FEW_ROWS: usize = 512;

/// Rows and columns of a block, and its threads; `fused_linear.cu` has the same.
const BLOCK_ROWS: usize = 64;
const BLOCK_COLUMNS: usize = 32;
const THREADS: u32 = 256;

/// Whether sums are continued by a kernel of ours: for few rows, where the sums over inputs end at a
/// multiple of what the tensor core takes at a time.
fn continues(rows: usize, sizes: Sizes, strides: &[usize]) -> bool {
    let Sizes { outputs, inputs, narrow } = sizes;
    let whole = inputs.is_multiple_of(16) && narrow.is_multiple_of(16);
    whole
        && rows <= FEW_ROWS
        && outputs.is_multiple_of(8)
        && strides.iter().all(|stride| stride.is_multiple_of(8))
}

/// Blocks of the kernel that continues sums. With a gate a block has its columns from each side.
fn continuing_blocks(rows: usize, outputs: usize, end: End<'_>) -> usize {
    let across = match end {
        End::Plain(_) => outputs,
        End::Gated => outputs / 2,
    };
    rows.div_ceil(BLOCK_ROWS) * across.div_ceil(BLOCK_COLUMNS)
}

/// What becomes of a sum.
#[derive(Debug, Clone, Copy)]
enum End<'a> {
    /// It is rounded, with a residual if there is one.
    Plain(Option<Matrix<'a>>),
    /// The first half of the outputs is a gate for the second: `silu(gate) · up`.
    Gated,
}

/// Weights, and what becomes of the sums of their product.
#[derive(Debug, Clone, Copy)]
struct Continued<'a> {
    weight: &'a AugmentedWeight,
    end: End<'a>,
}

/// A product of bf16 into bf16, of rows that lie `strides` apart.
fn product(rows: usize, cols: usize, inner: usize, strides: [usize; 3]) -> Product {
    let [a, b, to] = strides.map(|stride| stride as u64);
    Product {
        rows: blocks(rows),
        cols: blocks(cols),
        inner: blocks(inner),
        a: (Order::ByRows, a),
        b: (Order::ByColumns, b),
        to_stride: to,
        to_format: Format::Bf16,
        scale_bits: 1f32.to_bits(),
        kept: false,
    }
}

pub(crate) fn narrow(cuda: &Cuda, x: &mut MatrixMut<'_>, weight: &AugmentedWeight) {
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let stride = weight.sizes().stride();
    let (at, all) = (x.data.cuda().address, weight.view().cuda().address);
    let to = at + inputs as u64 * BYTES;
    let product = Product {
        scale_bits: weight.scale().to_bits(),
        ..product(x.rows, narrow, inputs, [x.stride, stride, x.stride])
    };
    let b = all + (outputs * stride) as u64 * BYTES;
    multiply_at(cuda, &product, &Operands { a: at, b, to });
}

pub(crate) fn forward(
    cuda: &Cuda,
    output: Output<'_>,
    x: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) {
    let (Output { mut y, residual }, FusedWeight { weight, narrow: part }) = (output, fused);
    let Sizes { outputs, inputs, .. } = weight.sizes();
    let stride = weight.sizes().stride();
    if part == Narrow::With {
        let beside = residual.map_or(y.stride, |residual| residual.row_stride);
        if continues(y.rows, weight.sizes(), &[x.stride, y.stride, beside]) {
            return continued(cuda, y, x, Continued { weight, end: End::Plain(residual) });
        }
        narrow(cuda, x, weight);
    }
    let inner = if part == Narrow::With { stride } else { inputs };
    let product = product(y.rows, outputs, inner, [x.stride, stride, y.stride]);
    let operands = Operands {
        a: x.data.cuda().address,
        b: weight.view().cuda().address,
        to: y.data.cuda().address,
    };
    match residual {
        None => multiply_at(cuda, &product, &operands),
        Some(residual) => multiply_beside(cuda, &product, &operands, residual),
    }
}

/// A gate and what goes through it from one input, as one result; says whether there is a kernel.
pub(crate) fn forward_gated(
    cuda: &Cuda,
    y: MatrixMut<'_>,
    x: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) -> bool {
    let FusedWeight { weight, narrow: part } = fused;
    let there = part == Narrow::With
        && weight.sizes().outputs.is_multiple_of(16)
        && continues(y.rows, weight.sizes(), &[x.stride, y.stride]);
    if there {
        continued(cuda, y, x, Continued { weight, end: End::Gated });
    }
    there
}

/// One product of the inputs alone, and its end.
fn continued(cuda: &Cuda, mut y: MatrixMut<'_>, x: &mut MatrixMut<'_>, continued: Continued<'_>) {
    let Continued { weight, end } = continued;
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let (rows, columns, stride) = (y.rows, outputs + narrow, weight.sizes().stride());
    let sums: Buffer<f32> = cuda.take(rows * columns);
    let (a, b) = (x.data.cuda().address, weight.view().cuda().address);
    let to = sums.view().cuda().address;
    let product = Product {
        to_format: Format::F32,
        ..product(rows, columns, inputs, [x.stride, stride, columns])
    };
    multiply_at(cuda, &product, &Operands { a, b, to });
    let (beside, beside_stride) = match end {
        End::Plain(Some(residual)) => (residual.data.cuda().address, residual.row_stride),
        _ => (0, 0),
    };
    let kernel = match end {
        End::Plain(_) => "continue_product",
        End::Gated => "continue_gated_product",
    };
    let sizes = |all: [usize; 4]| Four(all.map(|size| size as u64));
    let arguments = [
        Address(y.data.cuda().address),
        Address(beside),
        Address(to),
        Address(b + inputs as u64 * BYTES),
        Address(a + inputs as u64 * BYTES),
        sizes([y.stride, beside_stride, columns, stride]),
        sizes([rows, outputs, narrow, x.stride]),
        F32(weight.scale()),
    ];
    let count = blocks(continuing_blocks(rows, outputs, end));
    cuda.launch(kernel, Launch::new(count, THREADS).programmatic(), &arguments);
}

pub(crate) fn backward(
    cuda: &Cuda,
    mut dx: MatrixMut<'_>,
    dy: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) {
    let FusedWeight { weight, narrow: part } = fused;
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let stride = weight.sizes().stride();
    let (at, all) = (dy.data.cuda().address, weight.view().cuda().address);
    let by_rows = |product: Product| Product { b: (Order::ByRows, product.b.1), ..product };
    let inner = match part {
        Narrow::Without => outputs,
        Narrow::With => {
            let product =
                by_rows(product(dy.rows, narrow, outputs, [dy.stride, stride, dy.stride]));
            let product = Product { scale_bits: weight.scale().to_bits(), ..product };
            let (b, to) = (all + inputs as u64 * BYTES, at + outputs as u64 * BYTES);
            multiply_at(cuda, &product, &Operands { a: at, b, to });
            outputs + narrow
        }
    };
    let product = by_rows(product(dy.rows, inputs, inner, [dy.stride, stride, dx.stride]));
    multiply_at(cuda, &product, &Operands { a: at, b: all, to: dx.data.cuda().address });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_continued_for_few_rows_at_whole_steps_of_the_tensor_core() {
        let sizes = Sizes { outputs: 4096, inputs: 2048, narrow: 192 };
        assert!(continues(64, sizes, &[2240, 4288]));
        assert!(continues(512, sizes, &[2240]) && !continues(513, sizes, &[2240]));
        assert!(!continues(64, Sizes { inputs: 2056, ..sizes }, &[2240]));
        assert!(!continues(64, Sizes { narrow: 8, ..sizes }, &[2240]));
        assert!(!continues(64, Sizes { outputs: 4090, ..sizes }, &[2240]));
        assert!(!continues(64, sizes, &[2241]));
    }

    #[test]
    fn every_tile_has_a_block() {
        let plain = |rows, outputs| continuing_blocks(rows, outputs, End::Plain(None));
        assert_eq!(plain(64, 12_288), 384);
        assert_eq!(plain(65, 12_288), 2 * 384);
        assert_eq!(plain(1, 8), 1);
        assert_eq!(plain(17, 264), 9);
        let gated = |rows, outputs| continuing_blocks(rows, outputs, End::Gated);
        assert_eq!(gated(64, 12_288), 192);
        // Two blocks for 40 columns of each side.
        assert_eq!(gated(48, 80), 2);
    }
}
