//! Products of [`crate::fused_linear`]: operands and results lie in one buffer. Shapes were checked by
//! the caller.
//!
//! For few rows a narrow product takes as long as a wide one: it waits for each of its sums. There one
//! product gives `[x·Wᵀ | x·Aᵀ]` in f32, and a kernel of ours continues each sum with `u·Bᵀ`. Bits are
//! those of many rows.

use super::Cuda;
use super::driver::{Addend, Argument, Format, Launch, Operands, Order, Product};
use super::elementwise::blocks;
use super::product::{multiply_at, multiply_beside};
use super::qk_norm_rope::{pages_of, placing_arguments};
use crate::attention::Shape;
use crate::buffer::Buffer;
use crate::fused_linear::{AdapterRange, AugmentedWeight, FusedWeight, Narrow, Output, Sizes};
use crate::matmul::{Matrix, MatrixMut};
use crate::qk_norm_rope::PlacingInPages;
use Argument::{Address, F32, Four, U64};

/// Bytes of an activation.
const BYTES: u64 = 2;

/// The most rows that are few.
const FEW_ROWS: usize = 512;

/// Rows and columns of a tile, and threads of a block; `fused_linear.cu` has the same.
const TILE_ROWS: usize = 64;
const TILE_COLUMNS: usize = 32;
const THREADS: u32 = 256;

/// Columns of a block of the kernels that end heads; `continued_heads.cu` has the same.
const HEADS_COLUMNS: usize = 128;

/// Rows up to which such a block has 16 of them, and not 32.
const HEADS_FEW_ROWS: usize = 128;

/// Blocks of a processor that there is room for, and of those with a gate.
const BLOCKS_AT_ONCE: usize = 2;
const GATED_AT_ONCE: usize = 3;

/// The most narrow columns, so that a block's rows of them fit into shared memory.
const MOST_NARROW: usize = 1024;

/// Numbers between the narrow parts of two rows in shared memory.
const NARROW_GAP: usize = 8;

/// Parts that a kernel is told of.
const MOST_PARTS: usize = 4;

/// Whether sums are continued by a kernel of ours: for few rows, where the sums over inputs end at a
/// multiple of what the tensor core takes at a time.
fn continues(rows: usize, sizes: Sizes, strides: &[usize]) -> bool {
    let Sizes { outputs, inputs, narrow } = sizes;
    let whole = inputs.is_multiple_of(16) && narrow.is_multiple_of(16);
    whole
        && narrow <= MOST_NARROW
        && rows <= FEW_ROWS
        && outputs.is_multiple_of(8)
        && strides.iter().all(|stride| stride.is_multiple_of(8))
}

/// Blocks of the kernel that continues sums. Each has some tiles of a row of tiles, so many that all blocks
/// find room at a time: what is narrow is loaded once for all of them. With a gate a tile has its columns from
/// each side.
fn continuing_blocks(rows: usize, outputs: usize, end: End<'_>, room: usize) -> usize {
    let across = match end {
        End::Plain(_) => outputs,
        End::Gated => outputs / 2,
    };
    let (down, across) = (rows.div_ceil(TILE_ROWS), across.div_ceil(TILE_COLUMNS));
    let each = (down * across).div_ceil(room.max(1)).max(1);
    down * across.div_ceil(each)
}

/// Parts as the kernel reads them: where the outputs end, and above that where the narrow columns begin and
/// end, 16 bits each. More parts than it reads are one that has all columns.
fn part_words(parts: &[AdapterRange], sizes: Sizes) -> [u64; MOST_PARTS] {
    let word = |outputs: usize, begin: usize, end: usize| {
        outputs as u64 | (begin as u64) << 32 | (end as u64) << 48
    };
    let mut words = [word(sizes.outputs, 0, 0); MOST_PARTS];
    if parts.len() > MOST_PARTS {
        words[0] = word(sizes.outputs, 0, sizes.narrow);
        return words;
    }
    for (to, AdapterRange { outputs, narrow }) in words.iter_mut().zip(parts) {
        *to = word(outputs.end, narrow.start, narrow.end);
    }
    words
}

