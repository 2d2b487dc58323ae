//! Launchers of [`crate::qk_norm_rope`]. Shapes were checked by the caller.

use super::Cuda;
use super::attention::Store;
use super::driver::{Argument, Launch};
use super::elementwise::blocks;
use crate::attention::Shape;
use crate::matmul::{Matrix, MatrixMut};
use crate::qk_norm_rope::Placing;
use Argument::{Address, F32, Four, U64};

/// Warps of a block, and heads of a token that each of them has; `qk_norm_rope.cu` has the same.
const WARPS: usize = 8;
const HEADS: usize = 4;

/// Warps for the queries, keys and values of a token.
fn warps(shape: &Shape) -> usize {
    (shape.heads + 2 * shape.kv_heads).div_ceil(HEADS)
}

pub(crate) fn forward(cuda: &Cuda, to: &mut MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    launch(cuda, "qk_norm_rope_forward", (to, qkv), (placing, Four([0; 4])));
}

/// The same, and keys and values into slots of a layer that begins at `begin`.
pub(crate) fn forward_and_store(
    cuda: &Cuda,
    to: &mut MatrixMut<'_>,
    store: Store<'_>,
    placing: Placing<'_>,
) {
    let Store { cache, begin, qkv, slots, .. } = store;
    let layer = begin..begin + cache.layer_size();
    let pages = Four([
        cache.keys.view_mut().part(layer.clone()).cuda().address,
        cache.values.view_mut().part(layer).cuda().address,
        cache.pages() as u64,
        slots.cuda().address,
    ]);
    launch(cuda, "qk_norm_rope_forward", (to, qkv), (placing, pages));
}

pub(crate) fn backward(cuda: &Cuda, d: &mut MatrixMut<'_>, qkv: Matrix<'_>, placing: Placing<'_>) {
    launch(cuda, "qk_norm_rope_backward", (d, qkv), (placing, Four([0; 4])));
}

fn launch(
    cuda: &Cuda,
    kernel: &'static str,
    (to, qkv): (&mut MatrixMut<'_>, Matrix<'_>),
    (placing, pages): (Placing<'_>, Argument),
) {
    let Placing { shape, q_gain, k_gain, epsilon, turns, positions } = placing;
    let (cosines, sines) = turns.tables();
    let tables = [cosines.cuda().address, sines.cuda().address, positions.cuda().address];
    let [cosines, sines, positions] = tables;
    let sizes = [qkv.rows, shape.heads, shape.kv_heads, shape.size].map(|size| size as u64);
    let arguments = [
        Address(to.data.cuda().address),
        U64(to.stride as u64),
        Address(qkv.data.cuda().address),
        U64(qkv.row_stride as u64),
        Four([cosines, sines, positions, turns.positions() as u64]),
        Four([q_gain.cuda().address, k_gain.cuda().address, 0, 0]),
        Four(sizes),
        F32(epsilon),
        pages,
    ];
    let launch = Launch::new(blocks((qkv.rows * warps(shape)).div_ceil(WARPS)), 256);
    // Going forward the kernel waits for the product before it.
    let is_forward = kernel == "qk_norm_rope_forward";
    cuda.launch(kernel, Launch { programmatic: is_forward, ..launch }, &arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_head_has_a_warp() {
        assert_eq!(warps(&Shape { heads: 16, kv_heads: 8, size: 128, scale: 1.0 }), 8);
        assert_eq!(warps(&Shape { heads: 3, kv_heads: 1, size: 64, scale: 1.0 }), 2);
    }
}
