//! One record as one line of text.
//!
//! ```text
//! {"seq":7,"task":"mbpp/11","reward":1.0,"crc":"90ab12cd"}
//! ```
//!
//! The crc is the CRC-32 of all bytes of the line before `,"crc":"`. It is at a fixed distance from
//! the end and is compared as text, so a line is checked without parsing its JSON, and every
//! single-byte change is detected, also in the digits of the crc itself.
//!
//! Not here: newlines. A line ends where its caller says; `encode` only makes sure that it holds
//! none.

use std::collections::BTreeMap;
use std::io::Write;
use std::str;

use memchr::{memchr, memmem};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{LineFault, PayloadError};

/// Longest line of a journal, without its newline.
pub const MAX_LINE_BYTES: usize = 64 << 20;

const SEQ_OPEN: &str = "{\"seq\":";
pub(super) const CRC_OPEN: &str = ",\"crc\":\"";
pub(super) const CRC_CLOSE: &str = "\"}";
const CRC_DIGITS: usize = 8;
const RESERVED: [&str; 2] = ["seq", "crc"];

/// Replaces `line` with the record `seq` of `payload`, newline included.
pub(super) fn encode<T: Serialize + ?Sized>(
    seq: u64,
    payload: &T,
    line: &mut Vec<u8>,
) -> Result<(), PayloadError> {
    line.clear();
    line.extend_from_slice(SEQ_OPEN.as_bytes());
    line.extend_from_slice(seq.to_string().as_bytes());
    let start = line.len();
    serde_json::to_writer(&mut *line, payload).map_err(PayloadError::Serialize)?;
    check_payload(&line[start..])?;
    splice(line, start);
    let crc = crc32fast::hash(line);
    write!(line, "{CRC_OPEN}{crc:08x}{CRC_CLOSE}").expect("writing to memory cannot fail");
    if line.len() > MAX_LINE_BYTES {
        return Err(PayloadError::TooLong { bytes: line.len(), limit_bytes: MAX_LINE_BYTES });
    }
    line.push(b'\n');
    Ok(())
}

/// The number and the payload's fields (an object without its braces) of a line without newline.
pub(super) fn decode(line: &[u8]) -> Result<(u64, &str), LineFault> {
    let text = str::from_utf8(line).map_err(|err| LineFault::NotUtf8 { at: err.valid_up_to() })?;
    let (body, found) = split_crc(text).ok_or(LineFault::NoCrc)?;
    let computed = crc32fast::hash(body.as_bytes());
    if format!("{computed:08x}") != found {
        return Err(LineFault::WrongCrc { computed, found: found.to_owned() });
    }
    split_seq(body).ok_or(LineFault::NoSeq)
}

/// Whether `bytes` may be the beginning of record 0, the only record that can be torn without
/// another in front of it.
pub(super) fn may_begin_a_journal(bytes: &[u8]) -> bool {
    let head = format!("{SEQ_OPEN}0,");
    let shared = bytes.len().min(head.len());
    bytes[..shared] == head.as_bytes()[..shared]
}

/// Joins the object that begins at `start` to the object at the beginning of the line.
fn splice(line: &mut Vec<u8>, start: usize) {
    line.pop();
    if line.len() == start + 1 {
        line.pop();
    } else {
        line[start] = b',';
    }
}

fn check_payload(json: &[u8]) -> Result<(), PayloadError> {
    if json.first() != Some(&b'{') {
        return Err(PayloadError::NotAnObject(kind_of(json)));
    }
    if memchr(b'\n', json).is_some() {
        return Err(PayloadError::SpansLines);
    }
    // Only a payload that has such a key somewhere is parsed to see where.
    match RESERVED.into_iter().find(|key| memmem::find(json, quoted(key).as_bytes()).is_some()) {
        Some(_) => check_top_level(json),
        None => Ok(()),
    }
}

fn check_top_level(json: &[u8]) -> Result<(), PayloadError> {
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_slice(json).map_err(PayloadError::Serialize)?;
    let reserved = RESERVED.into_iter().find(|&key| fields.contains_key(key));
    reserved.map_or(Ok(()), |key| Err(PayloadError::ReservedField(key)))
}

fn quoted(key: &str) -> String {
    format!("\"{key}\"")
}

fn kind_of(json: &[u8]) -> &'static str {
    match json.first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

fn split_crc(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_suffix(CRC_CLOSE)?;
    let (rest, crc) = rest.split_at_checked(rest.len().checked_sub(CRC_DIGITS)?)?;
    Some((rest.strip_suffix(CRC_OPEN)?, crc))
}

