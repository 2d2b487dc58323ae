//! Writing a safetensors file: the header first, then one tensor after the other.
//!
//! Names and shapes are known before the data, so a checkpoint is written tensor by tensor and is
//! never in memory twice. A non-finite value is refused here, because refusing it at load time
//! would be too late.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::shown;
use crate::weights::{Dtype, Stored};

/// Numbers converted at a time.
const PIECE: usize = 16 << 10;

/// Writes tensors of one type into `out`, in the order in which they were announced.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    dtype: Dtype,
    expected: std::vec::IntoIter<(String, usize)>,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refused.
    #[error("cannot write the tensors")]
    Write(#[from] io::Error),
    /// A type that we do not write.
    #[error("weights are written as F32 or BF16, not as {}", .0.name())]
    Dtype(Dtype),
    /// A tensor that cannot be announced, or not now.
    #[error("tensor `{tensor}`: {problem}")]
    Tensor {
        /// Its name.
        tensor: String,
        /// The problem.
        problem: String,
    },
}

impl<W: Write> Writer<W> {
    /// Announces `tensors` (names and shapes) and writes the header.
    pub fn new(
        mut out: W,
        tensors: &[(String, Vec<usize>)],
        dtype: Dtype,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self, WriteError> {
        if !matches!(dtype, Dtype::F32 | Dtype::Bf16) {
            return Err(WriteError::Dtype(dtype));
        }
        let mut header = Map::new();
        if !metadata.is_empty() {
            header.insert("__metadata__".to_owned(), json!(metadata));
        }
        let (mut expected, mut at) = (Vec::new(), 0);
        for (name, shape) in tensors {
            let stored =
                Stored::new(shape.clone(), dtype, at).map_err(|problem| bad(name, problem))?;
            let place = [at, stored.end()];
            let entry = json!({"dtype": dtype.name(), "shape": shape, "data_offsets": place});
            if name == "__metadata__" || header.insert(name.clone(), entry).is_some() {
                return Err(bad(name, "its name is taken".to_owned()));
            }
            at = stored.end();
            expected.push((name.clone(), stored.numbers()));
        }
        let mut header = Value::from(header).to_string();
        // The data begins at a multiple of eight, so that a memory map of the file is aligned.
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(header.as_bytes())?;
        Ok(Self { out, dtype, expected: expected.into_iter() })
    }

    /// Writes the numbers of the next tensor.
    pub fn put(&mut self, name: &str, numbers: &[f32]) -> Result<(), WriteError> {
        match self.expected.next() {
            Some((next, size)) if next == name && size == numbers.len() => {}
            Some((next, size)) => {
                let problem = format!("`{}` with {size} numbers is next", shown::beginning(&next));
                return Err(bad(name, problem));
            }
            None => return Err(bad(name, "all announced tensors are written".to_owned())),
        }
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(bad(name, format!("number {at} is {}", numbers[at])));
        }
        let mut bytes = Vec::with_capacity(PIECE * 4);
        for piece in numbers.chunks(PIECE) {
            bytes.clear();
            for number in piece {
                match self.dtype {
                    Dtype::Bf16 => {
                        bytes.extend_from_slice(&half::bf16::from_f32(*number).to_le_bytes());
                    }
                    _ => bytes.extend_from_slice(&number.to_le_bytes()),
                }
            }
            self.out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Checks that every announced tensor was written, and returns the inner writer.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if let Some((name, _)) = self.expected.next() {
            return Err(bad(&name, "it was announced and not written".to_owned()));
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

fn bad(tensor: &str, problem: String) -> WriteError {
    WriteError::Tensor { tensor: shown::beginning(tensor), problem }
}
