//! Launchers of [`crate::head`]. Shapes were checked by the caller.
//!
//! Logits of up to 1024 rows and the whole vocabulary exist at a time, in f32 by the product. What is
//! known of them comes from tiles of 256 tokens (`tiles.cuh`), as in sampling. Their gradients are
//! rounded to bf16 once, `[token = target] - p` as one number, and multiplied by the weight in one sum
//! over the vocabulary.
//!
//! Slopes, the gradients of log-probabilities alone, need no second pass over the logits: with what is known of
//! a tile its powers are written relative to the target's, and the sum over the vocabulary is divided by theirs.

use std::ops::Range;

use super::Cuda;
use super::driver::{Argument, Launch};
use super::elementwise::{GROUP, blocks};
use crate::buffer::{Buffer, View};
use crate::device::Device;
use crate::head::{Input, Output, Signal, ranges};
use crate::linear;
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, matmul};
use Argument::{Address, F32, Four, U32, U64};

/// Rows whose logits exist at a time.
const ROWS: usize = 1024;

/// Tokens of a tile; `TILE` of `tiles.cuh`.
const TILE: usize = 256;

/// Tiles that a warp takes where it also writes powers.
const TILES_OF_WARP: usize = 2;

/// Numbers of a tile: its largest logit and two sums.
const TILE_NUMBERS: usize = 3;

/// Tiles of a vocabulary.
pub(super) fn tiles(vocabulary: usize) -> usize {
    vocabulary.div_ceil(TILE)
}

/// What is known of each tile of some rows.
pub(super) fn take_tiles(cuda: &Cuda, rows: usize, vocabulary: usize) -> Buffer<f32> {
    cuda.take(rows * tiles(vocabulary) * TILE_NUMBERS)
}

/// A launch with a warp for each of so many.
pub(super) fn a_warp_each(count: usize) -> Launch {
    Launch::new(blocks(count.div_ceil(8)), 256)
}

/// Numbers between the beginnings of two rows of logits, or of their gradients: whole accesses of the
/// product.
fn stride(vocabulary: usize) -> usize {
    vocabulary.next_multiple_of(GROUP)
}

/// How many logits exist at a time, gaps between rows included.
pub(crate) fn logits_at_a_time(rows: usize, vocabulary: usize) -> usize {
    rows.min(ROWS) * stride(vocabulary)
}

/// Logits of up to [`ROWS`] rows, and room for what is computed from them.
struct Chunk<'a> {
    device: &'a Device,
    cuda: &'a Cuda,
    input: Input<'a>,
    logits: Buffer<f32>,
}

impl<'a> Chunk<'a> {
    fn new(device: &'a Device, cuda: &'a Cuda, input: Input<'a>) -> Self {
        let logits = cuda.take(logits_at_a_time(input.hidden.rows, input.weight.shape().0));
        Self { device, cuda, input, logits }
    }

    fn vocabulary(&self) -> usize {
        self.input.weight.shape().0
    }

    fn stride(&self) -> Argument {
        U64(stride(self.vocabulary()) as u64)
    }

    fn logits(&self) -> Argument {
        Address(self.logits.view().cuda().address)
    }

    fn targets(&self, rows: &Range<usize>) -> Argument {
        Address(self.input.targets.part(rows.clone()).cuda().address)
    }

    fn compute_logits(&mut self, rows: &Range<usize>) {
        let vocabulary = self.vocabulary();
        let data = self.logits.view_mut();
        let to = MatrixMut::strided(data, rows.len(), vocabulary, stride(vocabulary));
        let hidden = self.input.hidden.row_range(rows.clone());
        let Input { weight, inverse_temperature: scale, .. } = self.input;
        let product = linear::Forward { scale, x: hidden, weight };
        linear::forward(self.device, to, WriteMode::Overwrite, product);
    }

