//! One message of a conversation, in the form that chat templates and servers expect.

use serde::{Deserialize, Serialize};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    pub content: String,
}

/// The author of a message. Only the assistant's tokens are trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The task, or the environment's answer to a turn.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl Message {
    /// Standing instructions.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// The task, or the environment's answer to a turn.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_chat_servers_read_it() {
        let json = serde_json::to_string(&Message::user("hi")).unwrap();
        assert_eq!(json, r#"{"role":"user","content":"hi"}"#);
    }

    #[test]
    fn an_unknown_role_is_refused() {
        let err = serde_json::from_str::<Message>(r#"{"role":"judge","content":""}"#).unwrap_err();
        assert!(err.to_string().contains("unknown variant `judge`"), "{err}");
    }
}
