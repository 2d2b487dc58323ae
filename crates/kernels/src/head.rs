//! From hidden states to the log-probability of the next token and the entropy of its distribution.
//!
//! With logits `l = τ · h·Wᵀ` (`τ` is one over the temperature), `lse = ln Σ e^l` and `p = e^(l-lse)`:
//! `logp = l_target - lse`, `H = lse - Σ p·l`, and backward, given `a = dL/dlogp` and `b = dL/dH`,
//! `dl_j = a · ([j = target] - p_j) - b · p_j (l_j - lse + H)`.
//!
//! Logits exist for a few rows and a few tokens of the vocabulary at a time and are computed again on
//! the backward pass: rows by vocabulary would be larger than everything else together. Going forward,
//! what is known of the tokens so far is carried along: the largest logit `t`, `Σ e^(l-t)` and
//! `Σ e^(l-t)·(l-t)`.
//!
//! The slope of a log-probability by its hidden state is `τ · (W_target - Σ p·W)`, whatever comes back
//! later. If entropies do not count, it is all that the backward pass to hidden states needs, and
//! [`forward`] can have it for one product more: the sum is carried along like the others. Logits
//! are then computed a second time only for the gradient of a head that is trained.

use std::ops::Range;

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::linear::{self, Weight};
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, matmul};

/// Rows whose logits exist at a time, and tokens of the vocabulary. Part of the definition of every
/// sum here.
const ROWS: usize = 1024;
const TOKENS: usize = 512;

/// The number of logits in memory at a time on the CPU.
pub fn logits_at_a_time(rows: usize, vocabulary: usize) -> usize {
    ROWS.min(rows) * TOKENS.min(vocabulary)
}

/// How many logits exist at a time on CUDA, in f32; in the backward pass, or where slopes are wanted, as
/// many gradients of them exist beside them as activations.
pub fn logits_at_a_time_on_cuda(rows: usize, vocabulary: usize) -> usize {
    cuda::head::logits_at_a_time(rows, vocabulary)
}

/// Hidden states, the head and what was to be predicted.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// One row for each prediction.
    pub hidden: Matrix<'a>,
    /// One row for each token of the vocabulary.
    pub weight: Weight<'a>,
    /// The token that came.
    pub targets: View<'a, u32>,
    /// `τ`.
    pub inverse_temperature: f32,
}

impl Input<'_> {
    /// Some of its rows.
    ///
    /// # Panics
    ///
    /// If it has not that many.
    #[must_use]
    pub fn row_range(self, rows: Range<usize>) -> Self {
        let hidden = self.hidden.row_range(rows.clone());
        Self { hidden, targets: self.targets.part(rows), ..self }
    }

    fn check(&self) {
        let (vocabulary, width) = self.weight.shape();
        assert!(self.hidden.cols == width && self.hidden.col_stride == 1, "hidden states");
        assert_eq!(self.hidden.rows, self.targets.len(), "a target for each row");
        assert!(vocabulary > 0, "a vocabulary");
    }

    fn scratch_size(&self) -> usize {
        logits_at_a_time(self.hidden.rows, self.weight.shape().0)
    }

    fn rows(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        ranges(self.hidden.rows, ROWS)
    }

    fn tokens(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        ranges(self.weight.shape().0, TOKENS)
    }

    /// Logits of some rows and some tokens.
    fn logits<'b>(
        &self,
        device: &Device,
        logits: &'b mut ViewMut<'_, f32>,
        tile: &Tile,
    ) -> ViewMut<'b, f32> {
        let Tile { rows, tokens } = tile;
        let mut logits = logits.part(0..rows.len() * tokens.len());
        let to = MatrixMut::new(logits.reborrow(), rows.len(), tokens.len());
        let hidden = self.hidden.row_range(rows.clone());
        let weight = self.weight.row_range(tokens.clone());
        let product = linear::Forward { scale: self.inverse_temperature, x: hidden, weight };
        linear::forward(device, to, WriteMode::Overwrite, product);
        logits
    }
}

/// Some rows, and some tokens of the vocabulary.
#[derive(Debug, Clone)]
struct Tile {
    rows: Range<usize>,
    tokens: Range<usize>,
}

