//! Why weights cannot be had.

use std::io;
use std::path::PathBuf;

/// Why a header cannot be believed. It names no file: that is for whoever opened one.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The system could not read it.
    #[error("it cannot be read")]
    Read(#[from] io::Error),
    /// The file ends before what its header announces.
    #[error("{what} needs {needs} bytes and the file has {has} left: it is cut short, or it lies")]
    Short {
        /// What was to be read.
        what: &'static str,
        /// How many bytes it needs.
        needs: u64,
        /// How many there are.
        has: u64,
    },
    /// Not this format, or a version of it that we do not read.
    #[error("{0}")]
    Format(String),
    /// One tensor's entry is wrong.
    #[error("tensor `{tensor}`: {problem}")]
    Tensor {
        /// The tensor, shortened.
        tensor: String,
        /// What is wrong with it.
        problem: String,
    },
    /// One entry of the metadata is wrong.
    #[error("metadata `{key}`: {problem}")]
    Metadata {
        /// The key, shortened.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Why weights cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The system refused.
    #[error("cannot {verb} `{}`", path.display())]
    Disk {
        /// What was tried.
        verb: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The header is broken or lies.
    #[error("`{}` is no {format} file that can be read", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
        /// What is wrong.
        #[source]
        source: HeaderError,
    },
    /// The list of shards is broken.
    #[error("`{}`: {problem}", path.display())]
    Index {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A shard is not there.
    #[error("shard `{}` is missing; `{}` lists it", shard.display(), index.display())]
    MissingShard {
        /// Where it should be.
        shard: PathBuf,
        /// The list that names it.
        index: PathBuf,
    },
    /// A tensor is not there.
    #[error("`{}` has no tensor `{tensor}`", path.display())]
    MissingTensor {
        /// The file or directory.
        path: PathBuf,
        /// Its name.
        tensor: String,
    },
    /// A tensor is not as large as it should be.
    #[error("tensor `{tensor}` of `{}` has shape {found:?}, not {expected:?}", path.display())]
    Shape {
        /// The file or directory.
        path: PathBuf,
        /// Its name.
        tensor: String,
        /// What the file says.
        found: Vec<usize>,
        /// What the configuration asks for.
        expected: Vec<usize>,
    },
    /// A tensor that the architecture has no place for.
    #[error("`{}` has a tensor `{tensor}` that this architecture has no place for", path.display())]
    Stranger {
        /// The file or directory.
        path: PathBuf,
        /// Its name.
        tensor: String,
    },
    /// A tensor of a type that cannot be weights.
    #[error("tensor `{tensor}` of `{}` has type {dtype}, which is not read as weights", path.display())]
    Dtype {
        /// The file.
        path: PathBuf,
        /// Its name.
        tensor: String,
        /// The type's name.
        dtype: &'static str,
    },
    /// The caller's buffer is not as large as what it asked for.
    #[error("tensor `{tensor}` of `{}`: {asked} numbers from row {row} on were asked for, it has {rows} rows of {columns}", path.display())]
    Span {
        /// The file.
        path: PathBuf,
        /// Its name.
        tensor: String,
        /// The first row.
        row: usize,
        /// How many numbers.
        asked: usize,
        /// Rows of the tensor.
        rows: usize,
        /// Numbers in a row.
        columns: usize,
    },
    /// A weight is infinite or NaN.
    #[error("tensor `{tensor}` of `{}` holds {value} in row {row}, column {column}", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// Its name.
        tensor: String,
        /// Which row.
        row: usize,
        /// Which column.
        column: usize,
        /// What stands there.
        value: f32,
    },
}
