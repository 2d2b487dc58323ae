//! The launcher of gradients of narrow weights, several in one launch. Shapes were checked by the
//! caller.

use super::Cuda;
use super::driver::{Argument, ComputeCapability, Format, Launch};
use super::elementwise::blocks;
use crate::buffer::{Buffer, DeviceSlice, Real};
use crate::linear::WeightGradient;
use crate::matmul::{Matrix, Multiply, ScaledProduct};
use crate::offsets::Offsets;
use Argument::{Address, U32, U64};

/// Columns of the two operands that a block takes; `P_COLUMNS` and `Q_COLUMNS` of the source.
const P_COLUMNS: usize = 128;
const Q_COLUMNS: usize = 64;

/// Threads of a block; `THREADS` of the source.
const THREADS: u32 = 128;

/// Shared memory of a block: three stages of 32 rows of both in bf16, and a tile of f32.
const SHARED_BYTES: usize = 3 * 32 * (P_COLUMNS + Q_COLUMNS) * 2 + P_COLUMNS * Q_COLUMNS * 4;

/// What stages that begin at a multiple of 1024 bytes may leave unused.
const ALIGNMENT: usize = 1024;

/// A kernel and the shared memory of its blocks; both have the same bits.
fn kernel(capability: ComputeCapability) -> (&'static str, usize) {
    if capability == ComputeCapability::HOPPER {
        ("weight_gradients_wgmma", SHARED_BYTES + ALIGNMENT)
    } else {
        ("weight_gradients", SHARED_BYTES)
    }
}

/// `Job` of the source, field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Job {
    to: u64,
    p: u64,
    q: u64,
    i_stride: u64,
    j_stride: u64,
    p_stride: u64,
    q_stride: u64,
    p_columns: u64,
    q_columns: u64,
    scale_bits: u64,
    first_block: u64,
}

impl Job {
    fn words(&self) -> [u64; 11] {
        let Self { to, p, q, i_stride, j_stride, p_stride, q_stride, .. } = *self;
        let Self { p_columns, q_columns, scale_bits, first_block, .. } = *self;
        [
            to,
            p,
            q,
            i_stride,
            j_stride,
            p_stride,
            q_stride,
            p_columns,
            q_columns,
            scale_bits,
            first_block,
        ]
    }

    fn tiles(&self) -> u64 {
        self.p_columns.div_ceil(P_COLUMNS as u64) * self.q_columns.div_ceil(Q_COLUMNS as u64)
    }
}

/// Where an operand begins, how far its rows are apart and how many columns it has.
#[derive(Debug, Clone, Copy)]
struct Side {
    address: u64,
    stride: u64,
    columns: u64,
}

impl Side {
    fn of<T: Real>(matrix: Matrix<'_, T>) -> Self {
        let address = matrix.data.cuda().address;
        Self { address, stride: matrix.row_stride as u64, columns: matrix.cols as u64 }
    }

    /// Whether every eight numbers of a row can be had at once. The last of a row may lie between
    /// its end and the next row: they go nowhere.
    fn fits(&self) -> bool {
        self.address.is_multiple_of(16) && self.stride.is_multiple_of(8)
    }
}

/// The longer side is `p`, whose tiles are longer.
fn job(to: DeviceSlice<'_>, to_stride: u64, sides: [Side; 2], scale: f32) -> Job {
    let [rows, columns] = sides;
    let (p, q, i_stride, j_stride) = if rows.columns >= columns.columns {
        (rows, columns, to_stride, 1)
    } else {
        (columns, rows, 1, to_stride)
    };
    Job {
        to: to.address,
        p: p.address,
        q: q.address,
        i_stride,
        j_stride,
        p_stride: p.stride,
        q_stride: q.stride,
        p_columns: p.columns,
        q_columns: q.columns,
        scale_bits: u64::from(scale.to_bits()),
        first_block: 0,
    }
}

/// Adds all of them in one launch; says whether it could.
pub(crate) fn add_all(
    cuda: &Cuda,
    gradients: &mut [WeightGradient<'_>],
    sequences: Offsets<'_>,
) -> bool {
    let job = |one: &mut WeightGradient<'_>| {
        let sides = [Side::of(one.dy), Side::of(one.x)];
        let stride = one.to.stride as u64;
        sides.iter().all(Side::fits).then(|| job(one.to.data.cuda(), stride, sides, one.scale))
    };
    let jobs: Option<Vec<Job>> = gradients.iter_mut().map(job).collect();
    jobs.map(|jobs| launch(cuda, jobs, sequences)).is_some()
}

