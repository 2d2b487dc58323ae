//! Launchers of attention's gradient. Shapes were checked by the caller.
//!
//! Three kernels: what is known of each query, the gradients of keys and values, those of queries. The
//! last computes scores again; nothing is added by two blocks, so bits are the same in every run and
//! whatever is packed beside a sequence.

use std::f32::consts::LOG2_E;

use super::Cuda;
use super::attention::{Rows, TILE, WARPS, four, heads_at_once, kernel_size, packed_rows, problem};
use super::attention_wgmma;
use super::driver::{Argument, Launch};
use super::elementwise::blocks;
use super::work::{ROWS, by_keys, by_queries, upload, works};
use crate::attention::{Saved, Sequences, Shape};
use crate::buffer::Buffer;
use crate::matmul::MatrixMut;
use Argument::{Address, Four, U64};

/// Stages of keys and values on their way into shared memory; `STAGES` of `attention_backward.cu`.
const STAGES: usize = 3;

/// Bytes of shared memory of a block of keys: its keys and values, and two stages of queries, their
/// gradients and what is known of them.
fn keys_bytes(size: usize) -> u32 {
    let tile = ROWS * size * size_of::<u16>();
    blocks(2 * tile + 2 * (2 * tile + ROWS * 8))
}

/// Bytes of shared memory of a block of queries: stages of keys and values.
fn queries_bytes(size: usize) -> u32 {
    blocks(STAGES * 2 * ROWS * size * size_of::<u16>())
}

/// Blocks for a tile of what is known of each query.
pub(super) const DELTA_BLOCKS: usize = 8;

/// Of a score, and of a score as a power of two.
pub(super) fn scale_pair(shape: &Shape) -> Argument {
    let [plain, power] = [shape.scale, shape.scale * LOG2_E].map(|x| u64::from(x.to_bits()));
    U64(plain | power << 32)
}

fn matrix(rows: Rows) -> Argument {
    Four([rows.address, rows.stride as u64, 0, 0])
}

pub(crate) fn backward(
    cuda: &Cuda,
    dqkv: &mut MatrixMut<'_>,
    saved: Saved<'_>,
    sequences: Sequences<'_>,
) {
    let Sequences { shape, offsets } = sequences;
    let to = Rows::to(dqkv);
    let [qkv, values] = [saved.packed.qkv, saved.packed.rows_of_values()].map(Rows::of);
    let (out, dout) = (Rows::of(saved.out), Rows::of(saved.dout));
    if let Some(problem) = problem(shape, &[to, qkv, values, out, dout]) {
        return cuda.unsupported(problem);
    }
    if attention_wgmma::suits(cuda, shape) {
        return attention_wgmma::backward(cuda, dqkv, saved, sequences);
    }
    let (size, at_once) = (kernel_size(shape), heads_at_once(shape));
    let (tiles, padded) = works(offsets, ROWS);
    let queries = works(offsets, WARPS / at_once * TILE).0;
    let [keys, queries] = [by_keys(tiles), by_queries(queries)];
    let (keys_list, queries_list) = (upload(cuda, &keys), upload(cuda, &queries));
    // Two numbers for each query head and row.
    let stats: Buffer<f32> = cuda.take(2 * shape.heads * padded);
    let (stats, padded) = (Address(stats.view().cuda().address), U64(padded as u64));
    let [keys_at, queries_at] = [&keys_list, &queries_list].map(|list| list.view().cuda().address);
    let names = match size {
        64 => ["attention_delta_64", "attention_keys_64", "attention_queries_64"],
        _ => ["attention_delta_128", "attention_keys_128", "attention_queries_128"],
    };
    let lse = Address(saved.lse.cuda().address);
    let known = [stats, padded, matrix(out), matrix(dout), lse, Address(keys_at), four(shape)];
    cuda.launch(names[0], Launch::new(blocks(DELTA_BLOCKS * keys.len()), 256), &known);
    let arguments = |list: u64| {
        [
            Address(to.address),
            U64(to.stride as u64),
            packed_rows(qkv, values),
            matrix(dout),
            stats,
            padded,
            Address(list),
            four(shape),
            scale_pair(shape),
        ]
    };
    let launch = Launch::new(blocks(keys.len() * shape.kv_heads), 128);
    let launch = Launch { shared_bytes: keys_bytes(size), ..launch };
    cuda.launch(names[1], launch, &arguments(keys_at));
    let launch = Launch::new(blocks(queries.len() * (shape.heads / at_once)), 256);
    let launch = Launch { shared_bytes: queries_bytes(size), ..launch };
    cuda.launch(names[2], launch, &arguments(queries_at));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fit_into_the_shared_memory_of_every_chip() {
        // 99 KiB on compute capability 8.6 and 8.9, more on others.
        assert_eq!((keys_bytes(128), queries_bytes(128)), (99_328, 98_304));
        assert_eq!((keys_bytes(64), queries_bytes(64)), (50_176, 49_152));
        assert!(keys_bytes(128) <= 99 << 10);
    }

    #[test]
    fn both_scales_are_one_argument() {
        let shape = Shape { heads: 2, kv_heads: 1, size: 64, scale: 0.5 };
        let U64(both) = scale_pair(&shape) else { panic!("two floats") };
        let halves = [both & u64::from(u32::MAX), both >> 32];
        assert_eq!(halves, [0.5, 0.5 * LOG2_E].map(|x: f32| u64::from(x.to_bits())));
    }
}
