//! Prompts of a completion: their files, templates and tokens.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use whetstone_core::Message;
use whetstone_model::Pretrained;
use whetstone_model::template::Options;

use crate::model_failure::ModelFailure;

/// Upper limit for a file of prompts.
const LIMIT_BYTES: u64 = 64 << 20;

/// A prompt as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its text.
    pub text: String,
    /// For messages: `the prompt`, or its file and line.
    pub place: String,
}

/// A prompt as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its text.
    pub text: String,
    /// The tokens of the text.
    pub tokens: Vec<u32>,
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
    Given { text: text.to_owned(), place: "the prompt".to_owned() }
}

/// The prompts of a file, one a line; `-` is standard input.
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

/// One prompt a line; blank lines are skipped.
fn lines(name: &str, bytes: Vec<u8>) -> Result<Vec<Given>, ModelFailure> {
    let text = String::from_utf8(bytes).map_err(|err| {
        let good = err.utf8_error().valid_up_to();
        let line = err.as_bytes()[..good].split(|&byte| byte == b'\n').count();
        ModelFailure::NotText { place: format!("{name}, line {line}") }
    })?;
    let numbered = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let given = |(number, line): (usize, &str)| Given {
        text: line.to_owned(),
        place: format!("{name}, line {number}"),
    };
    Ok(numbered.map(given).collect())
}

/// Puts the template around a prompt if it is a chat, and turns it into fewer than `limit` tokens.
pub(crate) fn render(
    model: &Pretrained,
    chat: Option<&Chat>,
    limit: usize,
    given: Given,
) -> Result<Rendered, ModelFailure> {
    let Given { text, place } = given;
    let text = chat.map_or_else(|| Ok(text.clone()), |chat| chat.render(model, &text))?;
    let tokens = model.tokenizer.encode(&text)?;
    if tokens.is_empty() {
        return Err(ModelFailure::Empty { place });
    }
    if tokens.len() >= limit {
        return Err(ModelFailure::TooLong { place, tokens: tokens.len(), limit });
    }
    Ok(Rendered { text, tokens, place })
}

impl Chat {
    fn render(&self, model: &Pretrained, text: &str) -> Result<String, ModelFailure> {
        let template = model
            .template
            .as_ref()
            .ok_or_else(|| ModelFailure::NoTemplate { model: self.model.clone().into() })?;
        let system = self.system.iter().map(|text| Message::system(text.clone()));
        let messages: Vec<Message> = system.chain([Message::user(text)]).collect();
        let options = Options { enable_thinking: self.enable_thinking, ..Options::prompt() };
        Ok(template.render(&messages, &options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_prompt_and_a_blank_line_is_none() {
        let found = lines("`p`", b"one\n\n  \ntwo  \r\nthree".to_vec()).unwrap();
        let texts: Vec<(&str, &str)> =
            found.iter().map(|prompt| (prompt.text.as_str(), prompt.place.as_str())).collect();
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