fn split_seq(body: &str) -> Option<(u64, &str)> {
    let rest = body.strip_prefix(SEQ_OPEN)?;
    let (digits, fields) = rest.split_once(',').unwrap_or((rest, ""));
    let canonical = digits.bytes().all(|digit| digit.is_ascii_digit());
    // The largest number has no successor, so no journal ever holds it.
    let seq = digits.parse().ok().filter(|&seq| canonical && seq < u64::MAX)?;
    Some((seq, fields))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn line(seq: u64, payload: &Value) -> Result<String, PayloadError> {
        let mut line = Vec::new();
        encode(seq, payload, &mut line)?;
        Ok(String::from_utf8(line).unwrap())
    }

    #[track_caller]
    fn check(payload: &Value, expected: &str) {
        assert_eq!(line(3, payload).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_record_is_an_object_between_its_number_and_its_crc() {
        // python3 -c 'import zlib; print("%08x" % zlib.crc32(b"{\"seq\":7,\"a\":1"))'
        assert_eq!(
            line(7, &json!({"a": 1})).unwrap(),
            "{\"seq\":7,\"a\":1,\"crc\":\"1e9793c7\"}\n"
        );
        assert_eq!(line(0, &json!({})).unwrap(), "{\"seq\":0,\"crc\":\"fb6446ea\"}\n");
    }

    #[test]
    fn only_an_object_can_be_a_record() {
        check(&json!([1]), "a record must be a JSON object, not an array");
        check(&json!("text"), "a record must be a JSON object, not a string");
        check(&json!(-1), "a record must be a JSON object, not a number");
        check(&json!(null), "a record must be a JSON object, not null");
        check(&json!(true), "a record must be a JSON object, not a boolean");
    }

    #[test]
    fn the_journals_own_fields_are_refused_at_the_top_and_only_there() {
        check(&json!({"seq": 1}), "the field `seq` belongs to the journal");
        check(&json!({"a": 1, "crc": "x"}), "the field `crc` belongs to the journal");
        assert!(line(0, &json!({"inner": {"seq": 1, "crc": 2}, "text": "\"seq\""})).is_ok());
    }

    #[test]
    fn raw_json_on_two_lines_is_refused() {
        let raw = RawValue::from_string("{\"a\":\n1}".to_owned()).unwrap();
        let err = encode(0, &raw, &mut Vec::new()).unwrap_err();
        assert_eq!(err.to_string(), "the value's JSON spans several lines");
    }

    #[test]
    fn a_record_no_reader_would_take_is_not_written() {
        let text = format!("{{\"text\":\"{}\"}}", "x".repeat(MAX_LINE_BYTES));
        let err = encode(0, &RawValue::from_string(text).unwrap(), &mut Vec::new()).unwrap_err();
        assert!(matches!(err, PayloadError::TooLong { bytes, .. } if bytes > MAX_LINE_BYTES));
    }

    #[test]
    fn faults_say_what_was_expected() {
        #[track_caller]
        fn check(line: &[u8], expected: &str) {
            assert_eq!(decode(line).unwrap_err().to_string(), expected);
        }
        let no_crc = "expected it to end with `,\"crc\":\"` and eight hexadecimal digits";
        check(b"", no_crc);
        check(b"{\"seq\":0,\"a\":1}", no_crc);
        check(b"{\"a\":\xff}", "byte 5 is not UTF-8");
        check(
            b"{\"seq\":8,\"a\":1,\"crc\":\"1e9793c7\"}",
            "its bytes have crc e8dfe32e, but it says `1e9793c7`",
        );
        check(
            b"{\"a\":1,\"crc\":\"a702fc6e\"}",
            "expected it to begin with `{\"seq\":` and a number",
        );
    }

    #[test]
    fn any_flipped_bit_is_a_fault() {
        let whole = line(12, &json!({"text": "ünïcode", "reward": 0.5})).unwrap();
        let whole = whole.trim_end_matches('\n').as_bytes();
        decode(whole).unwrap();
        for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut flipped = whole.to_vec();
            flipped[at] ^= 1 << bit;
            assert!(decode(&flipped).is_err(), "bit {bit} of byte {at}");
        }
    }

    #[test]
    fn a_torn_first_record_is_known_by_how_it_begins() {
        let whole = line(0, &json!({"a": 1})).unwrap();
        assert!((1..whole.len()).all(|cut| may_begin_a_journal(&whole.as_bytes()[..cut])));
        assert!(!may_begin_a_journal(b"notes"));
        assert!(!may_begin_a_journal(line(1, &json!({})).unwrap().as_bytes()));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(seq in 0..u64::MAX, key in "[a-z]{4}", text: String, number: f64) {
            let payload = json!({ key: text, "number": number, "text": "\"crc\":\"00000000\"}" });
            let line = line(seq, &payload).unwrap();
            prop_assert_eq!(line.find('\n'), Some(line.len() - 1), "one line");
            let (found, fields) = decode(line.trim_end_matches('\n').as_bytes()).unwrap();
            prop_assert_eq!(found, seq);
            let back: Value = serde_json::from_str(&format!("{{{fields}}}")).unwrap();
            prop_assert_eq!(back, payload);
        }
    }
}
