//! A line that scoring set aside: where it stood, why, and the line itself.
//!
//! A line of `OUT.rejected.jsonl`:
//!
//! ```json
//! {"line":3,"reason":"not a rollout: field `text` is missing","text":"{\"step\":0,\"prompt_id\":\"x/1\"}"}
//! ```
//!
//! `text` is the line as it stood; a line that is not UTF-8 has its bytes as `hex` instead.

use crate::wire::{Object, Wire, WireError};

/// Every field of the line.
const FIELDS: &str = "`line`, `reason`, `text` and `hex`";

/// A line that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedLine {
    /// Its number in its file, counted from 1.
    pub line: u64,
    /// The problem with it.
    pub reason: String,
    /// The line.
    pub content: RejectedContent,
}

/// The bytes of a line that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RejectedContent {
    /// They are text.
    Text(String),
    /// They are not; two hexadecimal digits a byte.
    Hex(String),
}

impl RejectedLine {
    /// A line with its bytes.
    pub fn new(line: u64, reason: &str, bytes: &[u8]) -> Self {
        let content = match std::str::from_utf8(bytes) {
            Ok(text) => RejectedContent::Text(text.to_owned()),
            Err(_) => RejectedContent::Hex(hex(bytes)),
        };
        Self { line, reason: reason.to_owned(), content }
    }
}

impl Wire for RejectedLine {
    const NOUN: &'static str = "rejected line";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        let (line, reason) = (object.require("line")?, object.require("reason")?);
        let content = match (object.take("text")?, object.take("hex")?) {
            (Some(text), None) => RejectedContent::Text(text),
            (None, Some(hex)) => RejectedContent::Hex(hex),
            (None, None) => return Err(WireError::Missing("text")),
            (Some(_), Some(_)) => {
                let problem = "a line has `text` or `hex`, not both".to_owned();
                return Err(WireError::Field { field: "hex", problem });
            }
        };
        if let Some((field, _)) = object.fields().next() {
            return Err(WireError::Unknown { field: field.to_owned(), known: FIELDS });
        }
        Ok(Self { line, reason, content })
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("line", &self.line);
        object.put("reason", &self.reason);
        match &self.content {
            RejectedContent::Text(text) => object.put("text", text),
            RejectedContent::Hex(hex) => object.put("hex", hex),
        }
        object
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RejectedLine, WireError> {
        RejectedLine::from_object(serde_json::from_str(text).expect("test data is JSON"))
    }

    #[test]
    fn text_stands_as_it_was_and_other_bytes_in_hexadecimal() {
        let text = RejectedLine::new(3, "no", b"{\"a\":1}");
        assert_eq!(text.to_line(), r#"{"line":3,"reason":"no","text":"{\"a\":1}"}"#);
        let bytes = RejectedLine::new(4, "no", b"\xffa");
        assert_eq!(bytes.to_line(), r#"{"line":4,"reason":"no","hex":"ff61"}"#);
        for line in [text, bytes] {
            assert_eq!(parse(&line.to_line()).unwrap(), line);
        }
    }

    #[test]
    fn a_line_without_its_bytes_or_with_other_fields_is_refused() {
        let refused = |text, problem| assert_eq!(parse(text).unwrap_err().to_string(), problem);
        refused(r#"{"line":3,"reason":"no"}"#, "field `text` is missing");
        refused(
            r#"{"line":3,"reason":"no","text":"a","hex":"61"}"#,
            "field `hex`: a line has `text` or `hex`, not both",
        );
        refused(
            r#"{"line":3,"reason":"no","text":"a","n":1}"#,
            "field `n` is not known; the fields are `line`, `reason`, `text` and `hex`",
        );
    }
}
