//! Launchers of [`crate::attention`] and [`crate::paged`]. Shapes were checked by the callers.
//!
//! Kernels exist for heads of up to 128 numbers, a multiple of 8, whose rows begin at multiples of 16
//! bytes; what else is asked for is a failure of the device that says so. A head of up to 64 numbers
//! goes through the kernels for 64, what is missing as zeros.

use std::f32::consts::LOG2_E;

use super::Cuda;
use super::attention_wgmma;
use super::driver::{Argument, ComputeCapability, Launch, Properties};
use super::elementwise::blocks;
use crate::attention::{Output, Packed, Sequences, Shape};
use crate::buffer::{Buffer, View};
use crate::matmul::{Matrix, MatrixMut};
use crate::offsets::Offsets;
use crate::paged::{Attend, Store, Stored, Tables};
use Argument::{Address, F32, Four, U32, U64};

/// Queries of a warp, and warps of a block.
pub(super) const TILE: usize = 16;
pub(super) const WARPS: usize = 8;

/// Query heads that may share a head of keys when rows look at pages: those of one tile.
const MOST_SHARING: usize = TILE;

const OTHER_HEADS: &str = "attention with heads of other sizes than multiples of 8 up to 128";
const OTHER_ROWS: &str = "attention of rows that do not begin at multiples of 16 bytes";
const OTHER_GROUPS: &str = "attention to pages with more than 16 heads for one head of keys";

/// Query heads of a block, which share their keys.
pub(super) fn heads_at_once(shape: &Shape) -> usize {
    if shape.group().is_multiple_of(2) { 2 } else { 1 }
}

/// Keys of a block, and how many blocks are on their way into shared memory; `KEYS` and `BUFFERS` of
/// `attention.cuh`.
const KEYS: usize = 64;
const BUFFERS: usize = 3;

/// Numbers of a row of scores in shared memory; `SCORES` of `attention.cuh`.
const SCORES: usize = 72;

/// Numbers of a head as kernels see it.
pub(super) fn kernel_size(shape: &Shape) -> usize {
    if shape.size <= 64 { 64 } else { 128 }
}

/// Bytes of shared memory of a block that looks at pages.
fn paged_bytes(shape: &Shape) -> u32 {
    blocks(BUFFERS * KEYS * kernel_size(shape) * size_of::<u16>() + TILE * SCORES * 4)
}

/// Threads of a block whose fifth warp copies pages, how many of them have room on a processor, and query
/// heads that may share a head of keys there: half of a tile.
const BULK_THREADS: u32 = 160;
const BULK_BLOCKS: u32 = 4;
const BULK_SHARING: usize = TILE / 2;

/// Whether pages of the shape can be copied as they are; the device must be a Hopper as well.
fn suits_bulk(shape: &Shape) -> bool {
    matches!(shape.size, 64 | 128) && shape.group() <= BULK_SHARING
}

/// The kernel for pages, and its launch for so many rows.
fn paged_launch(properties: &Properties, shape: &Shape, rows: usize) -> (&'static str, Launch) {
    let pieces = blocks(rows * shape.kv_heads);
    if properties.capability != ComputeCapability::HOPPER || !suits_bulk(shape) {
        let kernel =
            if kernel_size(shape) == 64 { "attention_paged_64" } else { "attention_paged_128" };
        let launch = Launch { shared_bytes: paged_bytes(shape), ..Launch::new(pieces, 128) };
        return (kernel, launch.programmatic());
    }
    let kernel =
        if shape.size == 64 { "attention_paged_bulk_64" } else { "attention_paged_bulk_128" };
    let room = properties.multiprocessors.saturating_mul(BULK_BLOCKS).max(1);
    // Barriers of the items that are on their way: full and empty.
    let shared_bytes = paged_bytes(shape) + blocks(2 * BUFFERS * size_of::<u64>());
    let launch = Launch { shared_bytes, ..Launch::new(pieces.min(room), BULK_THREADS) };
    (kernel, launch.programmatic())
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
pub(super) fn problem(shape: &Shape, rows: &[Rows]) -> Option<&'static str> {
    if !shape.size.is_multiple_of(8) || shape.size > 128 {
        return Some(OTHER_HEADS);
    }
    let fits = |rows: &Rows| rows.address.is_multiple_of(16) && rows.stride.is_multiple_of(8);
    (!rows.iter().all(fits)).then_some(OTHER_ROWS)
}

