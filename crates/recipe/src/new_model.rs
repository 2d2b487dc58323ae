//! A new model: a tokenizer that is learnt from texts, and untrained weights.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use whetstone_core::Seed;
use whetstone_model::create::corpus::{self, CorpusLine};
use whetstone_model::create::{Recipe, Sizes, SystemMessages, create};
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Tokenizer};

use crate::device;
use crate::model_failure::ModelFailure;

/// The sizes of a new model and of its vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewModelSizes {
    /// Maximal size of the vocabulary.
    pub vocab: u32,
    /// Numbers in a hidden state.
    pub width: u32,
    /// Decoder layers.
    pub layers: u32,
    /// Query heads.
    pub heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Numbers inside the network of a layer.
    pub ffn: u32,
    /// Tokens of prompt and completion together at most.
    pub context: u32,
}

impl NewModelSizes {
    /// The sizes unless others are given.
    pub const DEFAULT: Self =
        Self { vocab: 2048, width: 256, layers: 4, heads: 4, kv_heads: 2, ffn: 768, context: 1024 };
    /// Sizes of a vocabulary.
    pub const VOCAB: RangeInclusive<i64> = 263..=1 << 17;
    /// Widths.
    pub const WIDTH: RangeInclusive<i64> = 2..=1 << 14;
    /// Numbers of layers, and of heads.
    pub const LAYERS: RangeInclusive<i64> = 1..=256;
    /// Widths of the network of a layer.
    pub const FFN: RangeInclusive<i64> = 1..=1 << 16;
    /// Context lengths.
    pub const CONTEXT: RangeInclusive<i64> = 1..=1 << 20;

    /// What is out of bounds, a sentence each.
    pub fn problems(&self) -> Vec<String> {
        let &Self { vocab, width, layers, heads, kv_heads, ffn, context } = self;
        let bounds = [
            ("vocab", vocab, Self::VOCAB),
            ("width", width, Self::WIDTH),
            ("layers", layers, Self::LAYERS),
            ("heads", heads, Self::LAYERS),
            ("kv_heads", kv_heads, Self::LAYERS),
            ("ffn", ffn, Self::FFN),
            ("context", context, Self::CONTEXT),
        ];
        let outside =
            bounds.into_iter().filter(|(_, size, bound)| !bound.contains(&i64::from(*size)));
        let sentence = |(name, size, bound): (&str, u32, RangeInclusive<i64>)| {
            format!("`{name}` is {size}, expected {} to {}", bound.start(), bound.end())
        };
        outside.map(sentence).collect()
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            width: self.width as usize,
            layers: self.layers as usize,
            heads: self.heads as usize,
            kv_heads: self.kv_heads as usize,
            ffn: self.ffn as usize,
            positions: self.context as usize,
        }
    }
}

impl Default for NewModelSizes {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A model to make.
#[derive(Debug)]
pub struct NewModelRequest<'a> {
    /// The texts to learn the tokens from.
    pub corpus: &'a [PathBuf],
    /// Its sizes.
    pub sizes: NewModelSizes,
    /// The seed of its weights.
    pub seed: u64,
    /// The type of the stored weights.
    pub dtype: Dtype,
    /// The handling of system messages by its template.
    pub system: SystemMessages,
    /// Its directory, which does not exist yet.
    pub out: &'a Path,
}

/// A model that was made.
#[derive(Debug)]
pub struct NewModel {
    /// Its configuration.
    pub config: Config,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// The texts that its tokens were learnt from.
    pub lines: Vec<CorpusLine>,
}

/// Trains a tokenizer and writes an untrained model.
///
/// # Errors
///
/// If the texts cannot be used, the sizes do not fit together, or the directory cannot be written.
pub fn make(request: &NewModelRequest<'_>) -> Result<NewModel, ModelFailure> {
    let lines = corpus::read(request.corpus)?;
    let tokenizer = corpus::train(&lines, request.sizes.vocab as usize)?;
    let recipe = Recipe {
        sizes: request.sizes.sizes(),
        seed: Seed::new(request.seed).derive("model", 0).get(),
        dtype: request.dtype,
        system: request.system,
    };
    let config = create(&device::cpu(Some(1))?, &tokenizer, &recipe, request.out)?;
    Ok(NewModel { config, tokenizer, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_out_of_bounds_are_named() {
        assert!(NewModelSizes::DEFAULT.problems().is_empty());
        let sizes = NewModelSizes { vocab: 262, heads: 0, ..NewModelSizes::DEFAULT };
        let expected =
            ["`vocab` is 262, expected 263 to 131072", "`heads` is 0, expected 1 to 256"];
        assert_eq!(sizes.problems(), expected);
    }
}
