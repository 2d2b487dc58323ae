//! Why a prompt cannot be made.

/// A template cannot be used, or refuses a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// No template has that name.
    #[error("`{name}` is no prompt: expected {}, `auto`, or the path of a template file", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The built-in ones.
        known: Vec<String>,
    },
    /// The template is no valid minijinja.
    #[error("the prompt's template cannot be read: {problem}")]
    Syntax {
        /// The parser's message.
        problem: String,
    },
    /// The template fails while it is rendered.
    #[error("the prompt's template fails: {problem}")]
    Render {
        /// The engine's message.
        problem: String,
    },
    /// The template never shows the problem.
    #[error("the prompt's template does not show the problem: it has to use `{{{{ statement }}}}`")]
    NoStatement,
    /// The template is longer than any prompt.
    #[error("the prompt's template has {bytes} bytes; at most {limit} are allowed")]
    TooLong {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}
