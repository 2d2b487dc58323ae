//! Sampling with the log-probability of every token.

use std::ops::ControlFlow;

use whetstone_core::Seed;
use whetstone_infer::{
    GenerateError, Generator, Limits, Local, Prompt, Rule, SampledCompletion, Usage,
};
use whetstone_model::Tokenizer;
use whetstone_model::decoder::Decoder;

use super::tokens;

/// Prompts to sample from.
#[derive(Debug, Clone, Copy)]
pub struct Decoding {
    /// Sequences side by side.
    pub sequences: usize,
    /// Tokens of each prompt.
    pub prompt: usize,
    /// New tokens of each at most.
    pub new: usize,
    /// Bytes of keys and values at most.
    pub cache_bytes: usize,
}

/// Sampled completions.
#[derive(Debug)]
pub struct Decoded {
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// Their completions, of the last of two runs.
    pub drawn: Vec<SampledCompletion>,
    /// The faster of two runs.
    pub usage: Usage,
}

impl Decoded {
    /// Tokens a second after the first of each sequence, which the prompt's pass gives.
    #[expect(clippy::cast_precision_loss, reason = "counts become a rate")]
    pub fn tokens_per_second(&self) -> f64 {
        let decoded = self.usage.sampled.saturating_sub(self.prompts.len());
        decoded as f64 / self.usage.decode_time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Seconds of a step.
    #[expect(clippy::cast_precision_loss, reason = "a count of steps")]
    pub fn step(&self) -> f64 {
        self.usage.decode_time.as_secs_f64() / self.usage.steps.max(1) as f64
    }
}

/// Samples at temperature 1, twice.
///
/// # Errors
///
/// If a prompt does not fit, or the device fails.
pub fn decode(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    decoding: Decoding,
) -> Result<Decoded, GenerateError> {
    let Decoding { sequences, prompt, new, cache_bytes } = decoding;
    let vocabulary = decoder.config().vocab;
    let prompts: Vec<Prompt> = (0..sequences)
        .map(|index| Prompt {
            tokens: tokens(prompt, vocabulary, index),
            messages: [].into(),
            samples: 1,
            first_sample: 0,
            rule: Rule::default(),
            seed: Seed::new(index as u64),
            max_tokens: new,
            stop: Vec::new(),
        })
        .collect();
    let mut local = Local::new(decoder, tokenizer, Limits { cache_bytes, sequences });
    let mut drawn = Vec::new();
    let mut run = || {
        drawn.clear();
        local.generate(&prompts, &mut |one| {
            drawn.push(one);
            ControlFlow::Continue(())
        })
    };
    let (first, second) = (run()?, run()?);
    let usage = if second.decode_time < first.decode_time { second } else { first };
    Ok(Decoded { prompts, drawn, usage })
}
