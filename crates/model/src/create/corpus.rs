//! The texts that a tokenizer is trained on.
//!
//! A trace is read as in SFT: the prompt, and the response in its canonical layout. The chat
//! template around them is not part of it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use whetstone_core::extract::{Form, Response};
use whetstone_core::jsonl::{LineError, Records};
use whetstone_core::wire::{Object, Wire, WireError};

use crate::tokenizer::{Tokenizer, TokenizerError, Trainer};

/// Names of files that hold plain text end so.
const PLAIN: [&str; 3] = ["txt", "md", "py"];

/// The texts of one line of a corpus, or of a file of plain text.
#[derive(Debug, Clone, PartialEq)]
pub struct CorpusLine {
    texts: Vec<String>,
    object: Object,
}

/// The lengths of a corpus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Bytes of all texts.
    pub bytes: usize,
    /// Tokens of all texts.
    pub tokens: usize,
    /// Tokens of the longest line.
    pub longest_tokens: usize,
}

/// Why a corpus cannot be learnt from.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A file of plain text cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A file of plain text is none.
    #[error("{place} is not UTF-8")]
    NotText {
        /// The file and the line.
        place: String,
    },
    /// There are no texts.
    #[error("the corpus has no text")]
    Empty,
}

/// The roles in a chat: one token each, if a line stands for a chat.
const ROLES: [&str; 2] = ["user", "assistant"];

/// Trains a tokenizer on every line, and on the roles of the messages that it will be.
///
/// # Errors
///
/// If a text cannot be taken, or `size` is too small.
pub fn train(lines: &[CorpusLine], size: usize) -> Result<Tokenizer, TokenizerError> {
    let mut trainer = Trainer::new()?;
    for line in lines {
        for text in line.texts.iter().map(String::as_str).chain(ROLES) {
            trainer.add(text)?;
        }
    }
    trainer.train(size)
}

/// Measures the lines of a corpus in tokens.
///
/// # Errors
///
/// If a text cannot be encoded.
pub fn measure(lines: &[CorpusLine], tokenizer: &Tokenizer) -> Result<Lengths, TokenizerError> {
    let mut lengths = Lengths::default();
    for line in lines {
        let mut tokens = 0;
        for text in &line.texts {
            lengths.bytes += text.len();
            tokens += tokenizer.encode(text)?.len();
        }
        lengths.tokens += tokens;
        lengths.longest_tokens = lengths.longest_tokens.max(tokens);
    }
    Ok(lengths)
}

/// Reads all files, in their order.
///
/// # Errors
///
/// If a file cannot be read, a line is not a JSON object with text, or there is no text at all.
pub fn read(files: &[PathBuf]) -> Result<Vec<CorpusLine>, CorpusError> {
    let mut lines = Vec::new();
    for file in files {
        let extension = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if PLAIN.contains(&extension) {
            lines.push(plain(file)?);
            continue;
        }
        for line in Records::<CorpusLine, _>::open(file)? {
            lines.push(line?.record);
        }
    }
    let texts = lines.iter().flat_map(|line| &line.texts);
    if texts.into_iter().all(|text| text.trim().is_empty()) {
        return Err(CorpusError::Empty);
    }
    Ok(lines)
}

fn plain(path: &Path) -> Result<CorpusLine, CorpusError> {
    let bytes =
        fs::read(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8(bytes).map_err(|err| {
        let good = err.utf8_error().valid_up_to();
        let line = err.as_bytes()[..good].split(|&byte| byte == b'\n').count();
        CorpusError::NotText { place: format!("{}:{line}", path.display()) }
    })?;
    Ok(CorpusLine { texts: vec![text], object: Object::new() })
}

impl Wire for CorpusLine {
    const NOUN: &'static str = "line of text";

    fn from_object(object: Object) -> Result<Self, WireError> {
        let texts = texts(&object)?;
        if texts.is_empty() {
            return Err(WireError::Missing("text"));
        }
        Ok(Self { texts, object })
    }

    fn to_object(&self) -> Object {
        self.object.clone()
    }
}

fn texts(object: &Object) -> Result<Vec<String>, WireError> {
    let strings = object.fields().filter(|(_, raw)| raw.starts_with('"'));
    let all: Vec<(&str, String)> =
        strings.map(|(key, raw)| Ok((key, string(key, raw)?))).collect::<Result<_, _>>()?;
    let field = |name| all.iter().find(|(key, _)| *key == name).map(|(_, text)| text.as_str());
    match (field("prompt"), field("code"), field("text")) {
        (Some(prompt), Some(code), Some(text)) => {
            let thinking = field("thinking").unwrap_or_default();
            let response = Response::new(Form::ThinkPython, thinking, code);
            let reply = response.map_or_else(|_| text.to_owned(), |response| response.render());
            Ok(vec![prompt.to_owned(), reply])
        }
        _ => Ok(all.into_iter().map(|(_, text)| text).collect()),
    }
}

fn string(key: &str, raw: &str) -> Result<String, WireError> {
    serde_json::from_str(raw).map_err(|_| WireError::Field {
        field: "text",
        problem: format!("the value of {key:?} is no Unicode text"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(json: &str) -> Result<Vec<String>, WireError> {
        let object = serde_json::from_str(json).expect("test data is JSON");
        CorpusLine::from_object(object).map(|line| line.texts)
    }

    #[test]
    fn a_trace_is_its_prompt_and_the_response_that_is_trained_on() {
        let trace = r#"{"v":1,"task_id":"x","prompt":"Add.","thinking":" So. ","code":"x = 1",
                        "text":"Sure! x = 1","model":"m"}"#;
        let response = "<think>\nSo.\n</think>\n\n```python\nx = 1\n```\n";
        assert_eq!(line(trace).unwrap(), ["Add.", response]);
    }

    #[test]
    fn a_trace_that_cannot_be_laid_out_is_its_reply() {
        let blank = r#"{"prompt":"Add.","thinking":null,"code":" ","text":"No."}"#;
        assert_eq!(line(blank).unwrap(), ["Add.", "No."]);
        let none = r#"{"prompt":"Add.","code":null,"text":"No.","model":"m"}"#;
        assert_eq!(line(none).unwrap(), ["Add.", "No.", "m"]);
    }

    #[test]
    fn of_any_other_object_every_text_is_taken() {
        assert_eq!(line(r#"{"a":"x","n":1,"b":"\u00e9\n","c":["y"]}"#).unwrap(), ["x", "é\n"]);
        assert_eq!(line(r#"{"n":1}"#).unwrap_err(), WireError::Missing("text"));
        let err = line(r#"{"a":"\ud800"}"#).unwrap_err().to_string();
        assert!(err.contains(r#"the value of "a" is no Unicode text"#), "{err}");
    }
}
