//! What is wrong with a row that is not a pair.

use whetstone_core::wire::WireError;

/// Why a row is not a pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormProblem {
    /// The row cannot be read.
    #[error("{0}")]
    NotARow(String),
    /// A column is missing, or holds something else than it should.
    #[error(transparent)]
    Column(#[from] WireError),
    /// There is no prompt.
    #[error(
        "there is no prompt: neither a column `prompt` nor a conversation that both sides begin with"
    )]
    NoPrompt,
    /// The two sides answer different conversations.
    #[error("`chosen` and `rejected` do not answer the same conversation")]
    MixedPrompts,
    /// A side does not end with one reply of the assistant.
    #[error("`{0}` does not end with one message of the assistant")]
    NoReply(&'static str),
    /// A side is empty.
    #[error("`{0}` is empty")]
    Empty(&'static str),
    /// Both sides are the same text.
    #[error("`chosen` and `rejected` are the same text")]
    Equal,
}

impl FormProblem {
    pub(super) fn column(field: &'static str, problem: String) -> Self {
        Self::Column(WireError::Field { field, problem })
    }

    /// The reason's name in counts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotARow(_) | Self::Column(_) => "bad_row",
            Self::NoPrompt => "no_prompt",
            Self::MixedPrompts => "mixed_prompts",
            Self::NoReply(_) => "no_reply",
            Self::Empty(_) => "empty_side",
            Self::Equal => "equal_texts",
        }
    }
}