/// Adds one, `to += scale · a · b` with `a` a transpose; says whether it could.
pub(crate) fn add_one<T: Real, A: Real, B: Real>(
    cuda: &Cuda,
    multiply: &mut Multiply<'_, T, A, B>,
    sequences: Offsets<'_>,
) -> bool {
    let ScaledProduct { scale, a, b } = multiply.product;
    let formats = [T::FORMAT, A::FORMAT, B::FORMAT];
    let plain = a.row_stride == 1 && b.col_stride == 1;
    if !plain || formats != [Some(Format::F32), Some(Format::Bf16), Some(Format::Bf16)] {
        return false;
    }
    let sides = [Side::of(a.transposed()), Side::of(b)];
    let fits = sides.iter().all(Side::fits);
    if fits {
        let stride = multiply.to.stride as u64;
        let job = job(multiply.to.data.cuda(), stride, sides, scale);
        launch(cuda, vec![job], sequences);
    }
    fits
}

fn launch(cuda: &Cuda, mut jobs: Vec<Job>, sequences: Offsets<'_>) {
    let mut first_block = 0;
    for job in &mut jobs {
        job.first_block = first_block;
        first_block += job.tiles();
    }
    let mut words: Vec<u64> = jobs.iter().flat_map(Job::words).collect();
    let offsets_at = (words.len() * size_of::<u64>()) as u64;
    words.extend(sequences.iter().map(|&offset| offset as u64));
    let uploaded = upload(cuda, &words);
    let at = uploaded.view().cuda().address;
    let arguments = [
        Address(at),
        U32(blocks(jobs.len())),
        Address(at + offsets_at),
        U64(sequences.len().saturating_sub(1) as u64),
    ];
    let count = blocks(usize::try_from(first_block).unwrap_or(usize::MAX));
    let (kernel, shared) = kernel(cuda.info().properties.capability);
    let launch = Launch { shared_bytes: blocks(shared), ..Launch::new(count, THREADS) };
    cuda.launch(kernel, launch, &arguments);
}

pub(super) fn upload(cuda: &Cuda, words: &[u64]) -> Buffer<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half, then the upper")]
    let halves: Vec<u32> =
        words.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]).collect();
    let mut there: Buffer<u32> = cuda.take(halves.len());
    cuda.write(&mut there.view_mut(), &halves);
    there
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(columns: u64) -> Side {
        Side { address: 512, stride: columns, columns }
    }

    #[test]
    fn the_longer_side_has_the_longer_tiles_wherever_it_lies_in_the_result() {
        let view = Buffer::<f32>::on_cuda(crate::cuda::Block::default(), 0);
        let to = view.view().cuda();
        let tall = job(to, 64, [side(2048), side(64)], 2.0);
        assert_eq!((tall.p_columns, tall.i_stride, tall.j_stride, tall.tiles()), (2048, 64, 1, 16));
        let wide = job(to, 6144, [side(64), side(6144)], 1.0);
        assert_eq!(
            (wide.p_columns, wide.i_stride, wide.j_stride, wide.tiles()),
            (6144, 1, 6144, 48)
        );
        assert_eq!(job(to, 72, [side(136), side(72)], 1.0).tiles(), 4);
        assert_eq!(tall.words()[9], u64::from(2f32.to_bits()));
    }

    #[test]
    fn products_of_warpgroups_are_hoppers_alone() {
        assert_eq!(kernel(ComputeCapability::HOPPER).0, "weight_gradients_wgmma");
        assert_eq!(kernel(ComputeCapability::AMPERE).0, "weight_gradients");
        assert_eq!(kernel(ComputeCapability { major: 10, minor: 0 }).0, "weight_gradients");
    }

    #[test]
    fn what_cannot_be_had_eight_at_a_time_is_left_to_products() {
        assert!(side(64).fits());
        assert!(Side { columns: 60, ..side(64) }.fits());
        assert!(!side(60).fits());
        assert!(!Side { address: 8, ..side(64) }.fits());
        assert!(!Side { stride: 68, ..side(64) }.fits());
    }
}
