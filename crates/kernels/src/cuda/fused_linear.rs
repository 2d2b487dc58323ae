//! Products of [`crate::fused_linear`]: operands and results lie in one buffer. Shapes were checked by
//! the caller.

use super::Cuda;
use super::driver::{Format, Operands, Order, Product};
use super::elementwise::blocks;
use super::product::{multiply_at, multiply_beside};
use crate::fused_linear::{AugmentedWeight, Narrow, Sizes};
use crate::matmul::{Matrix, MatrixMut};

/// Bytes of an activation.
const BYTES: u64 = 2;

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
    mut y: MatrixMut<'_>,
    x: &mut MatrixMut<'_>,
    (weight, part, residual): (&AugmentedWeight, Narrow, Option<Matrix<'_>>),
) {
    let Sizes { outputs, inputs, .. } = weight.sizes();
    let stride = weight.sizes().stride();
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

pub(crate) fn backward(
    cuda: &Cuda,
    mut dx: MatrixMut<'_>,
    dy: &mut MatrixMut<'_>,
    (weight, part): (&AugmentedWeight, Narrow),
) {
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
