//! Why a chat template gives no text.

use std::io;
use std::path::PathBuf;

/// Why a chat template gives no text.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The system could not read it.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// It is not a valid template.
    #[error("the chat template of `{}` cannot be used: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// It failed on a conversation.
    #[error("the chat template of `{}` failed on a conversation: {problem}", path.display())]
    Render {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// It refused a conversation itself.
    #[error("the chat template of `{}` refuses the conversation: {message}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The template's own words.
        message: String,
    },
}