/// What becomes of a sum.
#[derive(Debug, Clone, Copy)]
enum End<'a> {
    /// It is rounded, with a residual if there is one.
    Plain(Option<Matrix<'a>>),
    /// The first half of the outputs is a gate for the second: `silu(gate) · up`.
    Gated,
}

/// Weights, and what becomes of the sums of their product.
#[derive(Debug, Clone, Copy)]
struct Continued<'a> {
    weight: &'a AugmentedWeight,
    end: End<'a>,
}

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
        addend: Addend::Nothing,
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
    multiply_at(cuda, &product, &Operands { a: at, b, to, residual: 0 });
}

pub(crate) fn forward(
    cuda: &Cuda,
    output: Output<'_>,
    x: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) {
    let (Output { mut y, residual }, FusedWeight { weight, narrow: part }) = (output, fused);
    let Sizes { outputs, inputs, .. } = weight.sizes();
    let stride = weight.sizes().stride();
    if part == Narrow::With {
        let beside = residual.map_or(y.stride, |residual| residual.row_stride);
        if continues(y.rows, weight.sizes(), &[x.stride, y.stride, beside]) {
            return continued(cuda, y, x, Continued { weight, end: End::Plain(residual) });
        }
        narrow(cuda, x, weight);
    }
    let inner = if part == Narrow::Without { inputs } else { stride };
    let product = product(y.rows, outputs, inner, [x.stride, stride, y.stride]);
    let operands = Operands {
        a: x.data.cuda().address,
        b: weight.view().cuda().address,
        to: y.data.cuda().address,
        residual: 0,
    };
    match residual {
        None => multiply_at(cuda, &product, &operands),
        Some(residual) => multiply_beside(cuda, &product, &operands, residual),
    }
}

/// A gate and what goes through it from one input, as one result; says whether there is a kernel.
pub(crate) fn forward_gated(
    cuda: &Cuda,
    y: MatrixMut<'_>,
    x: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) -> bool {
    let FusedWeight { weight, narrow: part } = fused;
    let there = part == Narrow::With
        && weight.sizes().outputs.is_multiple_of(16)
        && continues(y.rows, weight.sizes(), &[x.stride, y.stride]);
    if there {
        continued(cuda, y, x, Continued { weight, end: End::Gated });
    }
    there
}

/// Queries, keys and values of one input, normed and turned, keys and values also in their pages; says whether
/// there is a kernel.
pub(crate) fn forward_heads(
    cuda: &Cuda,
    to: &mut MatrixMut<'_>,
    x: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
    with: &mut PlacingInPages<'_>,
) -> bool {
    let FusedWeight { weight, narrow: part } = fused;
    let sizes = weight.sizes();
    let continues = part == Narrow::With && continues(to.rows, sizes, &[x.stride, to.stride]);
    let kernel = HeadsKernel::of(to.rows, with.placing.shape);
    let Some(kernel) = kernel.filter(|_| continues) else { return false };
    let sums = sums_over_inputs(cuda, x, weight);
    let b = weight.view().cuda().address + sizes.inputs as u64 * BYTES;
    let PlacingInPages { placing, cache, layer, slots } = with;
    let values = placing.shape.kv_heads;
    let [tables, gains, shape, epsilon] = placing_arguments(*placing, to.rows, values);
    let columns = sizes.outputs + sizes.narrow;
    let arguments = [
        Address(to.data.cuda().address),
        U64(to.stride as u64),
        Address(sums.view().cuda().address),
        Address(b),
        Four([columns, sizes.stride(), sizes.outputs, 0].map(|size| size as u64)),
        Four(part_words(weight.parts(), sizes)),
        F32(weight.scale()),
        tables,
        gains,
        shape,
        epsilon,
        pages_of(cache, *layer, *slots),
    ];
    cuda.launch(kernel.name, kernel.launch(to.rows, sizes.outputs), &arguments);
    true
}

/// A kernel that ends sums of heads, and the rows of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeadsKernel {
    name: &'static str,
    rows: usize,
}

