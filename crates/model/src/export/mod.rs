//! A model, or an adapter, written as a directory that we, transformers and PEFT load again.
//!
//! A whole model has its adapter merged, `W + s · B·A`, and comes with its configuration, tokenizer
//! and chat template. Value heads are not a part of it: a score head is saved with its adapter
//! ([`Decoder::export_adapter`]).

mod companions;
mod folder;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::adapter::{AdapterSettings, SETTINGS_FILE, VALUE_HEAD_FILE, WEIGHTS_FILE};
use crate::decoder::{AdapterId, Decoder, ParameterId, ValueHead};
use crate::open::Pretrained;
use crate::safetensors::WriteError;
use crate::tokenizer::{Tokenizer, TokenizerError};
use crate::weights::Dtype;
use companions::CompanionFiles;
use folder::ExportFolder;

/// The options of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions {
    /// The type of stored values: `F32` or `Bf16`.
    pub dtype: Dtype,
    /// Bytes of weights beyond which there is a second file. A tensor is never split.
    pub shard_bytes: u64,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { dtype: Dtype::Bf16, shard_bytes: 5_000_000_000 }
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Something is there.
    #[error("`{}` exists; remove it, or choose another directory", .0.display())]
    Exists(PathBuf),
    /// The system refused.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file of the model's directory cannot be read any more.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A model that `config.json` has no words for.
    #[error("the model cannot be written as a directory: {0}")]
    Config(String),
    /// The numbers.
    #[error(transparent)]
    Weights(#[from] WriteError),
    /// The tokens.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

impl Decoder {
    /// Writes the whole model into a new directory, with the adapter merged. `model` is the model
    /// it was loaded from.
    ///
    /// # Errors
    ///
    /// If the directory exists or cannot be written; then it is not created.
    pub fn export_merged(
        &self,
        model: &Pretrained,
        to: &Path,
        options: ExportOptions,
    ) -> Result<(), ExportError> {
        let folder = ExportFolder::begin(to)?;
        companions::write(&folder, model, options.dtype)?;
        self.put_weights(&folder, options)?;
        folder.finish()
    }

    /// Writes a model that came from no files into a new directory, with its tokenizer and the source
    /// of its chat template.
    ///
    /// # Errors
    ///
    /// If the directory exists or cannot be written; then it is not created.
    pub fn export_new(
        &self,
        tokenizer: &Tokenizer,
        template: Option<&str>,
        to: &Path,
        options: ExportOptions,
    ) -> Result<(), ExportError> {
        let folder = ExportFolder::begin(to)?;
        let parts = CompanionFiles { config: self.config(), tokenizer, template };
        companions::write_new(&folder, &parts, options.dtype)?;
        self.put_weights(&folder, options)?;
        folder.finish()
    }

    fn put_weights(
        &self,
        folder: &ExportFolder,
        options: ExportOptions,
    ) -> Result<(), ExportError> {
        let ids: Vec<ParameterId> = self.base_parameters().collect();
        let shards = self.shards(&ids, options);
        if let [all] = shards.as_slice() {
            return self.put_shard(folder, "model.safetensors", all, options.dtype);
        }
        let mut places = BTreeMap::new();
        for (index, shard) in shards.iter().enumerate() {
            let name = format!("model-{:05}-of-{:05}.safetensors", index + 1, shards.len());
            self.put_shard(folder, &name, shard, options.dtype)?;
            let names = shard.iter().map(|&id| self.parameters().get(id).name.clone());
            places.extend(names.map(|tensor| (tensor, name.clone())));
        }
        let total: u64 = ids.iter().map(|&id| self.stored_bytes(id, options.dtype)).sum();
        let index = json!({"metadata": {"total_size": total}, "weight_map": places});
        folder.put("model.safetensors.index.json", format!("{index:#}\n").as_bytes())
    }

    /// Writes the active adapter into a new directory as PEFT does, with its score head if there is
    /// one; a critic's value head goes into a file of its own.
    ///
    /// # Errors
    ///
    /// If the directory exists or cannot be written; then it is not created.
    pub fn export_adapter(
        &self,
        settings: &AdapterSettings,
        to: &Path,
        dtype: Dtype,
    ) -> Result<(), ExportError> {
        self.export_adapter_of(self.active_adapter(), settings, to, dtype)
    }

    /// [`Self::export_adapter`] of any of its adapters.
    ///
    /// # Errors
    ///
    /// If the directory exists or cannot be written; then it is not created.
    pub fn export_adapter_of(
        &self,
        adapter: AdapterId,
        settings: &AdapterSettings,
        to: &Path,
        dtype: Dtype,
    ) -> Result<(), ExportError> {
        let folder = ExportFolder::begin(to)?;
        let head = self.head_of(adapter);
        let score = head.is_some_and(ValueHead::is_score);
        let settings = AdapterSettings { score, ..settings.clone() };
        folder.put(SETTINGS_FILE, settings.to_json().as_bytes())?;
        let critic = head.and_then(ValueHead::critic);
        let is_adapter = |id: &ParameterId| critic.is_none_or(|head| !head.contains(id));
        let ids: Vec<ParameterId> =
            self.tensors_of(adapter).iter().copied().filter(is_adapter).collect();
        self.put_shard(&folder, WEIGHTS_FILE, &ids, dtype)?;
        if let Some(critic) = critic {
            self.put_shard(&folder, VALUE_HEAD_FILE, &critic, dtype)?;
        }
        folder.finish()
    }

    fn put_shard(
        &self,
        folder: &ExportFolder,
        name: &str,
        ids: &[ParameterId],
        dtype: Dtype,
    ) -> Result<(), ExportError> {
        folder.stream(name, |out| Ok(self.write_tensors(out, ids, dtype)?))
    }

    /// Tensors in order, in shards of at most the byte limit, or of one tensor.
    fn shards(&self, ids: &[ParameterId], options: ExportOptions) -> Vec<Vec<ParameterId>> {
        let (mut shards, mut filled) = (vec![Vec::new()], 0);
        for &id in ids {
            let bytes = self.stored_bytes(id, options.dtype);
            let last = shards.last_mut().expect("there is always one");
            if filled + bytes > options.shard_bytes && !last.is_empty() {
                shards.push(vec![id]);
                filled = bytes;
            } else {
                last.push(id);
                filled += bytes;
            }
        }
        shards
    }

    fn stored_bytes(&self, id: ParameterId, dtype: Dtype) -> u64 {
        (self.parameters().get(id).numbers() * dtype.block_bytes()) as u64
    }
}