    /// Log-probability, entropy and `lse` of each row; also all powers of a row by that of its target, if there
    /// is room for them.
    fn compute_known(
        &self,
        output: &mut Output<'_>,
        rows: &Range<usize>,
        weights: Option<&Buffer>,
    ) {
        let (vocabulary, count) = (self.vocabulary(), tiles(self.vocabulary()));
        let sums = take_tiles(self.cuda, rows.len(), vocabulary);
        let sums = Address(sums.view().cuda().address);
        let sizes = [U64(rows.len() as u64), U32(blocks(vocabulary)), U32(blocks(count))];
        let [all_rows, vocabulary, tiles] = sizes;
        if let Some(weights) = weights {
            let weights = Address(weights.view().cuda().address);
            let targets = self.targets(rows);
            let from = [self.logits(), self.stride(), targets, all_rows, vocabulary, tiles];
            let arguments = [&[sums, weights], &from[..]].concat();
            let launch = a_warp_each(rows.len() * count.div_ceil(TILES_OF_WARP));
            self.cuda.launch("head_tiles_and_weights", launch, &arguments);
        } else {
            let arguments = [sums, self.logits(), self.stride(), all_rows, vocabulary, tiles];
            self.cuda.launch("head_tiles", a_warp_each(rows.len() * count), &arguments);
        }
        let known = [&mut output.logp, &mut output.entropy, &mut output.lse]
            .map(|all| all.part(rows.clone()).cuda().address);
        let arguments = [
            Four([known[0], known[1], known[2], 0]),
            sums,
            self.logits(),
            self.stride(),
            self.targets(rows),
            all_rows,
            vocabulary,
            tiles,
        ];
        self.cuda.launch("head_rows", a_warp_each(rows.len()), &arguments);
    }

    /// Makes slopes of logits from the powers of some rows, but for a factor of each row, which it gives.
    fn complete_slopes(
        &self,
        weights: &Buffer,
        lse: View<'_, f32>,
        rows: &Range<usize>,
    ) -> Buffer<f32> {
        let factors: Buffer<f32> = self.cuda.take(rows.len());
        let [to, factors_at, lse] = [weights.view().cuda(), factors.view().cuda(), lse.cuda()]
            .map(|part| Address(part.address));
        let common = [to, factors_at, self.logits(), self.stride(), self.targets(rows), lse];
        let arguments = [&common[..], &[U64(rows.len() as u64)]].concat();
        self.cuda.launch(
            "head_targets",
            Launch::new(self.cuda.blocks_for(rows.len()), 256),
            &arguments,
        );
        let arguments = [&common[..], &[U32(blocks(self.vocabulary()))]].concat();
        self.cuda.launch("head_redo", Launch::new(blocks(rows.len()), 256), &arguments);
        factors
    }

    /// The gradients of logits, rounded.
    fn gradients(&self, signals: &Signals, rows: &Range<usize>) -> Buffer {
        let vocabulary = self.vocabulary();
        let to: Buffer = self.cuda.take(rows.len() * stride(vocabulary));
        let pieces = pieces(vocabulary);
        let arguments = [
            Address(to.view().cuda().address),
            self.stride(),
            self.logits(),
            self.stride(),
            Four(signals.addresses),
            self.targets(rows),
            U32(blocks(vocabulary)),
            U32(blocks(pieces)),
            F32(signals.scale),
        ];
        let launch = Launch::new(blocks(rows.len() * pieces), 256);
        self.cuda.launch("head_gradient", launch, &arguments);
        to
    }

    fn matrix<'b>(&self, gradients: &'b Buffer, rows: &Range<usize>) -> Matrix<'b> {
        let vocabulary = self.vocabulary();
        Matrix::strided(gradients.view(), rows.len(), vocabulary, stride(vocabulary))
    }
}

/// Blocks of 256 threads with eight tokens each for a row.
fn pieces(vocabulary: usize) -> usize {
    vocabulary.div_ceil(256 * GROUP)
}

/// What comes back to each row: addresses of `dlogp`, `dentropy`, `lse` and entropy, and what both
/// gradients are multiplied by.
struct Signals {
    addresses: [u64; 4],
    scale: f32,
}

impl Signals {
    fn of(signal: Signal<'_>, scale: f32) -> Self {
        let Signal { lse, entropy, dlogp, dentropy } = signal;
        let addresses = [dlogp, dentropy, lse, entropy].map(|all| all.cuda().address);
        Self { addresses, scale }
    }
}

