//! Weights in safetensors files: a single file, or shards with an index.

mod header;
mod index;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use header::SafetensorsHeader;
pub use write::{WriteError, Writer};

use crate::weights::{Stored, TensorFile, Weights, WeightsError};

const FORMAT: &str = "safetensors";

/// The weights of one file or of several shards.
#[derive(Debug)]
pub struct Safetensors {
    path: PathBuf,
    files: Vec<TensorFile>,
    tensors: BTreeMap<String, ShardTensor>,
}

/// A tensor, and the file it is in.
#[derive(Debug)]
struct ShardTensor {
    file: usize,
    stored: Stored,
}

impl Safetensors {
    /// Opens one file.
    pub fn open_file(path: &Path) -> Result<Self, WeightsError> {
        let (file, header) = open(path)?;
        let place = |(name, stored)| (name, ShardTensor { file: 0, stored });
        let tensors = header.tensors.into_iter().map(place).collect();
        Ok(Self { path: path.to_owned(), files: vec![file], tensors })
    }

    /// Opens a directory's `model.safetensors`, or the shards that its
    /// `model.safetensors.index.json` lists.
    pub fn open_dir(dir: &Path) -> Result<Self, WeightsError> {
        let (single, index) = (dir.join("model.safetensors"), dir.join(index::NAME));
        if single.exists() || !index.exists() {
            return Self::open_file(&single);
        }
        let shards = index::read(&index)?;
        let mut weights =
            Self { path: dir.to_owned(), files: Vec::new(), tensors: BTreeMap::new() };
        for (name, listed) in shards {
            let path = dir.join(name);
            if !path.exists() {
                return Err(WeightsError::MissingShard { shard: path, index });
            }
            weights.add_shard(&path, listed)?;
        }
        Ok(weights)
    }

    /// Takes from a shard the tensors that are listed for it.
    fn add_shard(&mut self, path: &Path, listed: Vec<String>) -> Result<(), WeightsError> {
        let (file, mut header) = open(path)?;
        for tensor in listed {
            let Some(stored) = header.tensors.remove(&tensor) else {
                let tensor = crate::shown::beginning(&tensor);
                return Err(WeightsError::MissingTensor { path: path.to_owned(), tensor });
            };
            self.tensors.insert(tensor, ShardTensor { file: self.files.len(), stored });
        }
        self.files.push(file);
        Ok(())
    }
}

impl Weights for Safetensors {
    fn path(&self) -> &Path {
        &self.path
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.keys().map(String::as_str).collect()
    }

    fn tensor(&self, name: &str) -> Option<&Stored> {
        self.tensors.get(name).map(|place| &place.stored)
    }

    fn read_rows(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), WeightsError> {
        let stored = self.expect(name)?;
        self.files[self.tensors[name].file].read_rows(name, stored, row, out)
    }
}

fn open(path: &Path) -> Result<(TensorFile, SafetensorsHeader), WeightsError> {
    let file = TensorFile::open(path)?;
    let header = SafetensorsHeader::read(&mut file.file(), file.bytes())
        .map_err(|source| file.bad_header(FORMAT, source))?;
    Ok((file, header))
}