/// Where rows lie, as kernels are told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) address: u64,
    pub(super) stride: usize,
}

impl Rows {
    pub(super) fn of(matrix: Matrix<'_>) -> Self {
        Self { address: matrix.data.cuda().address, stride: matrix.row_stride }
    }

    pub(super) fn to(matrix: &mut MatrixMut<'_>) -> Self {
        Self { address: matrix.data.cuda().address, stride: matrix.stride }
    }
}

pub(super) fn four(shape: &Shape) -> Argument {
    let Shape { heads, kv_heads, size, .. } = *shape;
    Four([heads, kv_heads, heads_at_once(shape), size].map(|number| number as u64))
}

/// Queries and keys, and the rows that have the values; `Packed` of the sources.
pub(super) fn packed_rows(qkv: Rows, values: Rows) -> Argument {
    Four([qkv.address, qkv.stride as u64, values.address, values.stride as u64])
}

/// Scores are powers of two.
fn scale(shape: &Shape) -> Argument {
    F32(shape.scale * LOG2_E)
}

pub(crate) fn forward(
    cuda: &Cuda,
    mut output: Output<'_>,
    packed: Packed<'_>,
    sequences: Sequences<'_>,
) {
    let Sequences { shape, offsets } = sequences;
    let to = Rows::to(&mut output.out);
    let [from, values] = [packed.qkv, packed.rows_of_values()].map(Rows::of);
    if let Some(problem) = problem(shape, &[to, from, values]) {
        return cuda.unsupported(problem);
    }
    if attention_wgmma::suits(cuda, shape) {
        return attention_wgmma::forward(cuda, output, packed, sequences);
    }
    let mut lse = output.lse;
    let at_once = heads_at_once(shape);
    let list = work(offsets, WARPS / at_once * TILE);
    let mut uploaded: Buffer<u32> = cuda.take(list.len());
    cuda.write(&mut uploaded.view_mut(), &list);
    let arguments = [
        Address(to.address),
        U64(to.stride as u64),
        Address(lse.cuda().address),
        packed_rows(from, values),
        Address(uploaded.view().cuda().address),
        four(shape),
        scale(shape),
    ];
    let kernel = match kernel_size(shape) {
        64 => "attention_forward_64",
        _ => "attention_forward_128",
    };
    let count = blocks(list.len() / 3 * (shape.heads / at_once));
    cuda.launch(kernel, Launch::new(count, 256), &arguments);
}

pub(crate) fn store(cuda: &Cuda, store: Store<'_>) {
    let begin = store.begin();
    let Store { cache, qkv, slots, .. } = store;
    let shape = *cache.shape();
    let layer = begin..begin + cache.layer_size();
    let arguments = [
        Address(cache.keys.view_mut().part(layer.clone()).cuda().address),
        Address(cache.values.view_mut().part(layer).cuda().address),
        U64(cache.pages() as u64),
        Address(qkv.data.cuda().address),
        U64(qkv.row_stride as u64),
        Address(slots.cuda().address),
        four(&shape),
        U64(shape.size as u64),
    ];
    cuda.launch("store_in_pages", Launch::new(blocks(qkv.rows), 256), &arguments);
}

/// A part of a buffer and where it is copied to, in numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) size: usize,
}

pub(crate) fn copy_within(cuda: &Cuda, buffer: &mut Buffer, copy: Copy) {
    let Copy { from, to, size } = copy;
    let mut view = buffer.view_mut();
    let source = view.part(from..from + size).cuda().address;
    let target = view.part(to..to + size).cuda().address;
    if source != target {
        let bytes = size * size_of::<u16>();
        cuda.attempt(|driver| driver.copy(target, source, bytes));
    }
}

