//! Conversations as files of others have them.

use serde::Deserialize;
use whetstone_core::message::{Message, Role};

use super::problem::FormProblem;

/// Messages of one side, or of a prompt: at most so many.
const MAX_MESSAGES: usize = 1000;

/// How a turn of a person begins in a transcript.
const HUMAN: &str = "\n\nHuman:";
/// How a turn of the model begins in a transcript.
const ASSISTANT: &str = "\n\nAssistant:";

/// A message in either of the two usual forms; further fields are not looked at.
#[derive(Debug, Deserialize)]
pub(super) struct RawMessage {
    role: Option<String>,
    from: Option<String>,
    content: Option<String>,
    value: Option<String>,
}

/// The messages of a column.
pub(super) fn messages(
    column: &'static str,
    raw: Vec<RawMessage>,
) -> Result<Vec<Message>, FormProblem> {
    if raw.len() > MAX_MESSAGES {
        let problem = format!("{} messages, more than {MAX_MESSAGES}", raw.len());
        return Err(FormProblem::column(column, problem));
    }
    raw.into_iter().map(|message| message.read(column)).collect()
}

/// The messages of a transcript `\n\nHuman: … \n\nAssistant: …`; `None` if it is not one.
pub(super) fn transcript(text: &str) -> Option<Vec<Message>> {
    let mut rest = text.trim_start();
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let (role, said) = [(Role::User, HUMAN), (Role::Assistant, ASSISTANT)]
            .into_iter()
            .find_map(|(role, mark)| Some((role, rest.strip_prefix(mark.trim_start())?)))?;
        let end = [HUMAN, ASSISTANT].iter().filter_map(|mark| said.find(mark)).min();
        let (said, after) = said.split_at(end.unwrap_or(said.len()));
        messages.push(Message { role, content: said.trim().to_owned() });
        rest = after.trim_start();
    }
    (messages.len() <= MAX_MESSAGES).then_some(messages)
}

impl RawMessage {
    fn read(self, column: &'static str) -> Result<Message, FormProblem> {
        let name = self.role.or(self.from).unwrap_or_default();
        let role = match name.as_str() {
            "system" => Role::System,
            "user" | "human" => Role::User,
            "assistant" | "gpt" | "model" => Role::Assistant,
            _ => {
                let name: String = name.chars().take(40).filter(|c| !c.is_control()).collect();
                return Err(FormProblem::column(column, format!("the role `{name}` is not known")));
            }
        };
        let content = self.content.or(self.value).unwrap_or_default();
        Ok(Message { role, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_read_turn_by_turn() {
        let text = "\n\nHuman: a\n\nb\n\nAssistant: c\n\nHuman: d\n\nAssistant:";
        let expected = [
            Message::user("a\n\nb"),
            Message::assistant("c"),
            Message::user("d"),
            Message::assistant(""),
        ];
        assert_eq!(transcript(text).unwrap(), expected);
        assert_eq!(transcript("no transcript"), None);
        assert_eq!(transcript(""), Some(Vec::new()));
    }
}
