//! Parts of the Phaser environment that a user replaces: the index of the API, and the check itself.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use whetstone_phaser::index::{Index, IndexError, MAX_BYTES};

use super::validator::{CommandError, Validator};

/// What replaces parts of the environment.
#[derive(Debug, Clone, Default)]
pub struct PhaserOptions {
    /// An index instead of the embedded one.
    pub index: Option<Arc<Index>>,
    /// A command that checks programs in place of the environment.
    pub validator: Option<Arc<Validator>>,
}

/// Why a part cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The index cannot be read.
    #[error("cannot read the index `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not an index.
    #[error("`{}` is not an index of Phaser's API: {problem}", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with its line.
        problem: String,
    },
    /// The command of a validator cannot be used.
    #[error(transparent)]
    Validator(CommandError),
}

impl PhaserOptions {
    /// Reads an index file and finds the command of a validator, where they are named.
    ///
    /// # Errors
    ///
    /// If the file is not an index, or there is no such command.
    pub fn find(index: Option<&Path>, validator: Option<&str>) -> Result<Self, OptionsError> {
        let index = index.map(read_index).transpose()?.map(Arc::new);
        let validator = validator.map(Validator::find).transpose();
        let validator = validator.map_err(OptionsError::Validator)?.map(Arc::new);
        Ok(Self { index, validator })
    }

    /// The version of Phaser that the index describes, if there is one.
    pub fn index_version(&self) -> Option<&str> {
        self.index.as_deref().map(Index::version)
    }
}

fn read_index(path: &Path) -> Result<Index, OptionsError> {
    let failed = |source| OptionsError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Index::read(&bytes).map_err(|error| {
        let cause = match &error {
            IndexError::Header(cause) | IndexError::Row { source: cause, .. } => {
                // Each row is read by itself, so that the reader knows the column alone.
                format!(": {}", cause.to_string().replace(" at line 1 column ", " at column "))
            }
            IndexError::Compressed(cause) => format!(": {cause}"),
            _ => String::new(),
        };
        OptionsError::Index { path: path.to_owned(), problem: format!("{error}{cause}") }
    })
}

/// The index that programs are checked against.
#[derive(Debug, Clone)]
pub(super) enum IndexSource {
    /// Part of this binary.
    Embedded(&'static Index),
    /// Read from a file.
    Given(Arc<Index>),
}

impl Deref for IndexSource {
    type Target = Index;

    fn deref(&self) -> &Index {
        match self {
            Self::Embedded(index) => index,
            Self::Given(index) => index,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is said of the embedded index after a change.
    fn problem(change: impl Fn(String) -> String) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("phaser_api.jsonl");
        let text = Index::embedded("3").expect("it is embedded").write();
        fs::write(&path, change(text)).expect("a file");
        match PhaserOptions::find(Some(&path), None) {
            Ok(options) => format!("an index of {}", options.index_version().unwrap_or("nothing")),
            Err(error) => error.to_string().replace(&path.display().to_string(), "FILE"),
        }
    }

    #[test]
    fn an_index_is_read_and_one_that_was_cut_or_edited_is_named_with_the_line() {
        assert_eq!(problem(|text| text), "an index of 3.90.0");
        let cut = problem(|text| text[..text.len() - 40].to_owned());
        assert!(cut.starts_with("`FILE` is not an index of Phaser's API: line "), "{cut}");
        assert!(cut.contains("of the index is no row: EOF while parsing"), "{cut}");
        let edited = problem(|text| text.replacen("\n{", "\n[", 1));
        assert!(edited.contains("line 2 of the index is no row"), "{edited}");
        let headless = problem(|text| {
            text.split_once('\n').map_or_else(String::new, |(_, rest)| rest.to_owned())
        });
        assert!(headless.contains("the first line of the index is no header"), "{headless}");
        let gone = PhaserOptions::find(Some(Path::new("/nowhere/i.jsonl")), None);
        let gone = gone.expect_err("no file").to_string();
        assert!(gone.starts_with("cannot read the index `/nowhere/i.jsonl`: "), "{gone}");
    }
}
