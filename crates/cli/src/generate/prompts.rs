//! Prompts: their sources, templates and tokens.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use whetstone_core::Message;
use whetstone_model::Pretrained;
use whetstone_model::template::Options;

use super::args::GenerateArgs;
use crate::model::ModelFailure;

/// Upper limit for a file of prompts.
const LIMIT_BYTES: u64 = 64 << 20;

/// A prompt as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) text: String,
    /// For messages: `the prompt`, or its file and line.
    pub(super) place: String,
}

/// A prompt as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) tokens: Vec<u32>,
    pub(super) place: String,
}

/// The prompts that the command line asks for.
pub(super) fn gather(args: &GenerateArgs) -> Result<Vec<Given>, ModelFailure> {
    if let Some(text) = &args.prompt {
        return Ok(vec![Given { text: text.clone(), place: "the prompt".to_owned() }]);
    }
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
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
pub(super) fn render(
    args: &GenerateArgs,
    model: &Pretrained,
    limit: usize,
    given: Given,
) -> Result<Rendered, ModelFailure> {
    let Given { text, place } = given;
    let text = if args.chat { chat(args, model, text)? } else { text };
    let tokens = model.tokenizer.encode(&text)?;
    if tokens.is_empty() {
        return Err(ModelFailure::Empty { place });
    }
    if tokens.len() >= limit {
        return Err(ModelFailure::TooLong { place, tokens: tokens.len(), limit });
    }
    Ok(Rendered { text, tokens, place })
}

fn chat(args: &GenerateArgs, model: &Pretrained, text: String) -> Result<String, ModelFailure> {
    let template = model
        .template
        .as_ref()
        .ok_or_else(|| ModelFailure::NoTemplate { model: args.model.clone().into() })?;
    let system = args.system.iter().map(|text| Message::system(text.clone()));
    let messages: Vec<Message> = system.chain([Message::user(text)]).collect();
    let options = Options { enable_thinking: args.enable_thinking, ..Options::prompt() };
    Ok(template.render(&messages, &options)?)
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
