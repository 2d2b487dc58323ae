//! GGUF: one file with a configuration, a tokenizer, a chat template and quantised weights.
//!
//! Supported are the architectures `llama`, `qwen2` and `qwen3`, and tokenizers of GPT-2's kind.
//! Weights are returned under the hub's names and in the hub's order of rows, as `f32`.

pub(crate) mod blocks;
mod config;
mod header;
mod names;
mod origin;
mod reader;
#[cfg(test)]
pub(crate) mod tests;
mod tokenizer;
mod value;

use std::collections::BTreeMap;
use std::path::Path;

pub use header::GgufHeader;
pub use value::{MetadataValue, NumberArray, NumberType, TextArray};

use self::names::RowOrder;
use crate::config::{Config, ConfigError};
use crate::template::{ChatTemplate, TemplateError};
use crate::tokenizer::{Specials, Tokenizer, TokenizerError};
use crate::weights::{Dtype, Stored, TensorFile, Weights, WeightsError};

const FORMAT: &str = "GGUF";

/// Factors on the frequencies of the rotary embedding, which some files have as a tensor.
const ROPE_FACTORS: &str = "rope_freqs.weight";

/// An open GGUF file.
#[derive(Debug)]
pub struct Gguf {
    file: TensorFile,
    metadata: BTreeMap<String, MetadataValue>,
    config: Config,
    tensors: BTreeMap<String, GgufTensor>,
}

#[derive(Debug)]
struct GgufTensor {
    stored: Stored,
    rows: RowOrder,
}

/// Why a GGUF file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    /// Its header or its tensors.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Gguf {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let file = TensorFile::open(path)?;
        let header = GgufHeader::read(&mut file.file(), file.bytes())
            .map_err(|source| file.bad_header(FORMAT, source))?;
        let factors = rope_factors(&file, &header)?;
        let config = config::read(path, &header, factors)?;
        let interleaved = header.metadata.get("general.architecture")
            == Some(&MetadataValue::Text("llama".to_owned()));
        let mut tensors = BTreeMap::new();
        for (name, stored) in header.tensors {
            if name == ROPE_FACTORS {
                continue;
            }
            let is_rotated = interleaved && names::is_rotated(&name);
            let rows = if is_rotated {
                RowOrder::Interleaved(config.head_dim)
            } else {
                RowOrder::Straight
            };
            let stranger = || WeightsError::Stranger {
                path: path.to_owned(),
                tensor: crate::shown::beginning(&name),
            };
            let hub_name = names::hub_name(&name).ok_or_else(stranger)?;
            if tensors.insert(hub_name, GgufTensor { stored, rows }).is_some() {
                return Err(stranger().into());
            }
        }
        Ok(Self { file, metadata: header.metadata, config, tensors })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The metadata by key.
    pub fn metadata(&self) -> &BTreeMap<String, MetadataValue> {
        &self.metadata
    }

    /// The hub name of the original model, if the file has one.
    pub fn origin(&self) -> Option<String> {
        origin::of(&self.metadata)
    }

    /// The tokenizer that the file holds.
    pub fn tokenizer(&self) -> Result<Tokenizer, TokenizerError> {
        tokenizer::build(self.file.path(), &self.metadata)
    }

    /// The chat template that the file holds.
    pub fn template(&self, specials: &Specials) -> Result<Option<ChatTemplate>, TemplateError> {
        let Some(MetadataValue::Text(source)) = self.metadata.get("tokenizer.chat_template") else {
            return Ok(None);
        };
        ChatTemplate::new(source, specials, self.file.path()).map(Some)
    }
}

impl Weights for Gguf {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.keys().map(String::as_str).collect()
    }

    fn tensor(&self, name: &str) -> Option<&Stored> {
        self.tensors.get(name).map(|place| &place.stored)
    }

    fn read_rows(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), WeightsError> {
        let stored = self.expect(name)?;
        let columns = stored.columns();
        let rows = out.len() / columns;
        let fits = row.checked_add(rows).is_some_and(|end| end <= stored.rows());
        match self.tensors[name].rows {
            rows @ RowOrder::Interleaved(_) if fits && out.len().is_multiple_of(columns) => {
                for (at, out) in out.chunks_exact_mut(columns).enumerate() {
                    self.file.read_rows(name, stored, rows.in_file(row + at), out)?;
                }
                Ok(())
            }
            _ => self.file.read_rows(name, stored, row, out),
        }
    }
}

/// The factors on the frequencies, if the file has them.
fn rope_factors(file: &TensorFile, header: &GgufHeader) -> Result<Option<Vec<f32>>, WeightsError> {
    let Some(stored) = header.tensors.get(ROPE_FACTORS) else { return Ok(None) };
    if stored.dtype() != Dtype::F32 {
        let (path, tensor) = (file.path().to_owned(), ROPE_FACTORS.to_owned());
        return Err(WeightsError::Dtype { path, tensor, dtype: stored.dtype().name() });
    }
    let mut factors = vec![0.0; stored.numbers()];
    file.read_rows(ROPE_FACTORS, stored, 0, &mut factors)?;
    Ok(Some(factors))
}
