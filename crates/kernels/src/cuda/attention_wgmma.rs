//! Launchers of attention on Hopper, there and back: heads of 128 numbers, an even number of which share
//! their keys. Shapes were checked by the callers; bits are those of the other kernels.
//!
//! What a launch needs is uploaded at once: a tensor map for each sequence, which ends with it, so that
//! rows behind its end are zeros; the pieces of work; and counters, which begin at zero.

use std::f32::consts::LOG2_E;

use super::Cuda;
use super::attention::{Rows, four};
use super::attention_backward::{DELTA_BLOCKS, scale_pair};
use super::driver::{Argument, ComputeCapability, HeadRows, Launch, TensorMap};
use super::elementwise::blocks;
use super::work::{Work, by_keys, by_queries, works};
use crate::attention::{Output, Packed, Saved, Sequences, Shape};
use crate::buffer::Buffer;
use crate::matmul::MatrixMut;
use crate::offsets::Offsets;
use Argument::{Address, F32, Four, U32, U64};

/// Threads of a block: two warpgroups that compute and one that loads.
const THREADS: u32 = 384;

/// Numbers of a head.
const SIZE: usize = 128;

/// Keys of a piece, and queries.
const KEYS: usize = 128;
const QUERIES: usize = 64;

/// A tile of 64 rows of a head, and half of it.
const TILE_BYTES: usize = 16 << 10;
const PANEL_BYTES: usize = 8 << 10;

/// Barriers, and what is lost to begin at a multiple of 1024.
const BARRIER_BYTES: usize = 128 + 1024;

/// Two tiles of queries and four stages of keys, values and ones.
const FORWARD_BYTES: usize = 2 * TILE_BYTES + 4 * (2 * TILE_BYTES + PANEL_BYTES) + BARRIER_BYTES;

/// Two tiles of keys and of values, and three stages of queries, gradients and what is known of them.
const KEYS_BYTES: usize = 4 * TILE_BYTES + 3 * (2 * TILE_BYTES + 1024) + BARRIER_BYTES;

/// Two tiles of queries and of gradients, and four stages of keys and values.
const QUERIES_BYTES: usize = 4 * TILE_BYTES + 4 * 2 * TILE_BYTES + BARRIER_BYTES;

/// Whether the device and the shape are ones for these kernels.
pub(super) fn suits(cuda: &Cuda, shape: &Shape) -> bool {
    cuda.info().properties.capability == ComputeCapability::HOPPER && suits_shape(shape)
}

fn suits_shape(shape: &Shape) -> bool {
    shape.size == SIZE && shape.group().is_multiple_of(2)
}

/// What a launch needs beside numbers, as one list of words.
#[derive(Debug, Default)]
struct Lists {
    words: Vec<u32>,
}

impl Lists {
    /// Appends words; says where they begin, in bytes.
    fn push(&mut self, words: impl IntoIterator<Item = u32>) -> u64 {
        let begin = self.words.len() * size_of::<u32>();
        self.words.extend(words);
        begin as u64
    }

    /// A map for each sequence of some rows; none after a failure.
    fn push_maps(&mut self, cuda: &Cuda, heads: HeadsOf, offsets: Offsets<'_>) -> Option<u64> {
        let mut begin = None;
        for ends in offsets.windows(2) {
            let rows = heads.of_sequence(ends[0], ends[1]);
            // There is no map of nothing, and no piece that would ask for it.
            let map = match rows.rows {
                0 => TensorMap([0; 16]),
                _ => cuda.attempt(|driver| driver.tensor_map(&rows))?,
            };
            #[expect(clippy::cast_possible_truncation, reason = "the halves of it")]
            let halves = map.0.into_iter().flat_map(|word| [word as u32, (word >> 32) as u32]);
            let at = self.push(halves);
            begin.get_or_insert(at);
        }
        begin
    }

    fn push_works(&mut self, works: &[Work]) -> u64 {
        self.push(works.iter().flat_map(Work::words))
    }

    fn upload(&self, cuda: &Cuda) -> Buffer<u32> {
        let mut to: Buffer<u32> = cuda.take(self.words.len());
        cuda.write(&mut to.view_mut(), &self.words);
        to
    }
}

/// Heads that lie in rows.
#[derive(Debug, Clone, Copy)]
struct HeadsOf {
    rows: Rows,
    heads: usize,
}

impl HeadsOf {
    fn of_sequence(self, begin: usize, end: usize) -> HeadRows {
        let Rows { address, stride } = self.rows;
        let address = address + (begin * stride * size_of::<u16>()) as u64;
        HeadRows { address, rows: end - begin, heads: self.heads, stride }
    }
}

/// Blocks that take pieces from a counter: as many as there are processors.
fn persistent(cuda: &Cuda, pieces: usize) -> u32 {
    blocks(pieces).min(cuda.info().properties.multiprocessors)
}

fn launch(count: u32, shared_bytes: usize) -> Launch {
    Launch { shared_bytes: blocks(shared_bytes), ..Launch::new(count, THREADS) }
}

/// Heads of queries and keys, and those of the rows that have the values: as many heads as rows have room for.
fn both_heads(packed: Packed<'_>) -> [HeadsOf; 2] {
    [packed.qkv, packed.rows_of_values()]
        .map(|matrix| HeadsOf { rows: Rows::of(matrix), heads: matrix.cols / SIZE })
}