pub(crate) fn ranges(count: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(size).map(move |begin| begin..count.min(begin + size))
}

/// The results for each row.
#[derive(Debug)]
pub struct Output<'a> {
    /// The log-probability of the target.
    pub logp: ViewMut<'a, f32>,
    /// The entropy, in nats.
    pub entropy: ViewMut<'a, f32>,
    /// For the backward pass.
    pub lse: ViewMut<'a, f32>,
    /// The slope of each log-probability by its hidden state, if it is wanted.
    pub slope: Option<MatrixMut<'a>>,
}

/// Log-probabilities and entropies.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor a target is not in the vocabulary; on CUDA that is a
/// failure of the device.
pub fn forward(device: &Device, mut output: Output<'_>, input: Input<'_>) {
    input.check();
    let count = input.hidden.rows;
    assert!([output.logp.len(), output.entropy.len(), output.lse.len()] == [count; 3], "rows");
    let cpu = match device {
        Device::Cpu(cpu) => cpu,
        Device::Cuda(cuda) => return cuda::head::forward(device, cuda, output, input),
    };
    let mut logits = device.take(input.scratch_size());
    let mut carried = device.take::<f32>(ROWS.min(count) * cpu::head::CARRIED);
    cpu::head::check(input.targets.host(), input.weight.shape().0);
    for rows in input.rows() {
        let targets = input.targets.part(rows.clone()).host();
        let mut logp = output.logp.part(rows.clone());
        let mut carried = carried.view_mut();
        let carried = &mut carried.host()[..rows.len() * cpu::head::CARRIED];
        for tokens in input.tokens() {
            let mut view = logits.view_mut();
            let tile = Tile { rows: rows.clone(), tokens: tokens.clone() };
            let mut logits = input.logits(device, &mut view, &tile);
            let to = cpu::head::Carry { carried, logp: logp.host() };
            let targets = cpu::head::Targets { targets, tokens: tokens.clone() };
            let Some(slope) = &mut output.slope else {
                cpu::head::carry(&cpu.threads, to, logits.view().host(), &targets);
                continue;
            };
            let mut slope = slope.row_range(rows.clone());
            let (first, weight) = (tokens.start == 0, input.weight.row_range(tokens.clone()));
            let slopes = cpu::head::Slopes { logits: logits.host(), slope: slope.reborrow() };
            cpu::head::carry_slope(&cpu.threads, to, slopes, &targets);
            let weights = Matrix::new(logits.view(), rows.len(), tokens.len());
            let mode = if first { WriteMode::Overwrite } else { WriteMode::Accumulate };
            let product = linear::Backward { scale: 1.0, dy: weights, weight };
            linear::backward(device, slope, mode, product);
        }
        if let Some(slope) = &mut output.slope {
            let Input { weight, inverse_temperature: scale, .. } = input;
            let known = cpu::head::FinishSlope { carried, targets, weight, scale };
            cpu::head::finish_slope(&cpu.threads, &mut slope.row_range(rows.clone()), &known);
        }
        let (mut entropy, mut lse) = (output.entropy.part(rows.clone()), output.lse.part(rows));
        cpu::head::finish(carried, logp.host(), entropy.host(), lse.host());
    }
}

/// `dhidden = dlogp · slope`, row by row: all of the backward pass where [`forward`] gave the slope.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward_by_slope(
    device: &Device,
    mut dhidden: MatrixMut<'_>,
    slope: Matrix<'_>,
    dlogp: View<'_, f32>,
) {
    let rows = dhidden.rows;
    assert!(slope.rows == rows && dlogp.len() == rows && slope.cols == dhidden.cols, "slopes");
    assert!(slope.col_stride == 1, "rows of a transpose");
    match device {
        Device::Cpu(cpu) => {
            cpu::head::backward_by_slope(&cpu.threads, &mut dhidden, slope, dlogp.host());
        }
        Device::Cuda(cuda) => {
            cuda::head::backward_by_slope(cuda, &mut dhidden, slope, dlogp);
        }
    }
}

