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

/// Columns of the second operand that a block takes; `Q_COLUMNS` of the sources.
const Q_COLUMNS: u64 = 64;

/// What stages that begin at a multiple of 1024 bytes may leave unused.
const ALIGNMENT: usize = 1024;

/// A kernel and its blocks: `P_COLUMNS` and `THREADS` of its source, and shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kernel {
    name: &'static str,
    /// Columns of the first operand that a block takes.
    p_columns: u64,
    threads: u32,
    shared_bytes: usize,
}

impl Kernel {
    /// Three stages of 32 rows of both operands in bf16, and a tile of f32.
    const PLAIN: Self = Self {
        name: "weight_gradients",
        p_columns: 128,
        threads: 128,
        shared_bytes: 3 * 32 * (128 + 64) * 2 + 128 * 64 * 4,
    };

    /// Four stages of 64 rows. The same bits.
    const HOPPER: Self = Self {
        name: "weight_gradients_wgmma",
        p_columns: 320,
        threads: 640,
        shared_bytes: 4 * 64 * (320 + 64) * 2 + ALIGNMENT,
    };

    fn of(capability: ComputeCapability) -> Self {
        if capability == ComputeCapability::HOPPER { Self::HOPPER } else { Self::PLAIN }
    }

    /// Blocks of a job.
    fn tiles(&self, job: &Job) -> u64 {
        job.p_columns.div_ceil(self.p_columns) * job.q_columns.div_ceil(Q_COLUMNS)
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
    let kernel = Kernel::of(cuda.info().properties.capability);
    let mut first_block = 0;
    for job in &mut jobs {
        job.first_block = first_block;
        first_block += kernel.tiles(job);
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
    let Kernel { name, threads, shared_bytes, .. } = kernel;
    let launch = Launch { shared_bytes: blocks(shared_bytes), ..Launch::new(count, threads) };
    cuda.launch(name, launch, &arguments);
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
        assert_eq!((tall.p_columns, tall.i_stride, tall.j_stride), (2048, 64, 1));
        let wide = job(to, 6144, [side(64), side(6144)], 1.0);
        assert_eq!((wide.p_columns, wide.i_stride, wide.j_stride), (6144, 1, 6144));
        assert_eq!(tall.words()[9], u64::from(2f32.to_bits()));
        let tiles = |kernel: Kernel| [tall, wide].map(|job| kernel.tiles(&job));
        assert_eq!((tiles(Kernel::PLAIN), tiles(Kernel::HOPPER)), ([16, 48], [7, 20]));
        let both_narrow = job(to, 72, [side(136), side(72)], 1.0);
        assert_eq!(Kernel::PLAIN.tiles(&both_narrow), 4);
        assert_eq!(Kernel::HOPPER.tiles(&both_narrow), 2);
    }

    #[test]
    fn products_of_warpgroups_are_hoppers_alone() {
        assert_eq!(Kernel::of(ComputeCapability::HOPPER), Kernel::HOPPER);
        for other in [ComputeCapability::AMPERE, ComputeCapability { major: 10, minor: 0 }] {
            assert_eq!(Kernel::of(other), Kernel::PLAIN);
        }
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
