//! Rows out of a file, whatever its format, as JSON objects.
//!
//! | name | how it is read |
//! |---|---|
//! | `.jsonl` | line by line, each at most 64 MiB |
//! | `.json` | one array, element by element, each at most 64 MiB |
//! | `.parquet` | row by row within a row group, each at most 64 MiB |
//! | each with `.gz` | unpacked on the way; parquet into a file without a name |
//!
//! A row that is not a task is handed on with the reason. A file that breaks off ends with what broke and
//! the row at which it did.

mod array;
mod caught;
mod columns;
mod footer;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

pub use self::caught::panic_is_caught;
use flate2::bufread::MultiGzDecoder;
use whetstone_core::jsonl::{LineProblem, MAX_LINE_BYTES, Numbered, Records};
use whetstone_core::wire::Object;

use super::row::{RawRow, brief};

/// Receives one row, counted from 1, or the reason why it is not a task; returns whether to
/// continue.
pub(crate) type Each<'a> = &'a mut dyn FnMut(u64, Result<Object, String>) -> ControlFlow<()>;

/// The file format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TableFormat {
    Parquet,
    Lines,
    Array,
}

/// Why a file's rows came to an end too early.
#[derive(Debug)]
pub(crate) enum TableError {
    /// The kernel will not read on.
    Io(io::Error),
    /// The contents do not match the file name, from this row on (0: from the start).
    Broken { row: u64, problem: String },
}

/// The format and compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) format: TableFormat,
    /// Compressed by gzip.
    pub(crate) packed: bool,
}

impl Encoding {
    /// The format according to a file's name.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (name, packed) = match name.strip_suffix(".gz") {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        let format = match name.rsplit_once('.')?.1 {
            "jsonl" | "ndjson" => TableFormat::Lines,
            "json" => TableFormat::Array,
            "parquet" => TableFormat::Parquet,
            _ => return None,
        };
        Some(Self { format, packed })
    }
}

/// Reads every row of a file.
pub(crate) fn read(path: &Path, encoding: Encoding, each: Each<'_>) -> Result<(), TableError> {
    let Encoding { format, packed } = encoding;
    let file = File::open(path).map_err(TableError::Io)?;
    if format == TableFormat::Parquet {
        return columns::read(file, packed, each);
    }
    let mut reader = text_of(file, packed);
    match format {
        TableFormat::Lines => lines(path, &mut reader, each),
        _ => array::read(&mut reader, MAX_LINE_BYTES, each),
    }
}

/// Opens a file of text to be read in pieces; a name that ends in `.gz` is unpacked on the way.
///
/// # Errors
///
/// If it cannot be opened.
pub fn open_text(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let packed = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz"));
    Ok(text_of(File::open(path)?, packed))
}

fn text_of(file: File, packed: bool) -> Box<dyn BufRead> {
    let file = BufReader::with_capacity(1 << 16, file);
    if packed {
        return Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)));
    }
    Box::new(file)
}

/// The names of a parquet file's columns; other formats have none until a row is read.
pub(super) fn columns(path: &Path, encoding: Encoding) -> Result<Option<Vec<String>>, TableError> {
    if encoding.format != TableFormat::Parquet {
        return Ok(None);
    }
    let file = File::open(path).map_err(TableError::Io)?;
    columns::names(file, encoding.packed).map(Some)
}

fn lines(path: &Path, reader: &mut dyn BufRead, each: Each<'_>) -> Result<(), TableError> {
    for read in Records::<RawRow, _>::new(path, reader) {
        let flow = match read {
            Ok(Numbered { line, record }) => each(line, Ok(record.0)),
            Err(err) => match err.problem {
                LineProblem::Io(source) => return Err(TableError::of(source, err.line)),
                problem => each(err.line, Err(problem.to_string())),
            },
        };
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

impl TableError {
    /// The error of a reader: a truncated compressed file is broken, everything else is an I/O
    /// error.
    fn of(err: io::Error, row: u64) -> Self {
        match err.kind() {
            io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof => {
                Self::Broken { row, problem: brief(&err.to_string()) }
            }
            _ => Self::Io(err),
        }
    }
}

#[cfg(test)]
mod tests;
