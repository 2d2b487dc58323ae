//! Python's `==` written the slow and obvious way, to compare the quick one with.

use crate::value::{EqualityRule, Int, Value};

/// Whether two values are equal, pair by pair.
pub(super) fn equal(a: &Value, b: &Value, rule: EqualityRule) -> bool {
    let all = |a: &[Value], b: &[Value]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b, rule))
    };
    let within = |a: &[Value], b: &[Value]| a.iter().all(|a| b.iter().any(|b| equal(a, b, rule)));
    if let (Some((real, imaginary)), Some((other, more))) = (number(a), number(b)) {
        return same(&real, &other) && same(&imaginary, &more);
    }
    match (a, b) {
        (Value::None, Value::None) | (Value::Ellipsis, Value::Ellipsis) => true,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => all(a, b),
        (Value::List(a), Value::Tuple(b)) | (Value::Tuple(a), Value::List(b)) => {
            rule.sequences_alike && all(a, b)
        }
        (Value::Set(a) | Value::FrozenSet(a), Value::Set(b) | Value::FrozenSet(b)) => {
            a.len() == b.len() && within(a, b) && within(b, a)
        }
        (Value::Dict(a), Value::Dict(b)) => {
            let found = |key: &Value, value: &Value| {
                b.iter().any(|(k, v)| equal(key, k, rule) && equal(value, v, rule))
            };
            a.len() == b.len() && a.iter().all(|(key, value)| found(key, value))
        }
        _ => false,
    }
}

/// One part of a number.
enum Part {
    Int(Int),
    Float(f64),
}

fn number(value: &Value) -> Option<(Part, Part)> {
    let zero = Part::Float(0.0);
    Some(match value {
        Value::Bool(value) => (Part::Int(Int::from(i64::from(*value))), zero),
        Value::Int(value) => (Part::Int(value.clone()), zero),
        Value::Float(value) => (Part::Float(*value), zero),
        Value::Complex(real, imaginary) => (Part::Float(*real), Part::Float(*imaginary)),
        _ => return None,
    })
}

#[expect(clippy::float_cmp, reason = "equality of floats is what is defined here")]
fn same(a: &Part, b: &Part) -> bool {
    match (a, b) {
        (Part::Int(a), Part::Int(b)) => a == b,
        (Part::Float(a), Part::Float(b)) => a == b,
        (Part::Int(int), Part::Float(float)) | (Part::Float(float), Part::Int(int)) => {
            // Rust prints every digit of a whole float, so the texts can be compared.
            let text = format!("{float:.0}");
            let (negative, digits) = text.strip_prefix('-').map_or((false, &*text), |d| (true, d));
            float.is_finite()
                && float.fract() == 0.0
                && Int::from_decimal(negative, digits).as_ref() == Some(int)
        }
    }
}
