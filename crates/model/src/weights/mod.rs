//! Weights by name, read from a file into the caller's buffer.
//!
//! Both formats end here: a tensor is a place in a file ([`Stored`]), and its rows are read in
//! pieces of a quarter of a megabyte, turned into `f32` on the way and checked to be finite. The
//! file is read at positions, not mapped: a mapping needs `unsafe`, dies with a signal if the file
//! shrinks, and saves only a copy that the conversion makes anyway. Readers share one descriptor and
//! no cursor, so several threads may read at once.
//!
//! *Rows* are contiguous in the last dimension: a one-dimensional tensor has one row.

mod dtype;
mod error;
mod stored;

use std::fmt::Debug;
use std::path::Path;

pub use dtype::Dtype;
pub use error::{HeaderError, WeightsError};
pub use stored::Stored;
pub(crate) use stored::TensorFile;

use crate::shown;

/// The tensors of a model under the hub's names (`model.layers.0.self_attn.q_proj.weight`).
pub trait Weights: Debug + Send + Sync {
    /// The file they are in, or the directory of several, for messages.
    fn path(&self) -> &Path;

    /// Every name, sorted.
    fn names(&self) -> Vec<&str>;

    /// The storage of a tensor: its shape in the hub's order (outermost first) and its type.
    fn tensor(&self, name: &str) -> Option<&Stored>;

    /// Reads whole rows of a tensor, beginning with row `row`, as many as fill `out`.
    fn read_rows(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), WeightsError>;

    /// Reads a whole tensor; `out` has exactly its size.
    fn read(&self, name: &str, out: &mut [f32]) -> Result<(), WeightsError> {
        let stored = self.expect(name)?;
        if stored.numbers() != out.len() {
            return Err(wrong_shape(self.path(), name, stored, &[out.len()]));
        }
        self.read_rows(name, 0, out)
    }

    /// A tensor that must be there.
    fn expect(&self, name: &str) -> Result<&Stored, WeightsError> {
        self.tensor(name).ok_or_else(|| WeightsError::MissingTensor {
            path: self.path().to_owned(),
            tensor: shown::beginning(name),
        })
    }

    /// A tensor that must be there and have the shape `expected`.
    fn expect_shape(&self, name: &str, expected: &[usize]) -> Result<&Stored, WeightsError> {
        let stored = self.expect(name)?;
        if stored.shape() != expected {
            return Err(wrong_shape(self.path(), name, stored, expected));
        }
        Ok(stored)
    }
}

fn wrong_shape(path: &Path, name: &str, stored: &Stored, expected: &[usize]) -> WeightsError {
    WeightsError::Shape {
        path: path.to_owned(),
        tensor: shown::beginning(name),
        found: stored.shape().to_vec(),
        expected: expected.to_vec(),
    }
}