impl HeadsKernel {
    /// That of so many rows, if there is one for such heads: whole heads lie in the columns of a block.
    fn of(rows: usize, shape: &Shape) -> Option<Self> {
        let (name, rows) = match (shape.size, rows <= HEADS_FEW_ROWS) {
            (64, true) => ("continue_heads_64", 16),
            (64, false) => ("continue_heads_64_many", 32),
            (128, true) => ("continue_heads_128", 16),
            (128, false) => ("continue_heads_128_many", 32),
            _ => return None,
        };
        shape.packed_width().is_multiple_of(HEADS_COLUMNS).then_some(Self { name, rows })
    }

    fn launch(self, rows: usize, outputs: usize) -> Launch {
        let count = rows.div_ceil(self.rows) * (outputs / HEADS_COLUMNS);
        Launch::new(blocks(count), THREADS).programmatic()
    }
}

/// `[x·Wᵀ | x·Aᵀ]`, rows side by side.
fn sums_over_inputs(cuda: &Cuda, x: &mut MatrixMut<'_>, weight: &AugmentedWeight) -> Buffer<f32> {
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let (rows, columns, stride) = (x.rows, outputs + narrow, weight.sizes().stride());
    let sums: Buffer<f32> = cuda.take(rows * columns);
    let (a, b) = (x.data.cuda().address, weight.view().cuda().address);
    let to = sums.view().cuda().address;
    let product = Product {
        to_format: Format::F32,
        ..product(rows, columns, inputs, [x.stride, stride, columns])
    };
    multiply_at(cuda, &product, &Operands { a, b, to, residual: 0 });
    sums
}

/// One product of the inputs alone, and its end.
fn continued(cuda: &Cuda, mut y: MatrixMut<'_>, x: &mut MatrixMut<'_>, continued: Continued<'_>) {
    let Continued { weight, end } = continued;
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let (rows, columns, stride) = (y.rows, outputs + narrow, weight.sizes().stride());
    let sums = sums_over_inputs(cuda, x, weight);
    let (a, b) = (x.data.cuda().address, weight.view().cuda().address);
    let to = sums.view().cuda().address;
    let (beside, beside_stride) = match end {
        End::Plain(Some(residual)) => (residual.data.cuda().address, residual.row_stride),
        _ => (0, 0),
    };
    let (kernel, at_once) = match end {
        End::Plain(_) => ("continue_product", BLOCKS_AT_ONCE),
        End::Gated => ("continue_gated_product", GATED_AT_ONCE),
    };
    let sizes = |all: [usize; 4]| Four(all.map(|size| size as u64));
    let arguments = [
        Address(y.data.cuda().address),
        Address(beside),
        Address(to),
        Address(b + inputs as u64 * BYTES),
        Address(a + inputs as u64 * BYTES),
        sizes([y.stride, beside_stride, columns, stride]),
        sizes([rows, outputs, narrow, x.stride]),
        Four(part_words(weight.parts(), weight.sizes())),
        F32(weight.scale()),
    ];
    let room = cuda.info().properties.multiprocessors as usize * at_once;
    let count = blocks(continuing_blocks(rows, outputs, end, room));
    let shared_bytes = blocks(TILE_ROWS * (narrow + NARROW_GAP) * size_of::<u16>());
    let launch = Launch { shared_bytes, ..Launch::new(count, THREADS) }.programmatic();
    cuda.launch(kernel, launch, &arguments);
}

fn by_rows(product: Product) -> Product {
    Product { b: (Order::ByRows, product.b.1), ..product }
}

pub(crate) fn backward_narrow(cuda: &Cuda, dy: &mut MatrixMut<'_>, weight: &AugmentedWeight) {
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let (at, stride) = (dy.data.cuda().address, weight.sizes().stride());
    let product = by_rows(product(dy.rows, narrow, outputs, [dy.stride, stride, dy.stride]));
    let product = Product { scale_bits: weight.scale().to_bits(), ..product };
    let b = weight.view().cuda().address + inputs as u64 * BYTES;
    let to = at + outputs as u64 * BYTES;
    multiply_at(cuda, &product, &Operands { a: at, b, to, residual: 0 });
}

