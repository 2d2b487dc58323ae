//! Plain data as a JavaScript value: the arguments of a call.
//!
//! It is what `JSON.parse` would make of a test, but for Python's other containers, which become
//! arrays. Properties are defined and not assigned, so no setter in a prototype sees them.

use std::fmt::Write as _;

use num_bigint::Sign;
use rquickjs::object::Property;
use rquickjs::{Array, Ctx, Error, Object, Result, String as JsString, Value};

use crate::value::{Int, Text, Value as Data};

/// The value; an error that is not an exception if JavaScript has no such value.
pub(super) fn make<'js>(ctx: &Ctx<'js>, data: &Data) -> Result<Value<'js>> {
    Ok(match data {
        Data::None => Value::new_null(ctx.clone()),
        Data::Bool(truth) => Value::new_bool(ctx.clone(), *truth),
        Data::Int(int) => Value::new_number(ctx.clone(), number(int)),
        Data::Float(float) => Value::new_number(ctx.clone(), *float),
        Data::Str(text) => string(ctx, text)?,
        Data::List(items) | Data::Tuple(items) | Data::Set(items) | Data::FrozenSet(items) => {
            let array = Array::new(ctx.clone())?;
            for (index, item) in (0_u32..).zip(items) {
                array.as_object().prop(index, ordinary(make(ctx, item)?))?;
            }
            array.into_value()
        }
        Data::Dict(pairs) => {
            let object = Object::new(ctx.clone())?;
            for (key, item) in pairs {
                object.prop(make(ctx, key)?, ordinary(make(ctx, item)?))?;
            }
            object.into_value()
        }
        Data::Ellipsis | Data::Complex(..) | Data::Bytes(_) => {
            return Err(Error::new_into_js("plain data", "value"));
        }
    })
}

fn ordinary(value: Value<'_>) -> Property<Value<'_>> {
    Property::from(value).configurable().enumerable().writable()
}

fn string<'js>(ctx: &Ctx<'js>, text: &Text) -> Result<Value<'js>> {
    match text.to_str() {
        Some(text) => JsString::from_str(ctx.clone(), text).map(JsString::into_value),
        None => ctx.json_parse(escaped(text.as_bytes())),
    }
}

/// A string with half of a surrogate pair in it, as JSON writes it.
fn escaped(bytes: &[u8]) -> String {
    let mut json = String::from('"');
    let mut push = |unit: u16| {
        let _ = write!(json, "\\u{unit:04x}");
    };
    let mut half = Vec::new();
    for chunk in bytes.utf8_chunks() {
        chunk.valid().encode_utf16().for_each(&mut push);
        // The three bytes of a half come one by one: to Rust each of them is wrong.
        half.extend_from_slice(chunk.invalid());
        if let [_, second, third] = *half {
            push(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F));
            half.clear();
        }
    }
    json.push('"');
    json
}

/// The nearest number.
fn number(int: &Int) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rounds to nearest, as JSON.parse does")]
    if let Some(small) = int.as_i64() {
        return small as f64;
    }
    let int = int.to_big();
    // A number has no more than 1,024 bits before its point.
    let text = if int.bits() > 1024 { "inf".to_owned() } else { int.magnitude().to_string() };
    let magnitude: f64 = text.parse().unwrap_or(f64::NAN);
    if int.sign() == Sign::Minus { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_pair_is_escaped_as_itself() {
        assert_eq!(escaped(b"a\xED\xA0\xBD\xED\xB0\x80"), r#""\u0061\ud83d\udc00""#);
        assert_eq!(escaped("\u{1F600}".as_bytes()), r#""\ud83d\ude00""#);
    }

    #[test]
    fn a_long_integer_becomes_the_nearest_number() {
        let near = |text: &str| number(&Int::from_decimal(false, text).expect("digits"));
        for text in
            ["9223372036854775808", "18446744073709551617", "123456789012345678901234567890"]
        {
            assert_eq!(near(text).to_bits(), text.parse::<f64>().expect("a number").to_bits());
        }
        // Exactly between two numbers, but for the very last bit.
        let tie = format!("1{}1", "0".repeat(300));
        assert_eq!(near(&tie).to_bits(), tie.parse::<f64>().expect("a number").to_bits());
        assert!(near(&"9".repeat(400)).is_infinite());
        assert!(number(&Int::from_decimal(true, &"9".repeat(30)).expect("digits")) < -9e29);
    }
}
