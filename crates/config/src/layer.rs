//! One source of settings: a file, a part of a stage file, or one `--set key=value`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::problem::{Place, Problem};

/// Longest config file we read; a real one has a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// One source of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// A TOML file.
    File {
        /// Its path as given.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// The settings that a run was started with. One of an earlier version has keys that are gone.
    Run {
        /// Their path.
        path: PathBuf,
        /// Their text.
        text: String,
    },
    /// The settings of a stage file, beside its stages.
    StageFile {
        /// Its path as given.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// The keys that one stage of a stage file sets.
    Stage {
        /// The path of the file as given.
        path: PathBuf,
        /// The text of the file.
        text: String,
        /// The stage, counted from 0.
        index: usize,
    },
    /// One key as a suite of tasks sets it.
    Suite {
        /// The name of the suite.
        name: String,
        /// The key and its value, written as for `Set`.
        argument: String,
    },
    /// `key=value` from the command line.
    Set {
        /// The argument.
        argument: String,
    },
}

impl Layer {
    /// Reads a file, within bounds.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let problem = |line, message: String, hint: Option<&str>| Problem {
            place: Some(Place::File { path: path.to_owned(), line, column: line.min(1) }),
            key: None,
            message,
            hint: hint.map(str::to_owned),
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|err| problem(0, format!("cannot read: {err}"), None))?;
        if bytes.len() as u64 > MAX_BYTES {
            let message = "longer than 1 MiB, expected a TOML file of settings".to_owned();
            return Err(problem(0, message, Some("is this the right file?")));
        }
        let text = String::from_utf8(bytes).map_err(|err| {
            let at = err.utf8_error().valid_up_to();
            let line = String::from_utf8_lossy(&err.as_bytes()[..at]).matches('\n').count() + 1;
            let message = format!("not UTF-8 at byte {at}, expected a TOML file");
            problem(line, message, Some("save the file as UTF-8"))
        })?;
        Ok(Self::File { path: path.to_owned(), text })
    }
}
