//! The configuration of a model: its family, its sizes, and the options that its family leaves
//! open.
//!
//! A [`Config`] is read from the hub's `config.json` ([`Config::from_dir`]) or from the metadata of
//! a GGUF file. The family determines the architecture. The set of supported options is small and
//! fixed, and any other option is refused by its key, because a model that runs without one of its
//! parts gives wrong numbers and no error.

mod error;
mod hub;
pub(crate) mod keys;
mod rope;
#[cfg(test)]
mod tests;
mod write;

pub use error::ConfigError;
pub(crate) use hub::read_object;
pub(crate) use rope::yarn_attention;
pub use rope::{Frequencies, Rope, Scaling};

use crate::weights::Dtype;

/// The families that are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `LlamaForCausalLM`: `SmolLM2`, `TinyLlama`, Llama 3.
    Llama,
    /// `Qwen2ForCausalLM`: Qwen2, Qwen2.5. Its query, key and value projections have biases.
    Qwen2,
    /// `Qwen3ForCausalLM`. Queries and keys are normalised per head.
    Qwen3,
}

/// The configuration of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The family.
    pub family: Family,
    /// Rows of the embedding; at least as many as the tokenizer has tokens.
    pub vocab: usize,
    /// Numbers in a hidden state.
    pub width: usize,
    /// Decoder layers.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Numbers in a head; even. `heads * head_dim` need not be `width`.
    pub head_dim: usize,
    /// Numbers between the gate and the down projection.
    pub ffn: usize,
    /// Added to the mean square in each norm.
    pub rms_eps: f64,
    /// The rotary embedding.
    pub rope: Rope,
    /// Whether the head is the embedding.
    pub tied_head: bool,
    /// Whether the query, key and value projections have biases. No other projection ever has.
    pub qkv_bias: bool,
    /// Whether queries and keys are normalised per head.
    pub qk_norm: bool,
    /// The longest sequence that the model was made for.
    pub positions: usize,
    /// The beginning-of-sequence token, if the model uses one.
    pub bos: Option<u32>,
    /// The tokens that end a completion, sorted.
    pub eos: Vec<u32>,
    /// The token that fills, if there is one.
    pub pad: Option<u32>,
    /// The type that the weights were saved as.
    pub dtype: Dtype,
}

impl Config {
    /// Query heads that share one key and value head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Width of all queries: `heads * head_dim`.
    pub fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Width of all keys, and of all values: `kv_heads * head_dim`.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// The angles' speeds for this model.
    pub fn frequencies(&self) -> Frequencies {
        self.rope.frequencies(self.head_dim)
    }

    /// Contradictions between keys; the bounds of single keys are checked when they are read.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.heads.is_multiple_of(self.kv_heads) {
            let (heads, kv_heads) = (self.heads, self.kv_heads);
            problems.push(format!("{heads} heads cannot share {kv_heads} key-value heads evenly"));
        }
        if !self.head_dim.is_multiple_of(2) {
            let odd = self.head_dim;
            problems.push(format!("heads of {odd} numbers cannot be rotated in pairs"));
        }
        problems.extend(self.rope.problems(self.head_dim));
        problems
    }

    /// Adds tokens that end a completion.
    pub(crate) fn add_eos(&mut self, tokens: impl IntoIterator<Item = u32>) {
        self.eos.extend(tokens);
        self.eos.sort_unstable();
        self.eos.dedup();
    }
}

/// Bounds of the sizes: far above every model, and far below what overflows.
pub(crate) mod bounds {
    use std::ops::RangeInclusive;

    pub(crate) const VOCAB: RangeInclusive<usize> = 1..=1 << 24;
    pub(crate) const WIDTH: RangeInclusive<usize> = 1..=1 << 17;
    pub(crate) const LAYERS: RangeInclusive<usize> = 1..=1 << 10;
    pub(crate) const HEADS: RangeInclusive<usize> = 1..=1 << 10;
    pub(crate) const HEAD_DIM: RangeInclusive<usize> = 2..=1 << 10;
    pub(crate) const FFN: RangeInclusive<usize> = 1..=1 << 20;
    pub(crate) const POSITIONS: RangeInclusive<usize> = 1..=1 << 27;
    pub(crate) const RMS_EPS: RangeInclusive<f64> = 1e-12..=0.1;
    pub(crate) const THETA: RangeInclusive<f64> = 1.1..=1e12;
    pub(crate) const FACTOR: RangeInclusive<f64> = 1.0..=1e6;
}
