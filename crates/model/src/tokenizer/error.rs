//! Why a tokenizer cannot be used, or did not work.

use std::io;
use std::path::PathBuf;

/// Why a tokenizer cannot be used, or did not work.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The system could not read it.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file does not describe a tokenizer that we can run.
    #[error("the tokenizer of `{}` cannot be used: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// More tokens than the embedding has rows.
    #[error("the tokenizer of `{}` has token {last}, the embedding only {rows} rows", path.display())]
    Embedding {
        /// The tokenizer's file.
        path: PathBuf,
        /// The largest id.
        last: u32,
        /// Rows of the embedding.
        rows: usize,
    },
    /// A text could not be turned into tokens.
    #[error("cannot tokenize a text: {0}")]
    Encode(String),
    /// Tokens could not be turned into text.
    #[error("cannot decode tokens: {0}")]
    Decode(String),
}
