//! Launchers of [`crate::attention`] and [`crate::paged`]. Shapes were checked by the callers.
//!
//! Kernels exist for heads of 64 and of 128 numbers whose rows begin at multiples of 16 bytes; what
//! else is asked for is a failure of the device that says so.

use std::f32::consts::LOG2_E;

use super::Cuda;
use super::driver::{Argument, Launch};
use super::elementwise::blocks;
use crate::attention::Shape;
use crate::buffer::{Buffer, ViewMut};
use crate::matmul::{Matrix, MatrixMut};
use crate::offsets::Offsets;
use crate::paged::{Cache, Tables};
use Argument::{Address, F32, Four, U64};

/// Queries of a warp, and warps of a block.
const TILE: usize = 16;
const WARPS: usize = 8;

/// Query heads that may share a head of keys when rows look at pages: those of one tile.
const MOST_SHARING: usize = TILE;

const OTHER_HEADS: &str = "attention with heads of other sizes than 64 and 128";
const OTHER_ROWS: &str = "attention of rows that do not begin at multiples of 16 bytes";
const OTHER_GROUPS: &str = "attention to pages with more than 16 heads for one head of keys";

/// Query heads of a block, which share their keys.
fn heads_at_once(shape: &Shape) -> usize {
    if shape.group().is_multiple_of(2) { 2 } else { 1 }
}

/// For each block of queries its sequence's first row, its sequence's length and its first query;
/// those that see most keys come first, so that the last to end are short.
fn work(offsets: Offsets<'_>, queries: usize) -> Vec<u32> {
    let of = |ends: &[usize]| {
        let (begin, length) = (ends[0], ends[1] - ends[0]);
        (0..length).step_by(queries).map(move |first| [begin, length, first].map(blocks))
    };
    let mut all: Vec<[u32; 3]> = offsets.windows(2).flat_map(of).collect();
    all.sort_by_key(|&[begin, _, first]| (std::cmp::Reverse(first), begin));
    all.concat()
}

/// The reason why there is no kernel for it.
fn problem(shape: &Shape, rows: &[(u64, usize)]) -> Option<&'static str> {
    if ![64, 128].contains(&shape.size) {
        return Some(OTHER_HEADS);
    }
    let fits =
        |&(address, stride): &(u64, usize)| address.is_multiple_of(16) && stride.is_multiple_of(8);
    (!rows.iter().all(fits)).then_some(OTHER_ROWS)
}

fn four(shape: &Shape) -> Argument {
    Four([shape.heads, shape.kv_heads, heads_at_once(shape), 0].map(|number| number as u64))
}

/// Scores are powers of two.
fn scale(shape: &Shape) -> Argument {
    F32(shape.scale * LOG2_E)
}

