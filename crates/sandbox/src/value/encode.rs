//! Writes a value as `CPython`'s `marshal` of version 2, the very bytes that `CPython` writes (but for
//! the order of sets).

use super::{Int, Value};

/// The bytes that `marshal.loads` reads as this value.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::None => out.push(b'N'),
        Value::Ellipsis => out.push(b'.'),
        Value::Bool(true) => out.push(b'T'),
        Value::Bool(false) => out.push(b'F'),
        Value::Int(value) => int(value, out),
        Value::Float(value) => {
            out.push(b'g');
            out.extend(value.to_le_bytes());
        }
        Value::Complex(real, imaginary) => {
            out.push(b'y');
            out.extend(real.to_le_bytes());
            out.extend(imaginary.to_le_bytes());
        }
        Value::Str(text) => string(b'u', text.as_bytes(), out),
        Value::Bytes(bytes) => string(b's', bytes, out),
        Value::Tuple(items) => sequence(b'(', items, out),
        Value::List(items) => sequence(b'[', items, out),
        Value::Set(items) => sequence(b'<', items, out),
        Value::FrozenSet(items) => sequence(b'>', items, out),
        Value::Dict(items) => {
            out.push(b'{');
            for (key, value) in items {
                write(key, out);
                write(value, out);
            }
            out.push(b'0');
        }
    }
}

fn int(value: &Int, out: &mut Vec<u8>) {
    if let Some(small) = value.as_i64().and_then(|small| i32::try_from(small).ok()) {
        out.push(b'i');
        out.extend(small.to_le_bytes());
        return;
    }
    let digits = value.digits();
    let count = length(digits.len());
    out.push(b'l');
    out.extend(if value.is_negative() { -count } else { count }.to_le_bytes());
    out.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
}

fn string(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend(length(bytes.len()).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn sequence(tag: u8, items: &[Value], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend(length(items.len()).to_le_bytes());
    for item in items {
        write(item, out);
    }
}

fn length(count: usize) -> i32 {
    i32::try_from(count).expect("values are read under a limit of far less than 2 GiB")
}
