//! Why a configuration cannot be used.

use std::io;
use std::path::PathBuf;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The system could not read it.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Not a JSON object.
    #[error("`{}` is not a JSON object: {problem}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The parser's message.
        problem: String,
    },
    /// A model of another kind.
    #[error("`{}` has an unsupported architecture: {found}; supported are Llama, Qwen2 and Qwen3", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// The model type in the file.
        found: String,
    },
    /// Keys with wrong or unsupported values: all of them.
    #[error("`{}`: {}", path.display(), problems.join("; "))]
    Keys {
        /// The file.
        path: PathBuf,
        /// One sentence for each, with the key.
        problems: Vec<String>,
    },
}
