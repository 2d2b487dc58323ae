//! Failures on a single small file: the kernel's, and those of `cursors.json`.

use std::io;
use std::path::{Path, PathBuf};

use super::is_full_kind;

/// The kernel refused one step on one file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} `{}`", path.display())]
pub struct FileError {
    /// The step as a verb phrase, e.g. `rename`.
    pub step: &'static str,
    /// The file or directory it was done to.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

/// Resume cursors could not be saved or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// The file could not be read or replaced.
    #[error(transparent)]
    File(#[from] FileError),

    /// The text is not what this version writes.
    #[error("`{}` does not hold resume cursors", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The parser's error, with line and column.
        source: serde_json::Error,
    },

    /// The file has a version this program does not know.
    #[error("`{}` has version {found}, this whet reads version {known}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u64,
        /// The version this program writes and reads.
        known: u64,
    },
}

impl FileError {
    /// For `map_err`: the error of doing `step` to `path`.
    pub fn at(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { step, path, source }
    }

    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        if is_full_kind(&self.source) {
            return Some("free some space, then resume the run");
        }
        write_hint(&self.source)
    }
}

/// A suggestion for an error of writing a file that no run has: there is nothing to resume.
pub fn write_hint(err: &io::Error) -> Option<&'static str> {
    match err.kind() {
        _ if is_full_kind(err) => Some("free some space, then run the same command again"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(
            "check who owns that place and whether it is mounted read-only, or write elsewhere",
        ),
        _ => None,
    }
}

impl CursorError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::File(err) => err.hint(),
            Self::Malformed { .. } => {
                Some("the file is only ever replaced whole: look for another program that wrote it")
            }
            Self::Version { found, known, .. } if found > known => {
                Some("this run was written by a newer whet: update this one")
            }
            Self::Version { .. } => None,
        }
    }
}