pub(crate) fn forward(
    cuda: &Cuda,
    (out, lse): (&mut MatrixMut<'_>, &mut ViewMut<'_, f32>),
    qkv: Matrix<'_>,
    (shape, offsets): (&Shape, Offsets<'_>),
) {
    let (to, from) = (out.data.cuda().address, qkv.data.cuda().address);
    if let Some(problem) = problem(shape, &[(to, out.stride), (from, qkv.row_stride)]) {
        return cuda.unsupported(problem);
    }
    let at_once = heads_at_once(shape);
    let list = work(offsets, WARPS / at_once * TILE);
    let mut uploaded: Buffer<u32> = cuda.take(list.len());
    cuda.write(&mut uploaded.view_mut(), &list);
    let arguments = [
        Address(to),
        U64(out.stride as u64),
        Address(lse.cuda().address),
        Address(from),
        U64(qkv.row_stride as u64),
        Address(uploaded.view().cuda().address),
        four(shape),
        scale(shape),
    ];
    let kernel = if shape.size == 64 { "attention_forward_64" } else { "attention_forward_128" };
    let count = blocks(list.len() / 3 * (shape.heads / at_once));
    cuda.launch(kernel, Launch { blocks: count, threads: (256, 1) }, &arguments);
}

/// Keys and values of rows into slots of a layer that begins at `begin`.
pub(crate) fn store(
    cuda: &Cuda,
    (cache, begin): (&mut Cache, usize),
    shape: &Shape,
    (qkv, slots): (Matrix<'_>, crate::buffer::View<'_, u32>),
) {
    let layer = begin..begin + cache.layer_size();
    let arguments = [
        Address(cache.keys.view_mut().part(layer.clone()).cuda().address),
        Address(cache.values.view_mut().part(layer).cuda().address),
        U64(cache.pages() as u64),
        Address(qkv.data.cuda().address),
        U64(qkv.row_stride as u64),
        Address(slots.cuda().address),
        four(shape),
        U64(shape.size as u64),
    ];
    let launch = Launch { blocks: blocks(qkv.rows), threads: (256, 1) };
    cuda.launch("store_in_pages", launch, &arguments);
}

/// Copies `size` numbers within a buffer.
pub(crate) fn copy_within(
    cuda: &Cuda,
    buffer: &mut Buffer,
    (from, to): (usize, usize),
    size: usize,
) {
    let mut view = buffer.view_mut();
    let source = view.part(from..from + size).cuda().address;
    let target = view.part(to..to + size).cuda().address;
    if source != target {
        let bytes = size * size_of::<u16>();
        cuda.attempt(|driver| driver.copy(target, source, bytes));
    }
}

pub(crate) fn attend(
    cuda: &Cuda,
    out: &mut MatrixMut<'_>,
    (cache, layer, shape): (&Cache, usize, &Shape),
    (qkv, tables): (Matrix<'_>, Tables<'_>),
) {
    let (to, from) = (out.data.cuda().address, qkv.data.cuda().address);
    let too_many = (shape.group() > MOST_SHARING).then_some(OTHER_GROUPS);
    let rows = [(to, out.stride), (from, qkv.row_stride)];
    if let Some(problem) = problem(shape, &rows).or(too_many) {
        return cuda.unsupported(problem);
    }
    let begin = layer * cache.layer_size();
    let place =
        |buffer: &Buffer| buffer.view().part(begin..begin + cache.layer_size()).cuda().address;
    let address = |view: crate::buffer::View<'_, u32>| view.cuda().address;
    let Tables { pages, starts, lengths } = tables;
    let arguments = [
        Address(to),
        U64(out.stride as u64),
        Address(from),
        U64(qkv.row_stride as u64),
        Four([place(&cache.keys), place(&cache.values), cache.pages() as u64, 0]),
        Four([address(pages), address(starts), address(lengths), pages.len() as u64]),
        four(shape),
        scale(shape),
    ];
    let kernel = if shape.size == 64 { "attention_paged_64" } else { "attention_paged_128" };
    let launch = Launch { blocks: blocks(qkv.rows * shape.kv_heads), threads: (128, 1) };
    cuda.launch(kernel, launch, &arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { heads: 6, kv_heads: 2, size: 64, scale: 0.125 };

    #[test]
    fn every_query_is_in_one_block_and_the_longest_come_first() {
        assert_eq!(
            work(&[0, 130, 130, 131, 195], 64),
            [0, 130, 128, 0, 130, 64, 0, 130, 0, 130, 1, 0, 131, 64, 0]
        );
        assert!(work(&[0], 64).is_empty());
    }

    #[test]
    fn heads_of_a_block_share_their_keys() {
        assert_eq!(heads_at_once(&SHAPE), 1);
        for group in [2, 4, 6, 8] {
            assert_eq!(heads_at_once(&Shape { heads: 2 * group, ..SHAPE }), 2);
        }
    }

    #[test]
    fn shapes_without_a_kernel_have_a_reason() {
        assert_eq!(problem(&SHAPE, &[(512, 640), (16, 8)]), None);
        assert_eq!(problem(&Shape { size: 80, ..SHAPE }, &[]), Some(OTHER_HEADS));
        assert_eq!(problem(&SHAPE, &[(512, 640), (8, 640)]), Some(OTHER_ROWS));
        assert_eq!(problem(&SHAPE, &[(512, 644)]), Some(OTHER_ROWS));
    }
}