pub(crate) fn backward(
    cuda: &Cuda,
    mut dx: MatrixMut<'_>,
    dy: &mut MatrixMut<'_>,
    fused: FusedWeight<'_>,
) {
    let FusedWeight { weight, narrow: part } = fused;
    let Sizes { outputs, inputs, narrow } = weight.sizes();
    let stride = weight.sizes().stride();
    let (at, all) = (dy.data.cuda().address, weight.view().cuda().address);
    let inner = match part {
        Narrow::Without => outputs,
        Narrow::With => {
            backward_narrow(cuda, dy, weight);
            outputs + narrow
        }
        Narrow::Ready => outputs + narrow,
    };
    let product = by_rows(product(dy.rows, inputs, inner, [dy.stride, stride, dx.stride]));
    let to = dx.data.cuda().address;
    multiply_at(cuda, &product, &Operands { a: at, b: all, to, residual: 0 });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_continued_for_few_rows_at_whole_steps_of_the_tensor_core() {
        let sizes = Sizes { outputs: 4096, inputs: 2048, narrow: 192 };
        assert!(continues(64, sizes, &[2240, 4288]));
        assert!(continues(512, sizes, &[2240]) && !continues(513, sizes, &[2240]));
        assert!(!continues(64, Sizes { inputs: 2056, ..sizes }, &[2240]));
        assert!(!continues(64, Sizes { narrow: 8, ..sizes }, &[2240]));
        assert!(!continues(64, Sizes { narrow: 1040, ..sizes }, &[2240]));
        assert!(!continues(64, Sizes { outputs: 4090, ..sizes }, &[2240]));
        assert!(!continues(64, sizes, &[2241]));
    }

    #[test]
    fn every_tile_has_a_block_and_all_blocks_find_room() {
        let plain = |rows, outputs| continuing_blocks(rows, outputs, End::Plain(None), 264);
        // One tile each where they are few, and two or three where they are many.
        assert_eq!(plain(64, 4096), 128);
        assert_eq!(plain(256, 4096), 256);
        assert_eq!(plain(65, 12_288), 2 * 128);
        assert_eq!(plain(1, 8), 1);
        assert_eq!(plain(17, 264), 9);
        let gated = |rows, outputs| continuing_blocks(rows, outputs, End::Gated, 396);
        assert_eq!(gated(64, 12_288), 192);
        assert_eq!(gated(256, 12_288), 4 * 96);
        // Two blocks for 40 columns of each side.
        assert_eq!(gated(48, 80), 2);
    }

    #[test]
    fn whole_heads_lie_in_the_columns_of_a_block() {
        let shape = |heads, kv_heads, size| Shape { heads, kv_heads, size, scale: 1.0 };
        let name = |rows, shape: &Shape| HeadsKernel::of(rows, shape).map(|kernel| kernel.name);
        assert_eq!(name(128, &shape(16, 8, 128)), Some("continue_heads_128"));
        assert_eq!(name(1, &shape(2, 1, 64)), Some("continue_heads_64"));
        // Five heads of 64 leave half a block, and no lanes share a head of 96.
        assert_eq!(name(1, &shape(3, 1, 64)), None);
        assert_eq!(name(1, &shape(2, 1, 96)), None);
        let blocks = |rows| {
            let kernel = HeadsKernel::of(rows, &shape(16, 8, 128)).expect("a kernel");
            kernel.launch(rows, 4096).blocks
        };
        assert_eq!([1, 64, 129, 256].map(blocks), [32, 4 * 32, 5 * 32, 8 * 32]);
    }

    #[test]
    fn parts_are_laid_out_as_the_kernel_reads_them() {
        let part = |outputs, narrow| AdapterRange { outputs, narrow };
        let sizes = Sizes { outputs: 4096, inputs: 2048, narrow: 128 };
        let parts = [part(0..2048, 0..64), part(2048..3072, 0..0), part(3072..4096, 64..128)];
        let all = 4096;
        assert_eq!(
            part_words(&parts, sizes),
            [2048 | 64 << 48, 3072, 4096 | 64 << 32 | 128 << 48, all]
        );
        let many: Vec<AdapterRange> = (0..5).map(|_| part(0..1, 0..8)).collect();
        assert_eq!(part_words(&many, sizes), [4096 | 128 << 48, all, all, all]);
    }
}
