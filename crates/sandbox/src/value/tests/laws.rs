//! Laws of values under generated ones: what is written reads back, and equality is Python's.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::oracle;
use crate::value::{EqualityRule, Int, Text, Value, ValueLimits, check, decode, encode, equal};

/// Any value that Python could hold, of few different parts, so that equal ones meet.
pub(super) fn values() -> impl Strategy<Value = Value> {
    scalars()
        .prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::List),
                vec(inner.clone(), 0..4).prop_map(Value::Tuple),
                vec(inner.clone(), 0..4).prop_map(Value::FrozenSet),
                vec(inner.clone(), 0..4).prop_map(Value::Set),
                vec((inner.clone(), inner), 0..4).prop_map(Value::Dict),
            ]
        })
        .prop_map(possible)
}

/// Two values: the same in other types and another order, or any two.
pub(super) fn pairs() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        (values(), any::<u64>()).prop_map(|(value, seed)| (value.clone(), twin(&value, seed))),
        (values(), any::<u64>()).prop_map(|(value, seed)| (twin(&value, seed), value)),
        (values(), values()),
    ]
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::None),
        Just(Value::Ellipsis),
        any::<bool>().prop_map(Value::Bool),
        (-2_i64..3).prop_map(Value::int),
        any::<i64>().prop_map(Value::int),
        longs().prop_map(Value::Int),
        select(FLOATS).prop_map(Value::Float),
        any::<f64>().prop_map(Value::Float),
        (select(FLOATS), select(FLOATS)).prop_map(|(a, b)| Value::Complex(a, b)),
        texts().prop_map(Value::Str),
        "[ab]{0,2}".prop_map(|text| Value::Bytes(text.into_bytes())),
    ]
}

const FLOATS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    2.0,
    0.5,
    -1.0,
    9_007_199_254_740_992.0,
    9.223_372_036_854_776e18,
    1e23,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    5e-324,
];

fn longs() -> impl Strategy<Value = Int> {
    let near_floats = (select(FLOATS), -1_i8..2).prop_filter_map("a whole float", |(float, by)| {
        let whole = Int::from_float(float)?;
        let mut digits = whole.digits();
        if let Some(first) = digits.first_mut() {
            *first = first.checked_add_signed(by.into()).filter(|digit| *digit < 1 << 15)?;
        }
        Some(Int::from_digits(whole.is_negative(), &digits))
    });
    let any = (any::<bool>(), vec(0_u16..1 << 15, 0..40))
        .prop_map(|(negative, digits)| Int::from_digits(negative, &digits));
    prop_oneof![near_floats, any]
}

const PARTS: &[&[u8]] = &[b"a", b"b", b"\xC3\x9F", b"\xF0\x9F\x98\x80", b"\xED\xA0\xBD"];

fn texts() -> impl Strategy<Value = Text> {
    let parts = select(PARTS);
    vec(parts, 0..3).prop_map(|parts| Text::from_bytes(parts.concat()).unwrap())
}

/// The value without what cannot be: elements that Python could not hash, or has already.
fn possible(value: Value) -> Value {
    let set = |items: Vec<Value>| {
        let mut kept = Vec::new();
        for item in items {
            kept.push(possible(item));
            if check(&Value::FrozenSet(kept.clone())).is_err() {
                kept.pop();
            }
        }
        kept
    };
    match value {
        Value::List(items) => Value::List(items.into_iter().map(possible).collect()),
        Value::Tuple(items) => Value::Tuple(items.into_iter().map(possible).collect()),
        Value::Set(items) => Value::Set(set(items)),
        Value::FrozenSet(items) => Value::FrozenSet(set(items)),
        Value::Dict(items) => {
            let (keys, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
            let values = values.into_iter().map(possible);
            Value::Dict(set(keys).into_iter().zip(values).collect())
        }
        scalar => scalar,
    }
}

/// The same value in other types and another order, by the bits of `seed`; rarely, not quite.
fn twin(value: &Value, seed: u64) -> Value {
    let next = seed.rotate_right(3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let all = |items: &[Value]| -> Vec<Value> {
        items.iter().zip(0..).map(|(item, at)| twin(item, next.rotate_left(at))).collect()
    };
    let turned = |items: &[Value]| {
        let mut items = all(items);
        items.reverse();
        items
    };
    match (value, seed % 8) {
        (Value::Int(int), 0) if int.as_i64() == Some(1) => Value::Bool(true),
        (Value::Int(int), 1) if int.as_i64() == Some(0) => Value::Complex(-0.0, 0.0),
        (Value::Float(float), 0 | 1) if Int::from_float(*float).is_some() => {
            Value::Int(Int::from_float(*float).unwrap())
        }
        (Value::Float(float), 2) => Value::Complex(*float, 0.0),
        (Value::Bool(value), 0 | 1) => Value::Float(f64::from(u8::from(*value))),
        (Value::Str(text), 0) => Value::Bytes(text.as_bytes().to_vec()),
        (Value::List(items), 0) | (Value::Tuple(items), _) => Value::Tuple(all(items)),
        (Value::List(items), _) => Value::List(all(items)),
        (Value::FrozenSet(items), _) | (Value::Set(items), 0..4) => Value::FrozenSet(turned(items)),
        (Value::Set(items), _) => Value::Set(turned(items)),
        (Value::Dict(items), _) => {
            let pair = |(key, value): &(Value, Value)| (twin(key, next), twin(value, next));
            possible(Value::Dict(items.iter().rev().map(pair).collect()))
        }
        (scalar, _) => scalar.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_reads_back(value in values()) {
        prop_assert_eq!(decode(&encode(&value), ValueLimits::default()), Ok(value));
    }

    #[test]
    fn equality_is_what_the_obvious_oracle_says((a, b) in pairs(), sequences_alike: bool) {
        let rule = EqualityRule { sequences_alike };
        prop_assert_eq!(equal(&a, &b, rule), oracle::equal(&a, &b, rule));
        prop_assert_eq!(equal(&b, &a, rule), equal(&a, &b, rule));
    }

    #[test]
    fn whatever_is_read_from_any_bytes_is_written_as_those_bytes(bytes in tagged()) {
        if let Ok(value) = decode(&bytes, ValueLimits::default()) {
            prop_assert_eq!(encode(&value), bytes);
        }
    }
}

/// Bytes that look like values.
fn tagged() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        select(b"NTFilgysu([{<>.0\x80".as_slice()).prop_map(|tag| vec![tag]),
        (0_u32..4).prop_map(|count| count.to_le_bytes().to_vec()),
        any::<[u8; 2]>().prop_map(Vec::from),
    ];
    vec(part, 0..12).prop_map(|parts| parts.concat())
}
