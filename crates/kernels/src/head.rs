//! From hidden states to the log-probability of the next token and the entropy of its distribution.
//!
//! With logits `l = τ · h·Wᵀ` (`τ` is one over the temperature), `lse = ln Σ e^l` and `p = e^(l-lse)`:
//! `logp = l_target - lse`, `H = lse - Σ p·l`, and backward, given `a = dL/dlogp` and `b = dL/dH`,
//! `dl_j = a · ([j = target] - p_j) - b · p_j (l_j - lse + H)`.
//!
//! Logits exist for a few rows at a time and are computed again on the way back: rows by vocabulary
//! would be larger than everything else together.

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::device::Device;
use crate::linear::{self, Weight};
use crate::matmul::{Before, Matrix, MatrixMut, matmul};

/// Logits that exist at a time.
const CHUNK: usize = 1 << 21;

/// Rows whose logits exist at a time. Part of the definition of a weight's gradient, so it depends
/// on the vocabulary alone.
pub fn chunk_rows(vocabulary: usize) -> usize {
    (CHUNK / vocabulary.max(1)).clamp(64, 1024)
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
    fn check(&self) {
        let (vocabulary, width) = self.weight.shape();
        assert!(self.hidden.cols == width && self.hidden.col_stride == 1, "hidden states");
        assert_eq!(self.hidden.rows, self.targets.len(), "a target for each row");
        assert!(vocabulary > 0, "a vocabulary");
    }

    /// The rows from `begin` on that are worked on together.
    fn chunk(&self, begin: usize) -> (usize, Matrix<'_>) {
        let rows = chunk_rows(self.weight.shape().0).min(self.hidden.rows - begin);
        let data = self.hidden.data;
        let data = data.part(begin * self.hidden.row_stride..data.len());
        (rows, Matrix::strided(data, rows, self.hidden.cols, self.hidden.row_stride))
    }

    fn logits(&self, device: &Device, logits: &mut ViewMut<'_>, hidden: Matrix<'_>) {
        let to = MatrixMut::new(logits.again(), hidden.rows, self.weight.shape().0);
        let scale = self.inverse_temperature;
        linear::forward(device, to, Before::Gone, (scale, hidden, self.weight));
    }

    fn scratch_size(&self) -> usize {
        let vocabulary = self.weight.shape().0;
        chunk_rows(vocabulary).min(self.hidden.rows) * vocabulary
    }
}

/// What is known of each row afterwards.
#[derive(Debug)]
pub struct Output<'a> {
    /// The log-probability of the target.
    pub logp: ViewMut<'a>,
    /// The entropy, in nats.
    pub entropy: ViewMut<'a>,
    /// For the way back.
    pub lse: ViewMut<'a>,
}

/// Log-probabilities and entropies.
///
/// # Panics
///
/// If the shapes do not fit, or a target is not in the vocabulary.
pub fn forward(device: &Device, mut output: Output<'_>, input: Input<'_>) {
    input.check();
    let mut logits = device.take(input.scratch_size());
    let rows = input.hidden.rows;
    assert!([output.logp.len(), output.entropy.len(), output.lse.len()] == [rows; 3], "rows");
    let mut begin = 0;
    while begin < rows {
        let (count, hidden) = input.chunk(begin);
        let range = begin..begin + count;
        input.logits(device, &mut logits.view_mut(), hidden);
        let part = Output {
            logp: output.logp.part(range.clone()),
            entropy: output.entropy.part(range.clone()),
            lse: output.lse.part(range.clone()),
        };
        let Device::Cpu(cpu) = device;
        let targets = input.targets.part(range);
        let logits = &logits.view().host()[..count * input.weight.shape().0];
        cpu::head::forward(&cpu.threads, part, (logits, targets.host()));
        begin += count;
    }
}

/// What went forward and what comes back.
#[derive(Debug, Clone, Copy)]
pub struct Signal<'a> {
    /// From [`forward`].
    pub lse: View<'a>,
    /// From [`forward`].
    pub entropy: View<'a>,
    /// `dL/dlogp`.
    pub dlogp: View<'a>,
    /// `dL/dH`.
    pub dentropy: View<'a>,
}

/// The gradients of hidden states, and of the head's weight if it is trained (which is added to).
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward(
    device: &Device,
    (mut dhidden, mut dweight): (MatrixMut<'_>, Option<MatrixMut<'_>>),
    input: Input<'_>,
    signal: Signal<'_>,
) {
    input.check();
    let mut logits = device.take(input.scratch_size());
    let (rows, vocabulary) = (input.hidden.rows, input.weight.shape().0);
    let Signal { lse, entropy, dlogp, dentropy } = signal;
    assert!([lse.len(), entropy.len(), dlogp.len(), dentropy.len()] == [rows; 4], "rows");
    assert!(dhidden.rows == rows, "a gradient for each row");
    let mut begin = 0;
    while begin < rows {
        let (count, hidden) = input.chunk(begin);
        let range = begin..begin + count;
        input.logits(device, &mut logits.view_mut(), hidden);
        let part = Signal {
            lse: lse.part(range.clone()),
            entropy: entropy.part(range.clone()),
            dlogp: dlogp.part(range.clone()),
            dentropy: dentropy.part(range.clone()),
        };
        let Device::Cpu(cpu) = device;
        let targets = input.targets.part(range).host();
        let count_logits = count * vocabulary;
        cpu::head::backward(
            &cpu.threads,
            &mut logits.view_mut().host()[..count_logits],
            (part, targets, input.inverse_temperature),
        );
        let dlogits = Matrix::new(logits.view(), count, vocabulary);
        let stride = dhidden.stride;
        let end = dhidden.data.len();
        let to = dhidden.data.part(begin * stride..end);
        let to = MatrixMut::strided(to, count, dhidden.cols, stride);
        linear::backward(device, to, Before::Gone, (1.0, dlogits, input.weight));
        if let Some(dweight) = &mut dweight {
            matmul(device, dweight.again(), Before::Kept, (1.0, dlogits.turned(), hidden));
        }
        begin += count;
    }
}
