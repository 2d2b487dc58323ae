//! Why weights cannot be had.

use std::io;
use std::path::PathBuf;

/// Why a header is invalid. The caller adds the name of the file.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The system could not read it.
    #[error("it cannot be read")]
    Read(#[from] io::Error),
    /// The file ends before what its header announces.
    #[error("{what} needs {needs} bytes and the file has {has} left: it is truncated or corrupt")]
    Short {
        /// The part of the header.
        what: &'static str,
        /// Bytes needed.
        needs: u64,
        /// Bytes left.
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
        /// The problem.
        problem: String,
    },
    /// One entry of the metadata is wrong.
    #[error("metadata `{key}`: {problem}")]
    Metadata {
        /// The key, shortened.
        key: String,
        /// The problem.
        problem: String,
    },
}

/// Why weights cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The system refused.
    #[error("cannot {verb} `{}`", path.display())]
    Disk {
        /// The attempted operation.
        verb: &'static str,
        /// On which file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The header is invalid.
    #[error("`{}` is not a valid {format} file", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The expected format.
        format: &'static str,
        /// The problem.
        #[source]
        source: HeaderError,
    },
    /// The list of shards is broken.
    #[error("`{}`: {problem}", path.display())]
    Index {
        /// The list.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// A shard is not there.
    #[error("shard `{}` is missing; `{}` lists it", shard.display(), index.display())]
    MissingShard {
        /// The expected path.
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
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape according to the configuration.
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
    #[error("tensor `{tensor}` of `{}` has type {dtype}, which is not supported for weights", path.display())]
    Dtype {
        /// The file.
        path: PathBuf,
        /// Its name.
        tensor: String,
        /// The type's name.
        dtype: &'static str,
    },
    /// The caller's buffer does not have the requested size.
    #[error("tensor `{tensor}` of `{}`: {asked} numbers from row {row} on were asked for, it has {rows} rows of {columns}", path.display())]
    Span {
        /// The file.
        path: PathBuf,
        /// Its name.
        tensor: String,
        /// The first row.
        row: usize,
        /// Number of requested values.
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
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value.
        value: f32,
    },
}
