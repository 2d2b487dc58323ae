//! Prompts of a completion: their files, templates and tokens.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use whetstone_core::message::{Message, Role};
use whetstone_core::wire::Object;
use whetstone_core::with_causes;
use whetstone_model::Pretrained;
use whetstone_model::template::Options;

use crate::model_failure::ModelFailure;
use crate::prompt_lines;

/// Upper limit for a file of prompts.
const LIMIT_BYTES: u64 = 64 << 20;

/// A prompt as it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// What is to be completed.
    pub asked: Asked,
    /// For messages: `the prompt`, or its file and line.
    pub place: String,
    /// All fields of its line, if it is one of JSON Lines.
    pub fields: Option<Object>,
}

/// What is to be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A text; a user's message if the template is applied.
    Text(String),
    /// A conversation. If its last message is the model's, the model continues that.
    Messages(Vec<Message>),
}

/// A prompt as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its text.
    pub text: String,
    /// The tokens of the text.
    pub tokens: Vec<u32>,
    /// The beginning of the answer, which stands at the end of the text; mostly empty.
    pub begun: String,
    /// As of [`Given`].
    pub place: String,
}

/// How a prompt becomes a chat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chat {
    /// The model's name, for messages.
    pub model: String,
    /// The system message.
    pub system: Option<String>,
    /// Value of `enable_thinking` for the chat template.
    pub enable_thinking: Option<bool>,
}

/// A prompt that was typed.
pub fn typed(text: &str) -> Given {
    Given { asked: Asked::Text(text.to_owned()), place: "the prompt".to_owned(), fields: None }
}

/// The prompts of a file, one a line, or as JSON Lines; `-` is standard input.
///
/// # Errors
///
/// If it cannot be read, or has no prompts.
pub fn of_file(path: &Path) -> Result<Vec<Given>, ModelFailure> {
    let name = if path == Path::new("-") { "standard input".to_owned() } else { shown(path) };
    let bytes =
        read(path).map_err(|source| ModelFailure::Prompts { name: name.clone(), source })?;
    let prompts = lines(&name, bytes)?;
    if prompts.is_empty() {
        return Err(ModelFailure::NoPrompts { name });
    }
    Ok(prompts)
}

fn shown(path: &Path) -> String {
    format!("`{}`", path.display())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let source: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    source.take(LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MiB of prompts"));
    }
    Ok(bytes)
}

/// One prompt or object a line; blank lines are skipped.
fn lines(name: &str, bytes: Vec<u8>) -> Result<Vec<Given>, ModelFailure> {
    let text = String::from_utf8(bytes).map_err(|err| {
        let good = err.utf8_error().valid_up_to();
        let line = err.as_bytes()[..good].split(|&byte| byte == b'\n').count();
        ModelFailure::NotText { place: format!("{name}, line {line}") }
    })?;
    let numbered = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let is_json = prompt_lines::is_json_lines(&text);
    let given = |(number, line): (usize, &str)| {
        let place = format!("{name}, line {number}");
        if is_json {
            return prompt_lines::given(line, place);
        }
        Ok(Given { asked: Asked::Text(line.to_owned()), place, fields: None })
    };
    numbered.map(given).collect()
}

/// Puts the template around a prompt if it is a chat, and turns it into fewer than `limit` tokens.
pub(crate) fn render(
    model: &Pretrained,
    chat: Option<&Chat>,
    limit: usize,
    given: Given,
) -> Result<Rendered, ModelFailure> {
    let Given { asked, place, fields } = given;
    let prompt = prompt_text(model, chat, asked).map_err(|err| match err {
        // The text of one line may be refused, and that of another not.
        ModelFailure::Template(err) if fields.is_some() => {
            ModelFailure::PromptLine { place: place.clone(), problem: with_causes(&err) }
        }
        err => err,
    });
    let PromptText { text, begun } = prompt?;
    let tokens = model.tokenizer.encode(&text)?;
    if tokens.is_empty() {
        return Err(ModelFailure::Empty { place });
    }
    if tokens.len() >= limit {
        return Err(ModelFailure::TooLong { place, tokens: tokens.len(), limit });
    }
    Ok(Rendered { text, tokens, begun, place })
}

/// A prompt's text, and the beginning of the answer at its end.
struct PromptText {
    text: String,
    begun: String,
}

fn prompt_text(
    model: &Pretrained,
    chat: Option<&Chat>,
    asked: Asked,
) -> Result<PromptText, ModelFailure> {
    let (mut messages, chat) = match (asked, chat) {
        (Asked::Text(text), None) => return Ok(PromptText { text, begun: String::new() }),
        (Asked::Text(text), Some(chat)) => (vec![Message::user(text)], chat.clone()),
        (Asked::Messages(messages), Some(chat)) => (messages, chat.clone()),
        (Asked::Messages(messages), None) => {
            (messages, Chat { model: model.path.display().to_string(), ..Chat::default() })
        }
    };
    let begun = match messages.last() {
        Some(last) if last.role == Role::Assistant => messages.pop(),
        _ => None,
    };
    let begun = begun.map(|message| message.content).unwrap_or_default();
    let text = chat.render(model, messages)?;
    Ok(PromptText { text: text + &begun, begun })
}

impl Chat {
    fn render(&self, model: &Pretrained, asked: Vec<Message>) -> Result<String, ModelFailure> {
        let template = model
            .template
            .as_ref()
            .ok_or_else(|| ModelFailure::NoTemplate { model: self.model.clone().into() })?;
        let has_system = asked.first().is_some_and(|first| first.role == Role::System);
        let system = self.system.iter().filter(|_| !has_system);
        let system = system.map(|text| Message::system(text.clone()));
        let messages: Vec<Message> = system.chain(asked).collect();
        let options = Options { enable_thinking: self.enable_thinking, ..Options::prompt() };
        Ok(template.render(&messages, &options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(asked: &Asked) -> &str {
        let Asked::Text(text) = asked else { panic!("a text: {asked:?}") };
        text
    }

    #[test]
    fn json_lines_are_read_as_such_and_a_bad_one_is_named() {
        let found = lines("`p`", b"\n{\"prompt\": \"a\\nb\"}\n\n".to_vec()).unwrap();
        assert_eq!((text(&found[0].asked), found[0].place.as_str()), ("a\nb", "`p`, line 2"));
        let err = lines("`p`", b"{\"prompt\": \"a\"}\nplain\n".to_vec()).unwrap_err();
        assert!(err.to_string().starts_with("`p`, line 2: "), "{err}");
    }

    #[test]
    fn a_line_is_a_prompt_and_a_blank_line_is_none() {
        let found = lines("`p`", b"one\n\n  \ntwo  \r\nthree".to_vec()).unwrap();
        let texts: Vec<(&str, &str)> =
            found.iter().map(|prompt| (text(&prompt.asked), prompt.place.as_str())).collect();
        assert_eq!(
            texts,
            [("one", "`p`, line 1"), ("two  ", "`p`, line 4"), ("three", "`p`, line 5")]
        );
    }

    #[test]
    fn a_line_that_is_no_text_is_named() {
        let err = lines("`p`", b"one\ntw\xff\n".to_vec()).unwrap_err();
        assert_eq!(err.to_string(), "`p`, line 2 is not UTF-8");
    }
}
