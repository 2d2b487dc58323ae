//! Errors of a source that cannot be read at all.

use std::io;
use std::path::PathBuf;

/// A path that yields no rows. Problems with a file's contents are not here: those are findings,
/// listed and counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The kernel will not give it.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// The file's name says of no format that we read.
    #[error("`{}` has an unsupported extension; expected .jsonl, .json or .parquet, optionally with .gz", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },

    /// The folder holds nothing to read.
    #[error("the folder `{}` holds no .jsonl, .json or .parquet file, and no problem of APPS", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },

    /// The file's name says of no format of models that we read.
    #[error("`{}` has an unsupported extension; expected .mps or .lp, optionally with .gz", path.display())]
    ModelFormat {
        /// The file.
        path: PathBuf,
    },

    /// The folder holds no model.
    #[error("the folder `{}` holds no .mps or .lp file", path.display())]
    NoModels {
        /// The folder.
        path: PathBuf,
    },
}

impl SourceError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("give the path of a file or folder that is there")
            }
            Self::Format { .. } => Some("name the file after its format, e.g. `mbpp.jsonl.gz`"),
            Self::Empty { .. } => Some("give the folder that holds the data set's files"),
            Self::ModelFormat { .. } => Some("name the file after its format, e.g. `plan.mps.gz`"),
            Self::NoModels { .. } => Some("give the folder that holds the model files"),
            Self::Io { .. } => None,
        }
    }

    /// For `map_err`: the error of reading `path`.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
