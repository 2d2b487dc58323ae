//! The texts that a tokenizer is trained on.
//!
//! A trace is read as in SFT: the prompt, and the response in its canonical layout. The chat
//! template around them is not part of it.

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_core::extract::{Form, Response};
use whetstone_core::jsonl::Records;
use whetstone_core::wire::{Object, Wire, WireError};

use crate::model::ModelFailure;

/// Names of files that hold plain text end so.
const PLAIN: [&str; 3] = ["txt", "md", "py"];

/// The texts of one line of a corpus, or of a file of plain text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) texts: Vec<String>,
    object: Object,
}

/// Reads all files, in their order.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Line>, ModelFailure> {
    let mut lines = Vec::new();
    for file in files {
        let extension = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if PLAIN.contains(&extension) {
            lines.push(plain(file)?);
            continue;
        }
        for line in Records::<Line, _>::open(file)? {
            lines.push(line?.record);
        }
    }
    let texts = lines.iter().flat_map(|line| &line.texts);
    if texts.into_iter().all(|text| text.trim().is_empty()) {
        return Err(ModelFailure::NoCorpus);
    }
    Ok(lines)
}

fn plain(path: &Path) -> Result<Line, ModelFailure> {
    let bytes =
        fs::read(path).map_err(|source| ModelFailure::Text { path: path.to_owned(), source })?;
    let text = String::from_utf8(bytes).map_err(|err| {
        let good = err.utf8_error().valid_up_to();
        let line = err.as_bytes()[..good].split(|&byte| byte == b'\n').count();
        ModelFailure::NotText { place: format!("{}:{line}", path.display()) }
    })?;
    Ok(Line { texts: vec![text], object: Object::new() })
}

impl Wire for Line {
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
        Line::from_object(object).map(|line| line.texts)
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
