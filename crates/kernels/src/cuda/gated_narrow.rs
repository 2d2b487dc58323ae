//! Launchers of `SwiGLU` with the narrow product of an adapter in the same pass over the rows. Shapes were
//! checked by the callers; bits are those of both one after the other.

use super::Cuda;
use super::driver::{Argument, ComputeCapability, Launch};
use super::elementwise::blocks;
use crate::fused_linear::{AdapterRange, AugmentedWeight, Gated, Sizes};
use crate::matmul::MatrixMut;
use Argument::{Address, F32, Four};

/// Rows of a block, columns of a step, and the most narrow columns of a side; `gated_narrow.cu` has the same.
const ROWS: usize = 32;
const COLUMNS: usize = 64;
const NARROW: usize = 64;
const THREADS: u32 = 256;

/// Bytes of an activation.
const BYTES: usize = size_of::<u16>();

/// Bytes of a tile of rows, and of one of weights.
const TILE: usize = ROWS * COLUMNS * BYTES;
const WEIGHTS: usize = NARROW * COLUMNS * BYTES;

/// Shared memory of a block: stages of gates, of what goes through them and of weights; and back of gradients
/// and of the weights of both sides.
const FORWARD_BYTES: usize = 5 * (2 * TILE + WEIGHTS);
const BACKWARD_BYTES: usize = 4 * (3 * TILE + 2 * WEIGHTS);

/// Blocks of a processor that there is room for.
const BLOCKS_AT_ONCE: usize = 2;

/// Of the room for blocks, the least part that must be used: a block walks over whole rows, and few of them
/// leave processors idle that two kernels one after the other would use.
const LEAST_USE: usize = 4;

/// Whether there are enough rows: so many that all but a `LEAST_USE`th of the chip is busy to the end.
fn enough_rows(rows: usize, processors: usize) -> bool {
    let (needed, room) = (rows.div_ceil(ROWS), (processors * BLOCKS_AT_ONCE).max(1));
    let rounds = needed.div_ceil(room) * room;
    processors > 0 && needed > 0 && (rounds - needed) * LEAST_USE <= rounds
}

/// Where rows begin, and how far they are apart.
#[derive(Debug, Clone, Copy)]
struct Rows {
    address: u64,
    stride: usize,
}

impl Rows {
    fn of(matrix: &mut MatrixMut<'_>) -> Self {
        Self { address: matrix.data.cuda().address, stride: matrix.stride }
    }

    /// Whether every eight numbers can be had at once.
    fn fits(&self) -> bool {
        self.address.is_multiple_of(16) && self.stride.is_multiple_of(8)
    }
}

fn suits(cuda: &Cuda, rows: usize, width: usize, all: &[Rows]) -> bool {
    let properties = &cuda.info().properties;
    width > 0
        && width.is_multiple_of(COLUMNS)
        && enough_rows(rows, properties.multiprocessors as usize)
        && properties.capability == ComputeCapability::HOPPER
        && all.iter().all(Rows::fits)
}

/// The columns of both sides of what is narrow, as the kernel reads them; none if a side has too many, or the
/// sides are not a gate and what goes through it.
fn sides(parts: &[AdapterRange], outputs: usize) -> Option<u64> {
    let [gate, up] = parts else { return None };
    if gate.outputs != (0..outputs / 2) || up.outputs.end != outputs {
        return None;
    }
    let word = |part: &AdapterRange| {
        let (begin, end) = (part.narrow.start, part.narrow.end.next_multiple_of(8));
        let fits = begin.is_multiple_of(8) && end - begin <= NARROW && u16::try_from(end).is_ok();
        fits.then_some(begin as u64 | (end as u64) << 16)
    };
    Some(word(gate)? | word(up)? << 32)
}