pub(super) fn forward(
    cuda: &Cuda,
    output: Output<'_>,
    packed: Packed<'_>,
    sequences: Sequences<'_>,
) {
    let Sequences { shape, offsets } = sequences;
    let Output { mut out, mut lse } = output;
    let works = by_queries(works(offsets, QUERIES).0);
    let pieces = works.len() * shape.heads / 2;
    let mut lists = Lists::default();
    let maps = both_heads(packed).map(|heads| lists.push_maps(cuda, heads, offsets));
    let [Some(maps), Some(value_maps)] = maps else { return };
    let (works_at, tickets) = (lists.push_works(&works), lists.push([0; 2]));
    let uploaded = lists.upload(cuda);
    let at = uploaded.view().cuda().address;
    let to = Rows::to(&mut out);
    let arguments = [
        Four([to.address, lse.cuda().address, to.stride as u64, 0]),
        Address(at + maps),
        Address(at + value_maps),
        Address(at + works_at),
        Address(at + tickets),
        U32(blocks(pieces)),
        four(shape),
        F32(shape.scale * LOG2_E),
    ];
    let launch = launch(persistent(cuda, pieces), FORWARD_BYTES);
    cuda.launch("attention_forward_wgmma", launch, &arguments);
}

pub(super) fn backward(
    cuda: &Cuda,
    dqkv: &mut MatrixMut<'_>,
    saved: Saved<'_>,
    sequences: Sequences<'_>,
) {
    let Sequences { shape, offsets } = sequences;
    let (out, dout) = (Rows::of(saved.out), Rows::of(saved.dout));
    let (tiles, padded) = works(offsets, QUERIES);
    let keys = by_keys(works(offsets, KEYS).0);
    let queries = by_queries(tiles);
    let both = [keys.len() * shape.kv_heads, queries.len() * shape.heads / 2];
    let [qkv_heads, value_heads] = both_heads(saved.packed);
    let dout_heads = HeadsOf { rows: dout, heads: shape.heads };
    let mut lists = Lists::default();
    let maps = [qkv_heads, value_heads, dout_heads];
    let maps = maps.map(|heads| lists.push_maps(cuda, heads, offsets));
    let [Some(qkv_maps), Some(value_maps), Some(dout_maps)] = maps else { return };
    let [keys_at, queries_at] = [&keys, &queries].map(|list| lists.push_works(list));
    let tickets = lists.push([0; 2]);
    let uploaded = lists.upload(cuda);
    let at = uploaded.view().cuda().address;
    // Two numbers for each query head and row.
    let stats: Buffer<f32> = cuda.take(2 * shape.heads * padded);
    let stats_at = stats.view().cuda().address;
    let matrix = |rows: Rows| Four([rows.address, rows.stride as u64, 0, 0]);
    let known = [
        Address(stats_at),
        U64(padded as u64),
        matrix(out),
        matrix(dout),
        Address(saved.lse.cuda().address),
        Address(at + queries_at),
        four(shape),
    ];
    let count = blocks(DELTA_BLOCKS * queries.len());
    cuda.launch("attention_delta_128", Launch::new(count, 256), &known);
    let to = Rows::to(dqkv);
    let arguments = |list: [u64; 4]| {
        [
            matrix(to),
            Four([at + qkv_maps, at + dout_maps, stats_at, padded as u64]),
            Four(list),
            four(shape),
            scale_pair(shape),
        ]
    };
    // A block a piece: keys are the longest pieces. Queries do not need what becomes of them, and begin where
    // the last of them leave processors free.
    let list = [at + keys_at, 0, both[0] as u64, at + value_maps];
    let for_keys = launch(blocks(both[0]), KEYS_BYTES).programmatic();
    cuda.launch("attention_keys_wgmma", for_keys, &arguments(list));
    let list = [at + queries_at, at + tickets, both[1] as u64, at + value_maps];
    let for_queries = launch(persistent(cuda, both[1]), QUERIES_BYTES).programmatic();
    cuda.launch("attention_queries_wgmma", for_queries, &arguments(list));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::work::WORDS;

    #[test]
    fn even_groups_of_heads_of_128_have_these_kernels() {
        let shape = Shape { heads: 16, kv_heads: 8, size: 128, scale: 0.1 };
        for (heads, kv_heads, size, expected) in [
            (16, 8, 128, true),
            (16, 2, 128, true),
            (16, 16, 128, false),
            (24, 8, 128, false),
            (16, 8, 64, false),
        ] {
            assert_eq!(suits_shape(&Shape { heads, kv_heads, size, ..shape }), expected, "{heads}");
        }
    }

    #[test]
    fn blocks_fit_into_hoppers_shared_memory() {
        assert_eq!((FORWARD_BYTES, KEYS_BYTES, QUERIES_BYTES), (197_760, 168_064, 197_760));
        const { assert!(FORWARD_BYTES <= 227 << 10) };
    }

    #[test]
    fn a_sequences_map_begins_and_ends_with_it() {
        let heads = HeadsOf { rows: Rows { address: 512, stride: 40 }, heads: 3 };
        let map = heads.of_sequence(7, 12);
        assert_eq!(map, HeadRows { address: 512 + 7 * 80, rows: 5, heads: 3, stride: 40 });
    }

    #[test]
    fn lists_say_where_their_parts_begin() {
        let mut lists = Lists::default();
        assert_eq!(lists.push([1; 32]), 0);
        let works = works(&[0, 70], 64).0;
        assert_eq!(lists.push_works(&works), 128);
        assert_eq!(lists.push([0; 2]), 128 + (2 * WORDS * 4) as u64);
    }
}
