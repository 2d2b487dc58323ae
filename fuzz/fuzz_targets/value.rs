//! Any bytes as a program's answer: nothing panics, what is read is written as the same bytes, and
//! equality says of a value and its copy what it must.

#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_sandbox::value::{ValueLimits, EqualityRule, Value, check, decode, encode, equal};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = decode(bytes, ValueLimits::default()) else { return };
    check(&value).expect("what is decoded could exist");
    let written = encode(&value);
    assert_eq!(written, bytes);
    let again = decode(&written, ValueLimits::default()).expect("what we write");
    assert_eq!(again, value);
    for sequences_alike in [false, true] {
        let rule = EqualityRule { sequences_alike };
        assert_eq!(equal(&value, &again, rule), !has_nan(&value));
    }
});

fn has_nan(value: &Value) -> bool {
    match value {
        Value::Float(float) => float.is_nan(),
        Value::Complex(real, imaginary) => real.is_nan() || imaginary.is_nan(),
        Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
            items.iter().any(has_nan)
        }
        Value::Dict(items) => items.iter().any(|(key, value)| has_nan(key) || has_nan(value)),
        _ => false,
    }
}
