//! Low-rank adapters, as PEFT keeps them: `adapter_config.json` and `adapter_model.safetensors`.

mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use whetstone_core::config::LoraConfig;

pub use settings::AdapterSettings;
pub(crate) use settings::path_of;

use crate::decoder::{Decoder, ParameterId, SCORE_WEIGHT, VALUE_BIAS, VALUE_WEIGHT};
use crate::safetensors::{Safetensors, WriteError, Writer};
use crate::weights::{Dtype, Weights, WeightsError};

/// The file that says what an adapter is.
pub const SETTINGS_FILE: &str = "adapter_config.json";
/// The file with its numbers.
pub const WEIGHTS_FILE: &str = "adapter_model.safetensors";
/// The file beside them with a critic's value head, which PEFT does not know.
pub const VALUE_HEAD_FILE: &str = "value_head.safetensors";

/// Why an adapter cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The settings cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The settings are invalid or not supported.
    #[error("`{}`: {}", path.display(), problems.join("; "))]
    Settings {
        /// The file.
        path: PathBuf,
        /// The problems.
        problems: Vec<String>,
    },
    /// The numbers.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

impl Decoder {
    /// Gives the model a new adapter, which is trained, and freezes everything else: `A` evenly
    /// spread over `±1/√inputs` as PEFT does, `B` zero, so that it changes nothing yet.
    ///
    /// # Panics
    ///
    /// If the model has an adapter.
    pub fn add_adapter(&mut self, config: &LoraConfig, seed: u64) {
        let settings = AdapterSettings::new(config);
        self.train_base(false);
        self.attach(&settings, |_, shape, tensor| {
            let bound = 1.0 / f64::from(u32::try_from(shape[1]).unwrap_or(u32::MAX)).sqrt();
            let count = shape[0] * shape[1];
            // `B` has the rank as its inputs; it is the second of each pair.
            Ok::<_, AdapterError>(match tensor % 2 {
                0 => crate::decoder::spread(count, bound, seed, tensor),
                _ => vec![0.0; count],
            })
        })
        .expect("nothing is read");
    }

    /// Reads an adapter from a directory, with its score head if it has one. They are trained, and
    /// the model itself is frozen.
    ///
    /// # Errors
    ///
    /// If it is not one of this model's.
    ///
    /// # Panics
    ///
    /// If the model has an adapter, or a head for values and the adapter brings one.
    pub fn load_adapter(&mut self, dir: &Path) -> Result<AdapterSettings, AdapterError> {
        let settings = AdapterSettings::read(&dir.join(SETTINGS_FILE))?;
        let weights = Safetensors::open_file(&dir.join(WEIGHTS_FILE))?;
        self.train_base(false);
        self.attach(&settings, |name, shape, _| {
            weights.expect_shape(name, shape)?;
            let mut values = vec![0.0; shape[0] * shape[1]];
            weights.read(name, &mut values)?;
            Ok::<_, AdapterError>(values)
        })?;
        if settings.score {
            let width = self.config().width;
            weights.expect_shape(SCORE_WEIGHT, &[1, width])?;
            let mut values = vec![0.0; width];
            weights.read(SCORE_WEIGHT, &mut values)?;
            self.put_score_head(&values);
        }
        Ok(settings)
    }

    /// Reads a critic's value head from the directory of its adapter. It is trained.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not one of this model's.
    ///
    /// # Panics
    ///
    /// If the active adapter has a head for values.
    pub fn load_value_head(&mut self, dir: &Path) -> Result<(), WeightsError> {
        let file = Safetensors::open_file(&dir.join(VALUE_HEAD_FILE))?;
        let read = |name: &str, shape: &[usize]| {
            file.expect_shape(name, shape)?;
            let mut values = vec![0.0; shape.iter().product()];
            file.read(name, &mut values)?;
            Ok::<_, WeightsError>(values)
        };
        let weights = read(VALUE_WEIGHT, &[1, self.config().width])?;
        let bias = read(VALUE_BIAS, &[1])?;
        self.put_value_head(&weights, bias[0]);
        Ok(())
    }

    /// Writes tensors, with the adapter worked into those that have one.
    pub(crate) fn write_tensors(
        &self,
        out: impl Write,
        ids: &[ParameterId],
        dtype: Dtype,
    ) -> Result<(), WriteError> {
        let announced: Vec<(String, Vec<usize>)> = ids
            .iter()
            .map(|&id| (self.peft_name(id).to_owned(), self.parameters().get(id).shape.clone()))
            .collect();
        let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
        let mut writer = Writer::new(out, &announced, dtype, &metadata)?;
        for (&id, (name, _)) in ids.iter().zip(&announced) {
            writer.put(name, &self.merged(id))?;
        }
        writer.finish()?;
        Ok(())
    }
}
