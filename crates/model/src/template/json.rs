//! `tojson` as transformers defines it: Python's `json.dumps(x, ensure_ascii=False)`.
//!
//! minijinja's own filter escapes `<`, `>`, `&` and `'` for HTML, which a prompt is not. Python
//! writes a space after commas and colons, and formats floats in its own way.

use std::io::{self, Write};

use minijinja::value::{Kwargs, Value as Template};
use minijinja::{Error, ErrorKind};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter};

/// The filter: `value | tojson(ensure_ascii, indent, separators, sort_keys)`.
#[expect(clippy::needless_pass_by_value, reason = "a filter is given its options by value")]
pub(super) fn tojson(value: &Template, options: Kwargs) -> Result<String, Error> {
    let ascii: Option<bool> = options.get("ensure_ascii")?;
    let indent: Option<usize> = options.get("indent")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    let sort: Option<bool> = options.get("sort_keys")?;
    options.assert_all_used()?;
    let item = if indent.is_some() { "," } else { ", " };
    let (item, key) = match separators.as_deref() {
        Some([item, key]) => (item.clone(), key.clone()),
        _ => (item.to_owned(), ": ".to_owned()),
    };
    let style = Python { item, key, indent, ascii: ascii == Some(true), depth: 0, filled: false };
    let written = if sort == Some(true) {
        let value = serde_json::to_value(value).map(sorted);
        value.and_then(|value| write(&value, style))
    } else {
        write(value, style)
    };
    written.map_err(|err| Error::new(ErrorKind::BadSerialization, err.to_string()))
}

fn write(value: &impl Serialize, style: Python) -> serde_json::Result<String> {
    let mut out = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, style))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.into_iter().collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            entries.into_iter().map(|(key, value)| (key, sorted(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// The format of Python's `json`.
struct Python {
    item: String,
    key: String,
    indent: Option<usize>,
    ascii: bool,
    depth: usize,
    filled: bool,
}

impl Python {
    fn newline<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        match self.indent {
            Some(indent) => write!(out, "\n{:1$}", "", indent * self.depth),
            None => Ok(()),
        }
    }

    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, open: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(open)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, close: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.filled {
            self.newline(out)?;
        }
        self.filled = true;
        out.write_all(close)
    }

    fn next<W: ?Sized + Write>(&self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(self.item.as_bytes())?;
        }
        self.newline(out)
    }
}

impl Formatter for Python {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(self.key.as_bytes())
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(python_float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if !self.ascii {
            return out.write_all(fragment.as_bytes());
        }
        for c in fragment.chars() {
            if c.is_ascii() {
                write!(out, "{c}")?;
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        serde_json::ser::CompactFormatter.write_char_escape(out, escape)
    }
}

/// `repr` of a float: the shortest digits, with an exponent of at least two figures where it is
/// below -4 or above 15.
fn python_float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = value.to_string();
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use minijinja::{Environment, context};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(call: &str, value: &Value, expected: &str) {
        let mut environment = Environment::new();
        environment.add_filter("tojson", tojson);
        let value = Template::from(minijinja::value::Serde(value));
        let source = format!("{{{{ x | {call} }}}}");
        assert_eq!(environment.render_str(&source, context! { x => value }).unwrap(), expected);
    }

    // Each expectation is what `json.dumps(x, ensure_ascii=False, …)` of Python 3.11 prints.
    #[test]
    fn it_writes_what_python_writes() {
        let value =
            json!({"z": [1, 2.5, true, null], "a": {"<&'\">": "ü\n\u{1}"}, "e": [], "o": {}});
        check(
            "tojson",
            &value,
            r#"{"z": [1, 2.5, true, null], "a": {"<&'\">": "ü\n\u0001"}, "e": [], "o": {}}"#,
        );
        check(
            "tojson(sort_keys=true, separators=[',', ':'], ensure_ascii=true)",
            &value,
            r#"{"a":{"<&'\">":"\u00fc\n\u0001"},"e":[],"o":{},"z":[1,2.5,true,null]}"#,
        );
        check(
            "tojson(indent=2)",
            &value,
            "{\n  \"z\": [\n    1,\n    2.5,\n    true,\n    null\n  ],\n  \"a\": {\n    \
             \"<&'\\\">\": \"ü\\n\\u0001\"\n  },\n  \"e\": [],\n  \"o\": {}\n}",
        );
        check("tojson(ensure_ascii=true)", &json!("a😀"), r#""a\ud83d\ude00""#);
    }

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let check = |value: f64, expected: &str| assert_eq!(python_float(value), expected);
        check(1.0, "1.0");
        check(-0.1, "-0.1");
        check(1e15, "1000000000000000.0");
        check(1e16, "1e+16");
        check(1.234_567_890_123_456_8e17, "1.2345678901234568e+17");
        check(1e-4, "0.0001");
        check(1e-5, "1e-05");
        check(2.5e-310, "2.5e-310");
    }
}
