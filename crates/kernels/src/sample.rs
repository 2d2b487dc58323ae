//! The next token from a row of logits.
//!
//! In this order, as the `transformers` library does it: penalties, temperature, the `top_k` most
//! probable, the smallest set that holds `top_p`, those with at least `min_p` of the most probable's
//! probability. Of equals the lower token id comes first. The number that decides is
//! [`crate::philox::uniform`] of seed, sequence and position.
//!
//! The log-probability that is returned is that of the plain distribution at the temperature (at 1
//! for temperature 0), without penalties or cuts: the one that training computes. It is
//! NaN if a logit is NaN or all are infinite; the token is then an arbitrary one of the vocabulary.

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::matmul::MatrixMut;

/// Sampling parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// 0 takes the most probable.
    pub temperature: f32,
    /// Sample from this many tokens; 0 is all.
    pub top_k: usize,
    /// The share of probability that may be chosen; 1 is all.
    pub top_p: f32,
    /// The least share of the most probable's probability; 0 is all.
    pub min_p: f32,
    /// Taken from the logit of every token that was sampled before.
    pub presence_penalty: f32,
    /// Divides positive logits of every earlier token, and multiplies negative ones; 1 has no
    /// effect.
    pub repetition_penalty: f32,
}

impl Rule {
    /// By the model itself at a temperature, as settings have it.
    pub fn at(temperature: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a small number, used in f32")]
        let temperature = temperature as f32;
        Self { temperature, ..Self::default() }
    }
}

impl Rule {
    /// Whether it looks at tokens before.
    pub fn has_penalties(&self) -> bool {
        self.presence_penalty != 0.0 || (self.repetition_penalty - 1.0).abs() > 0.0
    }

    /// Whether it chooses from some of the tokens alone.
    pub fn has_cuts(&self) -> bool {
        self.temperature > 0.0 && (self.top_k > 0 || self.top_p < 1.0 || self.min_p > 0.0)
    }
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            presence_penalty: 0.0,
            repetition_penalty: 1.0,
        }
    }
}

/// One row's wish.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The sampling parameters.
    pub rule: Rule,
    /// The seed of the run.
    pub seed: u64,
    /// The sequence.
    pub sequence: u64,
    /// The token's index in it.
    pub position: u64,
    /// The prompt; used for the repetition penalty only.
    pub prompt: &'a [u32],
    /// The tokens sampled so far; used for both penalties.
    pub sampled: &'a [u32],
}

/// Numbers of a request that [`sample_uploaded`] takes.
pub const REQUEST_WORDS: usize = cuda::sample::WORDS;

/// Requests as [`sample_uploaded`] takes them.
///
/// # Panics
///
/// If one has penalties.
pub fn request_words(requests: &[Request<'_>]) -> Vec<u32> {
    assert!(requests.iter().all(|request| !request.rule.has_penalties()), "no penalties");
    cuda::sample::words(requests)
}

/// Whether some of the requests choose from some of the tokens alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cuts {
    /// None does.
    None,
    /// At least one may.
    Some,
}

/// Requests that are on the device.
#[derive(Debug, Clone, Copy)]
pub struct Uploaded<'a> {
    /// [`request_words`] of them.
    pub requests: View<'a, u32>,
    /// Whether they have cuts.
    pub cuts: Cuts,
}

/// The outputs: tokens and their log-probabilities.
#[derive(Debug)]
pub struct Sampled<'a> {
    /// One for each row.
    pub tokens: ViewMut<'a, u32>,
    /// The log-probabilities.
    pub logps: ViewMut<'a, f32>,
}

/// Like [`sample`], for requests without penalties that are on the device: on CUDA, where such work
/// is captured.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor.
pub fn sample_uploaded(
    device: &Device,
    to: Sampled<'_>,
    mut logits: MatrixMut<'_, f32>,
    by: Uploaded<'_>,
) {
    let rows = logits.rows;
    assert!(to.tokens.len() == rows && to.logps.len() == rows, "a token for each row");
    assert!(by.requests.len() == rows * REQUEST_WORDS && logits.cols > 0, "a request for each row");
    match device {
        Device::Cpu(_) => panic!("a processor samples by requests of the host"),
        Device::Cuda(cuda) => cuda::sample::sample_uploaded(cuda, to, &mut logits, by),
    }
}

/// A token for each row, and its log-probability. Logits are used up.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn sample(
    device: &Device,
    to: Sampled<'_>,
    mut logits: MatrixMut<'_, f32>,
    requests: &[Request<'_>],
) {
    let rows = logits.rows;
    assert!(
        [to.tokens.len(), to.logps.len(), requests.len()] == [rows; 3],
        "a request for each row"
    );
    assert!(logits.cols > 0, "a vocabulary");
    match device {
        Device::Cpu(cpu) => cpu::sample::sample(&cpu.threads, to, &mut logits, requests),
        Device::Cuda(cuda) => cuda::sample::sample(cuda, to, &mut logits, requests),
    }
}