/// The forward results and the incoming gradients.
#[derive(Debug, Clone, Copy)]
pub struct Signal<'a> {
    /// From [`forward`].
    pub lse: View<'a, f32>,
    /// From [`forward`].
    pub entropy: View<'a, f32>,
    /// `dL/dlogp`.
    pub dlogp: View<'a, f32>,
    /// `dL/dH`.
    pub dentropy: View<'a, f32>,
}

impl Signal<'_> {
    /// Of some rows.
    ///
    /// # Panics
    ///
    /// If it has not that many.
    #[must_use]
    pub fn row_range(self, rows: Range<usize>) -> Self {
        let Self { lse, entropy, dlogp, dentropy } = self;
        let [lse, entropy, dlogp, dentropy] =
            [lse, entropy, dlogp, dentropy].map(|all| all.part(rows.clone()));
        Self { lse, entropy, dlogp, dentropy }
    }
}

/// The gradients of hidden states.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor a target is not in the vocabulary; on CUDA that is a
/// failure of the device.
pub fn backward(device: &Device, mut dhidden: MatrixMut<'_>, input: Input<'_>, signal: Signal<'_>) {
    assert!(dhidden.rows == input.hidden.rows, "a gradient for each row");
    check_signal(&input, &signal);
    if let Device::Cuda(cuda) = device {
        let came = cuda::head::Came { input, signal };
        return cuda::head::backward(device, cuda, dhidden, came);
    }
    for_each_tile(device, input, signal, |Tile { rows, tokens }, dlogits| {
        let mode = if tokens.start == 0 { WriteMode::Overwrite } else { WriteMode::Accumulate };
        let weight = input.weight.row_range(tokens);
        let product = linear::Backward { scale: 1.0, dy: dlogits, weight };
        linear::backward(device, dhidden.row_range(rows), mode, product);
    });
}

/// Adds the gradient of the head's weight, for the rows of one sequence: a sum over all of them, or
/// over so many at a time that it depends on their number alone.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor a target is not in the vocabulary; on CUDA that is a
/// failure of the device.
pub fn backward_weight(
    device: &Device,
    mut dweight: MatrixMut<'_, f32>,
    input: Input<'_>,
    signal: Signal<'_>,
) {
    check_signal(&input, &signal);
    if let Device::Cuda(cuda) = device {
        let came = cuda::head::Came { input, signal };
        return cuda::head::backward_weight(device, cuda, dweight, came);
    }
    for_each_tile(device, input, signal, |Tile { rows, tokens }, dlogits| {
        let hidden = input.hidden.row_range(rows);
        let product = ScaledProduct { scale: 1.0, a: dlogits.transposed(), b: hidden };
        matmul(device, dweight.row_range(tokens), WriteMode::Accumulate, product);
    });
}

fn check_signal(input: &Input<'_>, signal: &Signal<'_>) {
    input.check();
    let Signal { lse, entropy, dlogp, dentropy } = signal;
    let each = [lse, entropy, dlogp, dentropy].map(View::len);
    assert!(each == [input.hidden.rows; 4], "a signal for each row");
}

/// On a processor, the gradients of some rows' logits of some tokens of the vocabulary, until all were there.
fn for_each_tile(
    device: &Device,
    input: Input<'_>,
    signal: Signal<'_>,
    mut work: impl FnMut(Tile, Matrix<'_, f32>),
) {
    let Device::Cpu(cpu) = device else { return };
    let mut logits = device.take(input.scratch_size());
    cpu::head::check(input.targets.host(), input.weight.shape().0);
    for rows in input.rows() {
        let targets = input.targets.part(rows.clone()).host();
        let (signal, scale) = (signal.row_range(rows.clone()), input.inverse_temperature);
        for tokens in input.tokens() {
            let mut view = logits.view_mut();
            let tile = Tile { rows: rows.clone(), tokens: tokens.clone() };
            let mut logits = input.logits(device, &mut view, &tile);
            let targets = cpu::head::Targets { targets, tokens: tokens.clone() };
            let backward = cpu::head::Backward { signal, scale, targets };
            cpu::head::backward(&cpu.threads, logits.host(), &backward);
            let dlogits = Matrix::new(logits.view(), rows.len(), tokens.len());
            work(tile, dlogits);
        }
    }
}