pub(crate) fn attend(cuda: &Cuda, attend: Attend<'_>) {
    let Attend { mut out, cache, layer, qkv, tables } = attend;
    let shape = cache.shape();
    let (to, from) = (Rows::to(&mut out), Rows::of(qkv));
    let too_many = (shape.group() > MOST_SHARING).then_some(OTHER_GROUPS);
    if let Some(problem) = problem(shape, &[to, from]).or(too_many) {
        return cuda.unsupported(problem);
    }
    let begin = layer * cache.layer_size();
    let place =
        |buffer: &Buffer| buffer.view().part(begin..begin + cache.layer_size()).cuda().address;
    let address = |view: View<'_, u32>| view.cuda().address;
    let Tables { pages, starts, lengths, stored } = tables;
    let arguments = [
        Address(to.address),
        U64(to.stride as u64),
        Address(from.address),
        U64(from.stride as u64),
        Four([
            place(&cache.keys),
            place(&cache.values),
            cache.pages() as u64,
            u64::from(stored == Stored::Last),
        ]),
        Four([address(pages), address(starts), address(lengths), pages.len() as u64]),
        four(shape),
        scale(shape),
        // Only kernels that take rows in turn have this one.
        U32(blocks(qkv.rows)),
    ];
    let (kernel, launch) = paged_launch(&cuda.info().properties, shape, qkv.rows);
    let arguments = if launch.threads_x == BULK_THREADS { &arguments[..] } else { &arguments[..8] };
    cuda.launch(kernel, launch, arguments);
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
        let rows = |address, stride| Rows { address, stride };
        assert_eq!(problem(&SHAPE, &[rows(512, 640), rows(16, 8)]), None);
        for size in [8, 40, 64, 72, 128] {
            assert_eq!(problem(&Shape { size, ..SHAPE }, &[]), None);
        }
        for size in [4, 60, 136] {
            assert_eq!(problem(&Shape { size, ..SHAPE }, &[]), Some(OTHER_HEADS));
        }
        assert_eq!(problem(&SHAPE, &[rows(512, 640), rows(8, 640)]), Some(OTHER_ROWS));
        assert_eq!(problem(&SHAPE, &[rows(512, 644)]), Some(OTHER_ROWS));
    }

    #[test]
    fn a_small_head_goes_through_the_kernel_of_the_next_size() {
        for (size, expected) in [(8, 64), (64, 64), (72, 128), (128, 128)] {
            assert_eq!(kernel_size(&Shape { size, ..SHAPE }), expected, "{size}");
        }
        // Three blocks of 64 keys of 128 bytes, and 16 rows of 72 scores.
        assert_eq!(paged_bytes(&SHAPE), 3 * 64 * 128 + 16 * 72 * 4);
        assert_eq!(paged_bytes(&Shape { size: 128, ..SHAPE }), 3 * 64 * 256 + 16 * 72 * 4);
    }

    #[test]
    fn pages_of_whole_heads_are_copied_as_they_are_on_hopper() {
        let hopper = Properties {
            name: "H200".to_owned(),
            capability: ComputeCapability::HOPPER,
            multiprocessors: 132,
            total_bytes: 1 << 30,
        };
        let ampere = Properties { capability: ComputeCapability::AMPERE, ..hopper.clone() };
        let shape = Shape { heads: 16, kv_heads: 8, size: 128, scale: 1.0 };
        let (kernel, launch) = paged_launch(&hopper, &shape, 64);
        assert_eq!((kernel, launch.blocks), ("attention_paged_bulk_128", 512));
        assert_eq!(launch.shared_bytes, 3 * 64 * 256 + 16 * 72 * 4 + 48);
        assert_eq!(paged_launch(&hopper, &shape, 256).1.blocks, 4 * 132);
        assert_eq!(paged_launch(&hopper, &SHAPE, 1).0, "attention_paged_bulk_64");
        // Four blocks with what each keeps for the system fit into a processor.
        assert!(4 * (launch.shared_bytes + 1024) <= 228 << 10);
        let (kernel, launch) = paged_launch(&ampere, &shape, 256);
        assert_eq!((kernel, launch.blocks), ("attention_paged_128", 2048));
        for other in [Shape { heads: 72, ..shape }, Shape { size: 96, ..shape }] {
            assert_eq!(paged_launch(&hopper, &other, 3).0, "attention_paged_128", "{other:?}");
        }
    }
}
