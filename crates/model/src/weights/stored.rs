//! One tensor in a file, and the file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Dtype, HeaderError, WeightsError};
use crate::shown;
use crate::small_file;

/// Bytes read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// More dimensions than any tensor of a decoder has.
pub(crate) const MAX_DIMENSIONS: usize = 8;

/// One tensor in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    shape: Vec<usize>,
    dtype: Dtype,
    /// Its offset in the file.
    at: u64,
}

impl Stored {
    /// A tensor of `shape` whose data begins at byte `at`; or the problem with its size.
    pub(crate) fn new(shape: Vec<usize>, dtype: Dtype, at: u64) -> Result<Self, String> {
        if shape.len() > MAX_DIMENSIONS {
            return Err(format!("{} dimensions are more than {MAX_DIMENSIONS}", shape.len()));
        }
        if shape.contains(&0) {
            return Err(format!("shape {shape:?} holds nothing"));
        }
        let columns = shape.last().copied().unwrap_or(1);
        if columns % dtype.block_numbers() != 0 {
            let (name, block) = (dtype.name(), dtype.block_numbers());
            return Err(format!(
                "rows of {columns} numbers are not a multiple of the {name} block size {block}"
            ));
        }
        let bytes = (dtype.block_bytes() as u64).checked_mul(columns as u64);
        let bytes = bytes.map(|bytes| bytes / dtype.block_numbers() as u64);
        let rows = &shape[..shape.len().saturating_sub(1)];
        let whole = rows
            .iter()
            .try_fold(bytes, |bytes, &rows| bytes.map(|bytes| bytes.checked_mul(rows as u64)));
        match whole.flatten() {
            Some(bytes) if at.checked_add(bytes).is_some_and(|end| i64::try_from(end).is_ok()) => {
                Ok(Self { shape, dtype, at })
            }
            _ => Err(format!("shape {shape:?} is larger than any file")),
        }
    }

    /// Its shape, outermost dimension first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The storage type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Number of values.
    pub fn numbers(&self) -> usize {
        self.shape.iter().product()
    }

    /// Numbers in a row: its last dimension.
    pub fn columns(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.numbers() / self.columns()
    }

    /// Bytes that it takes in its file.
    pub fn bytes(&self) -> u64 {
        self.row_bytes() * self.rows() as u64
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn end(&self) -> u64 {
        self.at + self.bytes()
    }

    fn row_bytes(&self) -> u64 {
        (self.columns() / self.dtype.block_numbers() * self.dtype.block_bytes()) as u64
    }
}

/// An open file of tensors.
#[derive(Debug)]
pub(crate) struct TensorFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl TensorFile {
    pub(crate) fn open(path: &Path) -> Result<Self, WeightsError> {
        let at = |verb| move |source| WeightsError::Disk { verb, path: path.to_owned(), source };
        let file = small_file::open(path).map_err(at("open"))?;
        let metadata = file.metadata().map_err(at("examine"))?;
        Ok(Self { path: path.to_owned(), file, bytes: metadata.len() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn bad_header(&self, format: &'static str, source: HeaderError) -> WeightsError {
        WeightsError::Header { path: self.path.clone(), format, source }
    }

    /// Fills `out` with the rows of `stored` from `row` on.
    pub(crate) fn read_rows(
        &self,
        name: &str,
        stored: &Stored,
        row: usize,
        out: &mut [f32],
    ) -> Result<(), WeightsError> {
        let columns = stored.columns();
        let rows = out.len() / columns;
        let ends = row.checked_add(rows).is_some_and(|end| end <= stored.rows());
        if !ends || !out.len().is_multiple_of(columns) {
            return Err(self.bad_span(name, stored, row, out.len()));
        }
        let (block_numbers, block_bytes) =
            (stored.dtype.block_numbers(), stored.dtype.block_bytes());
        let piece_numbers = PIECE_BYTES / block_bytes * block_numbers;
        let mut buffer = vec![0; PIECE_BYTES.min(out.len() / block_numbers * block_bytes)];
        let mut at = stored.at + row as u64 * stored.row_bytes();
        for (piece_at, piece) in out.chunks_mut(piece_numbers).enumerate() {
            let bytes = &mut buffer[..piece.len() / block_numbers * block_bytes];
            self.file.read_exact_at(bytes, at).map_err(|source| WeightsError::Disk {
                verb: "read",
                path: self.path.clone(),
                source,
            })?;
            at += bytes.len() as u64;
            stored.dtype.decode(bytes, piece).ok_or_else(|| self.bad_dtype(name, stored))?;
            if let Some(bad) = piece.iter().position(|number| !number.is_finite()) {
                let number = row * columns + piece_at * piece_numbers + bad;
                return Err(WeightsError::NotFinite {
                    path: self.path.clone(),
                    tensor: shown::beginning(name),
                    row: number / columns,
                    column: number % columns,
                    value: piece[bad],
                });
            }
        }
        Ok(())
    }

    fn bad_span(&self, name: &str, stored: &Stored, row: usize, asked: usize) -> WeightsError {
        WeightsError::Span {
            path: self.path.clone(),
            tensor: shown::beginning(name),
            row,
            asked,
            rows: stored.rows(),
            columns: stored.columns(),
        }
    }

    fn bad_dtype(&self, name: &str, stored: &Stored) -> WeightsError {
        let (path, tensor) = (self.path.clone(), shown::beginning(name));
        WeightsError::Dtype { path, tensor, dtype: stored.dtype.name() }
    }
}
