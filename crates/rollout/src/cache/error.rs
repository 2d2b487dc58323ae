//! A cache that cannot be opened.

use std::io;
use std::path::PathBuf;

/// A cache could not be opened. Nothing in the file was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The kernel refused.
    #[error("cannot open the cache `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },

    /// Another process has it.
    #[error("the cache `{}` is in use by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },

    /// It is some other file.
    #[error("`{}` is not a reward cache: {found}", path.display())]
    NotACache {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
    },

    /// A newer program wrote it.
    #[error("the cache `{}` has format {found}, this whet reads format {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest that we read.
        known: u64,
    },

    /// It is a cache, but cannot be read.
    #[error("the cache `{}` is damaged: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the store said.
        problem: String,
    },
}

impl CacheError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Open { .. } => None,
            Self::Locked { .. } => {
                Some("wait for the other run to end, or give this one another `--cache` file")
            }
            Self::NotACache { .. } => Some("nothing was changed: give `--cache` another file"),
            Self::Newer { .. } => {
                Some("use the newer whet, or give this one another `--cache` file")
            }
            Self::Damaged { .. } => {
                Some("a cache can always be made again: remove the file, or give another")
            }
        }
    }
}
