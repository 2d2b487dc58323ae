//! Reads a value out of a task's JSON, as Python's `json.loads` would.
//!
//! Integers are exact at any length up to a hundred thousand digits, a number with a fraction or an
//! exponent is a float, and an escaped half of a surrogate pair is one. A key that stands twice is
//! refused, as everywhere in our files. The text comes from a task, so mistakes are for a person to
//! find: an error says where.

use super::int::{Int, MAX_DIGITS};
use super::{Flaw, MAX_BYTES, MAX_DEPTH, Text, Value, check};

/// Why a text is not a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not JSON.
    #[error("no JSON at byte {at}: expected {expected}")]
    Syntax {
        /// The offset.
        at: usize,
        /// The expected token.
        expected: &'static str,
    },
    /// Too long.
    #[error("{0} bytes are too many: a value has at most {MAX_BYTES}")]
    Long(usize),
    /// Too deep.
    #[error("more than {MAX_DEPTH} values inside one another at byte {0}")]
    Deep(usize),
    /// An integer of too many digits.
    #[error("the integer at byte {0} has more than {MAX_DIGITS} digits")]
    Digits(usize),
    /// A key stands twice.
    #[error(transparent)]
    Flaw(#[from] Flaw),
}

/// Reads one JSON value, which must be all of `text` but for blanks around it.
pub fn from_json(text: &str) -> Result<Value, JsonError> {
    if text.len() > MAX_BYTES {
        return Err(JsonError::Long(text.len()));
    }
    let mut reader = JsonReader { text, at: 0 };
    let value = reader.value(MAX_DEPTH)?;
    reader.blanks();
    if reader.at != text.len() {
        return Err(reader.expected("the end"));
    }
    check(&value)?;
    Ok(value)
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth == 0 => Err(JsonError::Deep(self.at)),
            Some(b'{') => self.object(depth - 1),
            Some(b'[') => self.array(depth - 1),
            Some(b'"') => Ok(Value::Str(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.word("null", Value::None),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            _ => Err(self.expected("a value")),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        if !self.closes(b']') {
            items.push(self.value(depth)?);
            while !self.closes(b']') {
                self.comma()?;
                items.push(self.value(depth)?);
            }
        }
        Ok(Value::List(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        if !self.closes(b'}') {
            items.push(self.pair(depth)?);
            while !self.closes(b'}') {
                self.comma()?;
                items.push(self.pair(depth)?);
            }
        }
        Ok(Value::Dict(items))
    }

    fn pair(&mut self, depth: usize) -> Result<(Value, Value), JsonError> {
        self.blanks();
        let key = Value::Str(self.string()?);
        self.blanks();
        if !self.eat(b':') {
            return Err(self.expected("`:`"));
        }
        Ok((key, self.value(depth)?))
    }

    fn string(&mut self) -> Result<Text, JsonError> {
        if !self.eat(b'"') {
            return Err(self.expected("a string"));
        }
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut bytes)?,
                Some(byte) if byte >= 0x20 => {
                    bytes.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.expected("the rest of a string")),
            }
        }
        self.at += 1;
        Text::from_bytes(bytes).ok_or_else(|| self.expected("a string of text"))
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        self.at += 1;
        let kind = self.peek();
        self.at += 1;
        out.push(match kind {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let unit = self.unit()?;
                self.unicode(unit, out);
                return Ok(());
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("an escape"));
            }
        });
        Ok(())
    }

    /// Writes a UTF-16 unit, joined with the next escape where the two are a pair.
    fn unicode(&mut self, unit: u16, out: &mut Vec<u8>) {
        let start = self.at;
        let low = match (unit, self.text.as_bytes().get(start..start + 2)) {
            (0xD800..=0xDBFF, Some(b"\\u")) => {
                self.at += 2;
                self.unit().ok().filter(|low| (0xDC00..=0xDFFF).contains(low))
            }
            _ => None,
        };
        if low.is_none() {
            self.at = start;
        }
        let units = [Some(unit), low].into_iter().flatten();
        for c in char::decode_utf16(units) {
            match c {
                Ok(c) => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                Err(lone) => {
                    let [high, low] = lone.unpaired_surrogate().to_be_bytes();
                    let middle = 0x80 | (high & 0x0F) << 2 | low >> 6;
                    out.extend([0xE0 | high >> 4, middle, 0x80 | low & 0x3F]);
                }
            }
        }
    }

    fn unit(&mut self) -> Result<u16, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let unit = digits.and_then(|digits| {
            digits.iter().try_fold(0, |unit: u16, digit| {
                let digit = char::from(*digit).to_digit(16)?;
                Some(unit << 4 | u16::try_from(digit).ok()?)
            })
        });
        let unit = unit.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        let negative = self.eat(b'-');
        let digits = self.digits()?;
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(JsonError::Syntax {
                at: start,
                expected: "a number without a zero before",
            });
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            whole = false;
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        if whole {
            let int = Int::from_decimal(negative, digits).ok_or(JsonError::Digits(start))?;
            return Ok(Value::Int(int));
        }
        let float = self.text[start..self.at].parse().map(Value::Float);
        float.map_err(|_| JsonError::Syntax { at: start, expected: "a number" })
    }

    fn digits(&mut self) -> Result<&'a str, JsonError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = &self.text[start..self.at];
        if digits.is_empty() { Err(self.expected("a digit")) } else { Ok(digits) }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected(word));
        }
        self.at += word.len();
        Ok(value)
    }

    fn comma(&mut self) -> Result<(), JsonError> {
        if self.eat(b',') { Ok(()) } else { Err(self.expected("`,` or the end of the list")) }
    }

    fn closes(&mut self, bracket: u8) -> bool {
        self.blanks();
        self.eat(bracket)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected(&self, expected: &'static str) -> JsonError {
        JsonError::Syntax { at: self.at, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, value: &Value) {
        assert_eq!(from_json(text).as_ref(), Ok(value), "{text}");
    }

    fn text(bytes: &[u8]) -> Value {
        Value::Str(Text::from_bytes(bytes.to_vec()).unwrap())
    }

    #[test]
    fn every_kind_of_value_is_read() {
        reads(" null ", &Value::None);
        reads("true", &Value::Bool(true));
        reads("-0", &Value::int(0));
        reads("-0.0", &Value::Float(-0.0));
        reads("1e2", &Value::Float(100.0));
        reads("1E400", &Value::Float(f64::INFINITY));
        reads("[]", &Value::List(vec![]));
        reads(
            "[1 , [false]]",
            &Value::List(vec![Value::int(1), Value::List(vec![Value::Bool(false)])]),
        );
        reads("{}", &Value::Dict(vec![]));
        reads("{ \"a\" : 1.5 }", &Value::Dict(vec![(Value::str("a"), Value::Float(1.5))]));
    }

    #[test]
    fn integers_are_exact_at_any_length() {
        let digits = "123456789".repeat(100);
        let int = Int::from_decimal(true, &digits).unwrap();
        reads(&format!("-{digits}"), &Value::Int(int));
        reads("9007199254740993", &Value::int(9_007_199_254_740_993));
        assert_eq!(from_json(&"9".repeat(MAX_DIGITS + 1)), Err(JsonError::Digits(0)));
    }

    #[test]
    fn escapes_are_what_python_reads() {
        reads(r#""\"\\\/\b\f\n\r\tß\u00df""#, &Value::str("\"\\/\x08\x0C\n\r\tßß"));
        reads(r#""\ud83d\ude00""#, &Value::str("😀"));
        reads(r#""\ud83d""#, &text(b"\xED\xA0\xBD"));
        reads(r#""\ude00\ud83dx""#, &text(b"\xED\xB8\x80\xED\xA0\xBDx"));
        reads(r#""\ud83d\ud83d\ude00""#, &text(b"\xED\xA0\xBD\xF0\x9F\x98\x80"));
        reads(r#""\ud83d\u0041""#, &text(b"\xED\xA0\xBDA"));
    }

    #[test]
    fn what_is_no_json_says_where() {
        let at = |text: &str| match from_json(text) {
            Err(JsonError::Syntax { at, .. }) => at,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(at(""), 0);
        assert_eq!(at("[1,]"), 3);
        assert_eq!(at("[1 2]"), 3);
        assert_eq!(at("{1:2}"), 1);
        assert_eq!(at("{\"a\" 1}"), 5);
        assert_eq!(at("1 2"), 2);
        assert_eq!(at("01"), 0);
        assert_eq!(at("-"), 1);
        assert_eq!(at("1."), 2);
        assert_eq!(at("1e"), 2);
        assert_eq!(at("nul"), 0);
        assert_eq!(at("NaN"), 0);
        assert_eq!(at("\"\n\""), 1);
        assert_eq!(at("\"a"), 2);
        assert_eq!(at("\"\\x\""), 2);
        assert_eq!(at("\"\\u12g4\""), 3);
        assert_eq!(at("\"\\u123ß\""), 3);
        assert_eq!(at("\"\\ud83d\\u12\""), 9);
    }

    #[test]
    fn depth_and_length_end_and_a_key_stands_once() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(from_json(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(from_json(&nested(MAX_DEPTH + 1)), Err(JsonError::Deep(MAX_DEPTH)));
        let long = format!("\"{}\"", "a".repeat(MAX_BYTES));
        assert_eq!(from_json(&long), Err(JsonError::Long(MAX_BYTES + 2)));
        assert_eq!(from_json(r#"{"a":1,"\u0061":2}"#), Err(JsonError::Flaw(Flaw::Twice)));
    }
}
