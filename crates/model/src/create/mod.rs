//! A model of one's own, from nothing but a tokenizer and a seed.
//!
//! It is a Qwen3 with tied embeddings: the family with the fewest open options. Weights are drawn
//! uniformly from the seed ([`Decoder::new`]), and the directory has all files that
//! [`open`](crate::open) and transformers read. Messages use `ChatML`, and a completion ends with
//! its message or its text.

pub mod corpus;

use std::path::Path;

use whetstone_kernels::Device;

use crate::config::{Config, ConfigError, Family, Rope, Scaling};
use crate::decoder::Decoder;
use crate::export::{ExportError, ExportOptions};
use crate::layout::expected_tensors;
use crate::tokenizer::{END_OF_TEXT, MESSAGE_END, Tokenizer};
use crate::weights::Dtype;

/// More than fits into the memory of a machine that trains small models.
const LIMIT_PARAMETERS: usize = 1 << 30;

/// The sizes of a new model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Numbers in a hidden state; a multiple of `heads`.
    pub width: usize,
    /// Decoder layers.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Numbers between the gate and the down projection.
    pub ffn: usize,
    /// The longest sequence.
    pub positions: usize,
}

/// The handling of system messages in a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SystemMessages {
    /// They are written like any other message.
    #[default]
    Kept,
    /// They are left out, which keeps the prompts of a small model short.
    Dropped,
}

/// All that a new model is made of beside its tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Its sizes.
    pub sizes: Sizes,
    /// The seed of its weights.
    pub seed: u64,
    /// The type of the stored weights.
    pub dtype: Dtype,
    /// The handling of system messages by its template.
    pub system: SystemMessages,
}

/// Why a model could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Sizes that do not fit together.
    #[error("a width of {width} is not divisible by {heads} heads")]
    Heads {
        /// Heads.
        heads: usize,
        /// Numbers in a hidden state.
        width: usize,
    },
    /// Sizes that are out of bounds, or do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A model that is not small.
    #[error("the model would have {parameters} parameters; the limit is {LIMIT_PARAMETERS}")]
    TooLarge {
        /// As many.
        parameters: usize,
    },
    /// It could not be written.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Writes a new model into a directory that does not exist yet, and returns its configuration.
///
/// # Errors
///
/// If the sizes do not fit together, or the directory exists or cannot be written.
pub fn create(
    device: &Device,
    tokenizer: &Tokenizer,
    recipe: &Recipe,
    to: &Path,
) -> Result<Config, CreateError> {
    let config = recipe.config(tokenizer)?;
    let decoder = Decoder::new(device, &config, recipe.seed, config.positions);
    let options = ExportOptions { dtype: recipe.dtype, ..ExportOptions::default() };
    decoder.export_new(tokenizer, Some(recipe.system.template()), to, options)?;
    Ok(config)
}

impl Recipe {
    /// The configuration of the model, with a row of the embedding for each token.
    ///
    /// # Errors
    ///
    /// If the sizes do not fit together, or are of a model that is not small.
    pub fn config(&self, tokenizer: &Tokenizer) -> Result<Config, CreateError> {
        let Sizes { width, layers, heads, kv_heads, ffn, positions } = self.sizes;
        if heads == 0 || !width.is_multiple_of(heads) {
            return Err(CreateError::Heads { heads, width });
        }
        let mut config = Config {
            family: Family::Qwen3,
            vocab: tokenizer.size(),
            width,
            layers,
            heads,
            kv_heads,
            head_dim: width / heads,
            ffn,
            rms_eps: 1e-6,
            rope: Rope { theta: 10_000.0, scaling: Scaling::None },
            tied_head: true,
            qkv_bias: false,
            qk_norm: true,
            positions,
            bos: None,
            eos: Vec::new(),
            pad: tokenizer.id(END_OF_TEXT),
            dtype: self.dtype,
        };
        config.add_eos(
            [MESSAGE_END, END_OF_TEXT].into_iter().filter_map(|token| tokenizer.id(token)),
        );
        self.checked(&config)
    }

    /// The configuration as it will be read back: invalid values are refused before anything is
    /// written.
    fn checked(&self, config: &Config) -> Result<Config, CreateError> {
        let object = config.to_object(self.dtype).map_err(ExportError::Config)?;
        let config = Config::from_object(Path::new("config.json"), &object)?;
        let numbers = |shape: &[usize]| shape.iter().product::<usize>();
        let parameters =
            expected_tensors(&config).iter().map(|tensor| numbers(&tensor.shape)).sum();
        if parameters > LIMIT_PARAMETERS {
            return Err(CreateError::TooLarge { parameters });
        }
        Ok(config)
    }
}

impl SystemMessages {
    /// The chat template: `ChatML`, and the beginning of an answer where one is asked for.
    pub fn template(self) -> &'static str {
        match self {
            Self::Kept => include_str!("chatml.jinja"),
            Self::Dropped => include_str!("chatml_without_system.jinja"),
        }
    }
}
