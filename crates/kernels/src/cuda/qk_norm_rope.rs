//! Launchers of [`crate::qk_norm_rope`]. Shapes were checked by the caller.

use super::Cuda;
use super::driver::{Argument, Launch};
use super::elementwise::blocks;
use crate::attention::Shape;
use crate::buffer::View;
use crate::matmul::{Matrix, MatrixMut};
use crate::paged::{Cache, Store};
use crate::qk_norm_rope::Placing;
use Argument::{Address, F32, Four, U64};

/// Warps of a block.
const WARPS: usize = 8;

/// Tokens up to which a warp has as few heads as it can.
const FEW_TOKENS: usize = 512;

/// One of the kernels, and the heads that a warp of it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kernel {
    name: &'static str,
    heads: usize,
    /// Whether it waits for the kernels before it itself.
    programmatic: bool,
}

const fn kernel(name: &'static str, heads: usize, programmatic: bool) -> Kernel {
    Kernel { name, heads, programmatic }
}

impl Kernel {
    /// Going forward over so many tokens.
    fn forward(tokens: usize, shape: &Shape) -> Self {
        match (shape.size, tokens <= FEW_TOKENS) {
            (64, true) => kernel("qk_norm_rope_forward_64_few", 4, true),
            (64, false) => kernel("qk_norm_rope_forward_64", 16, true),
            (128, true) => kernel("qk_norm_rope_forward_128_few", 2, true),
            (128, false) => kernel("qk_norm_rope_forward_128", 8, true),
            (_, true) => kernel("qk_norm_rope_forward_few", 1, true),
            (_, false) => kernel("qk_norm_rope_forward", 4, true),
        }
    }

    fn backward(shape: &Shape) -> Self {
        match shape.size {
            64 => kernel("qk_norm_rope_backward_64", 16, true),
            128 => kernel("qk_norm_rope_backward_128", 8, true),
            _ => kernel("qk_norm_rope_backward", 4, false),
        }
    }

    /// Over tokens that have so many heads.
    fn launch(self, tokens: usize, heads: usize) -> Launch {
        let warps = tokens * heads.div_ceil(self.heads);
        let launch = Launch::new(blocks(warps.div_ceil(WARPS)), 256);
        Launch { programmatic: self.programmatic, ..launch }
    }
}

pub(crate) fn forward(cuda: &Cuda, to: &mut MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    let rows = Rows { qkv, placing, values: values_of(to, placing.shape), pages: Four([0; 4]) };
    launch(cuda, Kernel::forward(qkv.rows, placing.shape), to, rows);
}

/// The same, and keys and values into slots of a layer.
pub(crate) fn forward_and_store(
    cuda: &Cuda,
    to: &mut MatrixMut<'_>,
    store: Store<'_>,
    placing: Placing<'_>,
) {
    let Store { cache, layer, qkv, slots } = store;
    let pages = pages_of(cache, layer, slots);
    let kernel = Kernel::forward(qkv.rows, placing.shape);
    let values = values_of(to, placing.shape);
    launch(cuda, kernel, to, Rows { qkv, placing, values, pages });
}

/// Where keys and values of a layer go: addresses of their pages and of slots, and how many pages there are.
pub(super) fn pages_of(cache: &mut Cache, layer: usize, slots: View<'_, u32>) -> Argument {
    let begin = layer * cache.layer_size();
    let layer = begin..begin + cache.layer_size();
    Four([
        cache.keys.view_mut().part(layer.clone()).cuda().address,
        cache.values.view_mut().part(layer).cuda().address,
        cache.pages() as u64,
        slots.cuda().address,
    ])
}

pub(crate) fn backward(cuda: &Cuda, d: &mut MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    // The gradients of values stay as they are.
    let rows = Rows { qkv, placing, values: 0, pages: Four([0; 4]) };
    launch(cuda, Kernel::backward(placing.shape), d, rows);
}

/// Heads of values that rows have room for.
fn values_of(to: &MatrixMut<'_>, shape: &Shape) -> usize {
    to.cols / shape.size - shape.heads - shape.kv_heads
}

/// Rows that a kernel reads, and where it puts keys and values if there are pages.
#[derive(Debug, Clone, Copy)]
struct Rows<'a> {
    qkv: Matrix<'a>,
    placing: Placing<'a>,
    /// Heads of values that are copied.
    values: usize,
    /// Addresses of keys, values and slots, and the number of pages; zeros without pages.
    pages: Argument,
}

fn launch(cuda: &Cuda, kernel: Kernel, to: &mut MatrixMut<'_>, rows: Rows<'_>) {
    let Rows { qkv, placing, values, pages } = rows;
    let heads = placing.shape.heads + placing.shape.kv_heads + values;
    let [tables, gains, sizes, epsilon] = placing_arguments(placing, qkv.rows, values);
    let arguments = [
        Address(to.data.cuda().address),
        U64(to.stride as u64),
        Address(qkv.data.cuda().address),
        U64(qkv.row_stride as u64),
        tables,
        gains,
        sizes,
        epsilon,
        pages,
    ];
    cuda.launch(kernel.name, kernel.launch(qkv.rows, heads), &arguments);
}

/// What a kernel is told of rows with so many heads of values: tables, gains, sizes and the small number.
pub(super) fn placing_arguments(placing: Placing<'_>, rows: usize, values: usize) -> [Argument; 4] {
    let Placing { shape, q_gain, k_gain, epsilon, turns, positions } = placing;
    let (cosines, sines) = turns.tables();
    let [cosines, sines] = [cosines, sines].map(|table| table.cuda().address);
    let positions = positions.cuda().address;
    let sizes = [rows, shape.heads, shape.kv_heads, shape.size].map(|size| size as u64);
    [
        Four([cosines, sines, positions, turns.positions() as u64]),
        Four([q_gain.cuda().address, k_gain.cuda().address, values as u64, 0]),
        Four(sizes),
        F32(epsilon),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_head_has_a_warp() {
        let shape = Shape { heads: 16, kv_heads: 8, size: 128, scale: 1.0 };
        let small = Shape { heads: 3, kv_heads: 1, size: 64, scale: 1.0 };
        let odd = Shape { size: 40, ..small };
        let blocks = |tokens, shape: &Shape| {
            let kernel = Kernel::forward(tokens, shape);
            let heads = shape.heads + 2 * shape.kv_heads;
            (kernel.name, kernel.launch(tokens, heads).blocks)
        };
        // Four warps a token, and sixteen where tokens are few.
        assert_eq!(blocks(513, &shape), ("qk_norm_rope_forward_128", 257));
        assert_eq!(blocks(512, &shape), ("qk_norm_rope_forward_128_few", 2 * 512));
        assert_eq!(blocks(520, &small), ("qk_norm_rope_forward_64", 65));
        assert_eq!(blocks(8, &small), ("qk_norm_rope_forward_64_few", 2));
        assert_eq!(blocks(8, &odd), ("qk_norm_rope_forward_few", 5));
        assert_eq!(blocks(513, &odd), ("qk_norm_rope_forward", 129));
        assert_eq!(Kernel::backward(&shape).launch(129, 32).blocks, 65);
        // Without values three warps a token.
        assert_eq!(Kernel::forward(520, &shape).launch(520, 24).blocks, 195);
        assert_eq!(Kernel::backward(&odd).name, "qk_norm_rope_backward");
    }
}
