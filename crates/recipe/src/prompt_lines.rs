//! Prompts in JSON Lines: an object a line with `prompt` or `messages`, whose other fields pass through.

use whetstone_core::message::{Message, Role};
use whetstone_core::wire::{Object, WireError};

use crate::model_failure::ModelFailure;
use crate::prompts::{Asked, Given};

/// The field that answers are written to.
pub const COMPLETIONS: &str = "completions";

/// Whether a text is JSON Lines: its first line that is not blank begins with `{`.
pub(crate) fn is_json_lines(text: &str) -> bool {
    text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{')
}

/// The prompt of a line.
pub(crate) fn given(line: &str, place: String) -> Result<Given, ModelFailure> {
    match read(line.trim_start_matches('\u{feff}')) {
        Ok((asked, fields)) => Ok(Given { asked, place, fields: Some(fields) }),
        Err(problem) => Err(ModelFailure::PromptLine { place, problem }),
    }
}

fn read(line: &str) -> Result<(Asked, Object), String> {
    let fields: Object = serde_json::from_str(line).map_err(|err| err.to_string())?;
    if fields.get(COMPLETIONS).is_some() {
        return Err(format!("field `{COMPLETIONS}` is what the answers are written to: rename it"));
    }
    // What is asked passes through as well.
    let mut known = fields.clone();
    let said = |err: WireError| err.to_string();
    let prompt: Option<String> = known.take("prompt").map_err(said)?;
    let messages: Option<Vec<Message>> = known.take("messages").map_err(said)?;
    let asked = match (prompt, messages) {
        (Some(text), None) => Asked::Text(text),
        (None, Some(messages)) => Asked::Messages(checked(messages)?),
        (Some(_), Some(_)) => return Err("it has both `prompt` and `messages`".to_owned()),
        (None, None) => return Err("it has neither `prompt` nor `messages`".to_owned()),
    };
    Ok((asked, fields))
}

/// A conversation in which somebody asks something.
fn checked(messages: Vec<Message>) -> Result<Vec<Message>, String> {
    if messages.iter().any(|message| message.role == Role::User) {
        return Ok(messages);
    }
    Err("field `messages`: nobody asks anything: no message is of the role `user`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_is_not_blank_decides() {
        assert!(is_json_lines("\n  \r\n {\"prompt\": \"a\"}\n"));
        assert!(is_json_lines("\u{feff}{}"));
        assert!(!is_json_lines("say {\n{}"));
        assert!(!is_json_lines(""));
    }

    #[test]
    fn a_line_asks_by_a_prompt_or_by_messages_and_keeps_its_fields() {
        let line = r#"{"id": 1.50, "prompt": "a\nb", "task": {"x": []}}"#;
        let Given { asked, fields, .. } = given(line, "here".to_owned()).unwrap();
        assert_eq!(asked, Asked::Text("a\nb".to_owned()));
        let fields = fields.unwrap();
        let kept: Vec<(&str, &str)> = fields.fields().collect();
        assert_eq!(kept, [("id", "1.50"), ("prompt", r#""a\nb""#), ("task", r#"{"x": []}"#)]);
        let line = r#"{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}"#;
        let expected = Asked::Messages(vec![Message::user("q"), Message::assistant("a")]);
        assert_eq!(given(line, String::new()).unwrap().asked, expected);
    }

    #[track_caller]
    fn check(line: &str, problem: &str) {
        let err = given(line, "`p.jsonl`, line 3".to_owned()).unwrap_err().to_string();
        assert!(err.starts_with("`p.jsonl`, line 3: ") && err.contains(problem), "{err}");
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said_with_its_place() {
        check(r#"{"prompt": "a""#, "EOF while parsing");
        check("plain text", "expected");
        check(r#"["prompt"]"#, "expected");
        check(r#"{"text": "a"}"#, "neither `prompt` nor `messages`");
        check(r#"{"prompt": "a", "messages": []}"#, "both `prompt` and `messages`");
        check(r#"{"prompt": 7}"#, "field `prompt`");
        check(r#"{"messages": [{"role": "judge", "content": ""}]}"#, "unknown variant `judge`");
        check(r#"{"messages": []}"#, "nobody asks anything");
        check(r#"{"prompt": "a", "completions": []}"#, "field `completions`");
    }
}
