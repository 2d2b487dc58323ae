//! A value as Python would write it, for people, up to a number of characters.
//!
//! The work is bounded by what is shown, however large the value is. Control characters are escaped as
//! in Python. Not here: a text that can be read back; what is cut ends in `…`.

use num_bigint::Sign;

use super::{Int, Value};

/// Bits of an integer that is written out: about 580 decimals.
const MAX_BITS: u64 = 1920;

/// The value, at most `max_chars` characters of it and `…`.
pub fn show(value: &Value, max_chars: usize) -> String {
    let mut out = Out { text: String::new(), left: max_chars, is_cut: false };
    out.value(value);
    out.text
}

struct Out {
    text: String,
    left: usize,
    is_cut: bool,
}

impl Out {
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            if self.is_cut {
                return;
            }
            if self.left == 0 {
                self.text.push('…');
                self.is_cut = true;
                return;
            }
            self.left -= 1;
            self.text.push(c);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::None => self.push("None"),
            Value::Ellipsis => self.push("..."),
            Value::Bool(true) => self.push("True"),
            Value::Bool(false) => self.push("False"),
            Value::Int(number) => self.push(&decimal(number)),
            Value::Float(number) => self.push(&float(*number)),
            Value::Complex(real, imaginary) => {
                self.push(&format!("({}+{}j)", float(*real), float(*imaginary)));
            }
            Value::Str(text) => self.quoted("'", &String::from_utf8_lossy(text.as_bytes())),
            Value::Bytes(bytes) => self.bytes(bytes),
            Value::List(values) => self.all("[", values, "]"),
            Value::Tuple(values) if values.len() == 1 => self.all("(", values, ",)"),
            Value::Tuple(values) => self.all("(", values, ")"),
            Value::Set(values) if values.is_empty() => self.push("set()"),
            Value::Set(values) => self.all("{", values, "}"),
            Value::FrozenSet(values) => self.all("frozenset({", values, "})"),
            Value::Dict(entries) => self.dict(entries),
        }
    }

    fn all(&mut self, open: &str, values: &[Value], close: &str) {
        self.push(open);
        for (at, value) in values.iter().enumerate() {
            if self.is_cut {
                return;
            }
            self.push(if at > 0 { ", " } else { "" });
            self.value(value);
        }
        self.push(close);
    }

    fn dict(&mut self, entries: &[(Value, Value)]) {
        self.push("{");
        for (at, (key, value)) in entries.iter().enumerate() {
            if self.is_cut {
                return;
            }
            self.push(if at > 0 { ", " } else { "" });
            self.value(key);
            self.push(": ");
            self.value(value);
        }
        self.push("}");
    }

    fn quoted(&mut self, open: &str, text: &str) {
        self.push(open);
        for c in text.chars() {
            if self.is_cut {
                return;
            }
            match c {
                '\'' | '\\' => self.push(&format!("\\{c}")),
                '\n' => self.push("\\n"),
                '\r' => self.push("\\r"),
                '\t' => self.push("\\t"),
                c if c.is_control() => self.push(&format!("\\x{:02x}", u32::from(c))),
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
        self.push("'");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.push("b'");
        for byte in bytes {
            if self.is_cut {
                return;
            }
            self.push(&byte.escape_ascii().to_string());
        }
        self.push("'");
    }
}

/// Python's `repr` of a float, but for leading zeros of an exponent.
fn float(number: f64) -> String {
    let text = format!("{number:?}");
    match text.split_once('e') {
        _ if number.is_nan() => "nan".to_owned(),
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

/// An integer in decimals; of one that is very long, how long it is.
fn decimal(number: &Int) -> String {
    if let Some(small) = number.as_i64() {
        return small.to_string();
    }
    let number = number.to_big();
    let bits = number.bits();
    if bits > MAX_BITS {
        let sign = if number.sign() == Sign::Minus { "-" } else { "" };
        // A decimal is 3.3219 bits.
        return format!("{sign}<an integer of about {} digits>", bits * 10_000 / 33_219);
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use ruff_python_parser::parse_expression;

    use super::super::literal;
    use super::*;

    /// What Python 3.11 writes for each of these literals, on which `repr` is the identity.
    #[test]
    fn a_value_is_written_as_python_writes_it() {
        for text in [
            "None",
            "[1, -2, 3.5, True, False]",
            "(1,)",
            "()",
            "{'a': [1, 2], 'b': ()}",
            "{1, 2}",
            r"'it\'s\n\t\\ \x1b \x00 ß'",
            r"b'a\x00\xff\''",
            "1e+16",
            "1.5e+300",
            "0.1",
            "123456789012345678901234567890",
            "-99999999999999999999999999999999999999990000000",
            "10000000000000000000000000000000000000000",
        ] {
            let value = literal(parse_expression(text).unwrap().expr());
            assert_eq!(value.map(|value| show(&value, 200)).as_deref(), Some(text));
        }
        assert_eq!(show(&Value::Float(f64::NAN), 9), "nan");
        assert_eq!(show(&Value::Set(Vec::new()), 9), "set()");
        assert_eq!(show(&Value::FrozenSet(vec![Value::int(1)]), 99), "frozenset({1})");
    }

    #[test]
    fn what_is_long_is_cut_after_so_many_characters() {
        let long = Value::List(vec![Value::str("ßß"); 1000]);
        let shown = show(&long, 10);
        assert_eq!(shown, "['ßß', 'ßß…");
        assert_eq!(show(&Value::str("abc"), 5), "'abc'");
        assert_eq!(show(&Value::str("abc"), 4), "'abc…");
        let digits: String = std::iter::repeat_n('7', 5000).collect();
        let huge = Value::Int(Int::from_decimal(true, &digits).unwrap());
        assert_eq!(show(&huge, 200), "-<an integer of about 5000 digits>");
    }
}