/// `x = silu(gate) · up`, `u` right of it and into `kept`; says whether there is a kernel.
pub(crate) fn forward(
    cuda: &Cuda,
    x: &mut MatrixMut<'_>,
    gated: &mut Gated<'_>,
    weight: &AugmentedWeight,
) -> bool {
    let Gated { both, kept } = gated;
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let stride = weight.sizes().stride();
    let to = Rows::of(x);
    let from = Rows { address: both.data.cuda().address, stride: both.row_stride };
    let a =
        Rows { address: weight.view().cuda().address + (outputs * stride * BYTES) as u64, stride };
    let u = Rows { address: kept.cuda().address, stride: narrow };
    if narrow > NARROW || !suits(cuda, x.rows, inputs, &[to, from, a, u]) {
        return false;
    }
    let arguments = [
        Address(to.address),
        Address(from.address),
        Address(a.address),
        Address(u.address),
        Four([to.stride, from.stride, stride, narrow].map(|number| number as u64)),
        Four([x.rows, inputs, narrow, 0].map(|number| number as u64)),
        F32(weight.scale()),
    ];
    cuda.launch("gated_narrow_forward", launch(x.rows, FORWARD_BYTES), &arguments);
    true
}

/// `SwiGLU`'s gradients in place of a gate and what goes through it, `y` in place of `dy`, and `du` right of both;
/// says whether there is a kernel.
pub(crate) fn backward(
    cuda: &Cuda,
    dy: &mut MatrixMut<'_>,
    both: &mut MatrixMut<'_>,
    weight: &AugmentedWeight,
) -> bool {
    let Sizes { outputs, inputs, .. } = weight.sizes();
    let stride = weight.sizes().stride();
    let Some(ranges) = sides(weight.parts(), outputs) else { return false };
    let (slopes, to) = (Rows::of(dy), Rows::of(both));
    let b = Rows { address: weight.view().cuda().address + (inputs * BYTES) as u64, stride };
    if !suits(cuda, dy.rows, dy.cols, &[slopes, to, b]) {
        return false;
    }
    let arguments = [
        Address(slopes.address),
        Address(to.address),
        Address(b.address),
        Four([slopes.stride, to.stride, stride, 0].map(|number| number as u64)),
        Four([dy.rows as u64, dy.cols as u64, ranges, 0]),
        F32(weight.scale()),
    ];
    cuda.launch("gated_narrow_backward", launch(dy.rows, BACKWARD_BYTES), &arguments);
    true
}

fn launch(rows: usize, shared_bytes: usize) -> Launch {
    let launch = Launch::new(blocks(rows.div_ceil(ROWS)), THREADS);
    Launch { shared_bytes: blocks(shared_bytes), ..launch }.programmatic()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_enough_where_few_processors_are_left_idle() {
        // 264 blocks have room at a time.
        for (rows, expected) in
            [(0, false), (64, false), (4096, false), (6336, true), (8192, true), (8448, true)]
        {
            assert_eq!(enough_rows(rows, 132), expected, "{rows}");
        }
        // A few blocks behind a full chip take as long as a full one.
        assert!(!enough_rows(8449, 132) && !enough_rows(10_000, 132));
        assert!(enough_rows(16_384, 132));
        assert!(!enough_rows(32, 0));
    }

    #[test]
    fn both_sides_of_a_gate_are_one_word() {
        let part = |outputs, narrow| AdapterRange { outputs, narrow };
        let both = [part(0..128, 0..64), part(128..256, 64..128)];
        assert_eq!(sides(&both, 256), Some(64 << 16 | 64 << 32 | 128 << 48));
        // A rank that is no multiple of eight has room up to the next, and a side may have none.
        let small = [part(0..128, 0..4), part(128..256, 0..0)];
        assert_eq!(sides(&small, 256), Some(8 << 16));
        let wide = [part(0..128, 0..72), part(128..256, 72..128)];
        let uneven = [part(0..64, 0..8), part(64..256, 8..16)];
        for parts in [&wide[..], &uneven[..], &both[..1]] {
            assert_eq!(sides(parts, 256), None, "{parts:?}");
        }
    }

    #[test]
    fn two_blocks_fit_into_hoppers_shared_memory() {
        assert_eq!((FORWARD_BYTES, BACKWARD_BYTES), (81_920, 114_688));
        const { assert!(2 * (BACKWARD_BYTES + 1024) <= 228 << 10) };
    }
}
