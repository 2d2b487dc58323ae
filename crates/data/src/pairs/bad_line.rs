//! A line that no pair can be made of, with its place.

use std::path::PathBuf;

use serde::Serialize;

/// A line that is not a reply or a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadPairLine {
    /// Its file.
    pub file: PathBuf,
    /// The line or row, from 1; 0 for the file as a whole.
    pub line: u64,
    /// The problem with it.
    pub reason: String,
}