pub(crate) fn forward(device: &Device, cuda: &Cuda, mut output: Output<'_>, input: Input<'_>) {
    let mut chunk = Chunk::new(device, cuda, input);
    for rows in ranges(input.hidden.rows, ROWS) {
        chunk.compute_logits(&rows);
        let numbers = rows.len() * stride(chunk.vocabulary());
        let weights: Option<Buffer> = output.slope.is_some().then(|| cuda.take(numbers));
        chunk.compute_known(&mut output, &rows, weights.as_ref());
        let (Some(slope), Some(weights)) = (&mut output.slope, &weights) else { continue };
        let lse = output.lse.view().part(rows.clone());
        let factors = chunk.complete_slopes(weights, lse, &rows);
        let (scale, dy) = (input.inverse_temperature, chunk.matrix(weights, &rows));
        let product = linear::Backward { scale, dy, weight: input.weight };
        let mut to = slope.row_range(rows);
        linear::backward(device, to.reborrow(), WriteMode::Overwrite, product);
        let (at, stride, cols) = (to.data.cuda().address, to.stride, to.cols);
        let place = Rows { address: at, stride };
        scale_rows(cuda, [place; 2], factors.view(), cols);
    }
}

/// Where rows begin, and how far they are apart.
#[derive(Debug, Clone, Copy)]
struct Rows {
    address: u64,
    stride: usize,
}

/// Rows to others or in place, each times a number of its own.
fn scale_rows(cuda: &Cuda, to_and_from: [Rows; 2], factors: View<'_, f32>, cols: usize) {
    let [to, from] = to_and_from;
    let arguments = [
        Address(to.address),
        U64(to.stride as u64),
        Address(from.address),
        U64(from.stride as u64),
        Address(factors.cuda().address),
        U64(cols as u64),
    ];
    cuda.launch("scale_rows", Launch::new(blocks(factors.len()), 256), &arguments);
}

pub(crate) fn backward_by_slope(
    cuda: &Cuda,
    dhidden: &mut MatrixMut<'_>,
    slope: Matrix<'_>,
    dlogp: View<'_, f32>,
) {
    let to = Rows { address: dhidden.data.cuda().address, stride: dhidden.stride };
    let from = Rows { address: slope.data.cuda().address, stride: slope.row_stride };
    scale_rows(cuda, [to, from], dlogp, slope.cols);
}

/// Hands out the gradients of some rows' logits, until all were there.
fn for_each_chunk(
    device: &Device,
    cuda: &Cuda,
    came: Came<'_>,
    mut work: impl FnMut(Range<usize>, Matrix<'_>),
) {
    let Came { input, signal } = came;
    let mut chunk = Chunk::new(device, cuda, input);
    for rows in ranges(input.hidden.rows, ROWS) {
        chunk.compute_logits(&rows);
        let signals = Signals::of(signal.row_range(rows.clone()), input.inverse_temperature);
        let gradients = chunk.gradients(&signals, &rows);
        work(rows.clone(), chunk.matrix(&gradients, &rows));
    }
}

/// What went into the head, and what comes back to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) signal: Signal<'a>,
}

pub(crate) fn backward(device: &Device, cuda: &Cuda, mut dhidden: MatrixMut<'_>, came: Came<'_>) {
    for_each_chunk(device, cuda, came, |rows, dlogits| {
        let product = linear::Backward { scale: 1.0, dy: dlogits, weight: came.input.weight };
        linear::backward(device, dhidden.row_range(rows), WriteMode::Overwrite, product);
    });
}

pub(crate) fn backward_weight(
    device: &Device,
    cuda: &Cuda,
    mut dweight: MatrixMut<'_, f32>,
    came: Came<'_>,
) {
    for_each_chunk(device, cuda, came, |rows, dlogits| {
        let hidden = came.input.hidden.row_range(rows);
        let product = ScaledProduct { scale: 1.0, a: dlogits.transposed(), b: hidden };
        matmul(device, dweight.reborrow(), WriteMode::Accumulate, product);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_logits_begin_where_the_product_can_write_them() {
        for (vocabulary, expected) in [(1, 8), (1304, 1304), (1305, 1312), (151_936, 151_936)] {
            assert_eq!(stride(vocabulary), expected, "{vocabulary}");
        }
        assert_eq!(logits_at_a_time(5, 1305), 5 * 1312);
        assert_eq!(logits_at_a_time(5000, 1305), 1024 * 1312);
    }

    #[test]
    fn every_token_has_a_tile_and_a_thread() {
        for (vocabulary, expected) in [(1, (1, 1)), (256, (1, 1)), (257, (2, 1)), (2049, (9, 2))] {
            assert_eq!((tiles(vocabulary), pieces(vocabulary)), expected, "{vocabulary}");
        }
        assert_eq!(a_warp_each(9).blocks, 2);
        assert_eq!(a_warp_each(0).blocks, 0);
    }
}
