//! One JSON object, read strictly and kept whole.
//!
//! A record of ours is an object with fields we know and fields we do not. The known ones are
//! taken out with their type checked, the others pass through untouched: as the very bytes they
//! were written in, so an integer of forty digits or a float with a trailing zero comes out as it
//! went in. That is why fields are held as raw text and not as parsed values.
//!
//! A key that stands twice is refused: readers disagree on which one counts, and a reward must
//! not depend on the reader.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{self, DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::surrogates::mend;

/// A record that has a line format.
pub trait Wire: Sized {
    /// The kind of record in messages: `task`, `rollout`.
    const NOUN: &'static str;

    /// Reads the record out of an object.
    fn from_object(object: Object) -> Result<Self, WireError>;

    /// The object that reads back as this record.
    fn to_object(&self) -> Object;

    /// The record as one line of JSON, without the newline.
    fn to_line(&self) -> String {
        let mut line = String::from("{");
        for (at, (key, value)) in self.to_object().fields.iter().enumerate() {
            line.push_str(if at == 0 { "" } else { "," });
            line.push_str(&serde_json::Value::from(key.as_str()).to_string());
            line.push(':');
            line.push_str(value.get());
        }
        line.push('}');
        line
    }
}

/// Why an object is not the record it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field that must be there is not.
    #[error("field `{0}` is missing")]
    Missing(&'static str),
    /// A field holds something else than it should.
    #[error("field `{field}`: {problem}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// The problem with its value.
        problem: String,
    },
    /// A record that is read strictly has a field that is not its own.
    #[error("field `{field}` is not known; the fields are {known}")]
    Unknown {
        /// The field's name.
        field: String,
        /// The names that the record has.
        known: &'static str,
    },
    /// The record is of a version that this build does not know.
    #[error("version {found} is newer than this whet reads ({known}); use a newer whet")]
    Version {
        /// The value in the record.
        found: u64,
        /// The newest version we read.
        known: u64,
    },
}

/// The fields of one JSON object in the order they were written, values as raw text.
#[derive(Debug, Clone, Default)]
pub struct Object {
    fields: Vec<(String, Box<RawValue>)>,
}

impl Object {
    /// An object without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a field out; `None` if it is absent or `null`.
    pub fn take<T: DeserializeOwned>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<T>, WireError> {
        let Some(at) = self.fields.iter().position(|(key, _)| key == field) else {
            return Ok(None);
        };
        let (_, raw) = self.fields.remove(at);
        serde_json::from_str(raw.get())
            .map_err(|err| WireError::Field { field, problem: message(&err) })
    }

    /// Takes out a field that must be there.
    pub fn require<T: DeserializeOwned>(&mut self, field: &'static str) -> Result<T, WireError> {
        self.take(field)?.ok_or(WireError::Missing(field))
    }

    /// Takes out a text that must be there and that a model wrote: half of a surrogate pair in it is
    /// read as U+FFFD ([`surrogates`](crate::surrogates)).
    pub fn require_reply(&mut self, field: &'static str) -> Result<String, WireError> {
        if let Some((_, raw)) = self.fields.iter_mut().find(|(key, _)| key == field)
            && let Cow::Owned(mended) = mend(raw.get())
            && let Ok(mended) = RawValue::from_string(mended)
        {
            *raw = mended;
        }
        self.require(field)
    }

    /// Takes out the version `v`; a record without one is of version 1.
    pub fn version(&mut self, known: u64) -> Result<u64, WireError> {
        match self.take("v")?.unwrap_or(1) {
            0 => Err(WireError::Field { field: "v", problem: "versions start at 1".to_owned() }),
            found if found > known => Err(WireError::Version { found, known }),
            found => Ok(found),
        }
    }

    /// Adds a field at the end.
    ///
    /// # Panics
    ///
    /// If `value` cannot be JSON (a map whose keys are not strings): a bug in the caller's type.
    pub fn put(&mut self, field: &str, value: &impl Serialize) {
        let raw = serde_json::value::to_raw_value(value).expect("a field that JSON can hold");
        self.fields.push((field.to_owned(), raw));
    }

    /// Adds a field at the end if there is a value.
    pub fn put_some(&mut self, field: &str, value: Option<&impl Serialize>) {
        if let Some(value) = value {
            self.put(field, value);
        }
    }

    /// Adds all fields of `other` at the end.
    pub fn append(&mut self, other: &Self) {
        self.fields.extend_from_slice(&other.fields);
    }

    /// The raw JSON text of a field.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == field).map(|(_, raw)| raw.get())
    }

    /// Every field in its order, with its raw JSON text.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(key, raw)| (key.as_str(), raw.get()))
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        let text = |object: &Self| -> Vec<_> {
            object.fields.iter().map(|(key, raw)| (key.clone(), raw.get().to_owned())).collect()
        };
        text(self) == text(other)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (key, value) in &self.fields {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut seen = HashSet::new();
        let mut fields = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
            if !seen.insert(key.clone()) {
                return Err(de::Error::custom(format_args!("key {key:?} stands twice")));
            }
            fields.push((key, value));
        }
        Ok(Object { fields })
    }
}

/// What the parser said, less its "at line 1 column 9" (which counts inside the field), at most
/// 200 characters and nothing that a terminal would obey: it may quote the hostile input.
pub(crate) fn message(err: &serde_json::Error) -> String {
    let text = err.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut brief: String = text[..end].chars().take(200).map(printable).collect();
    if brief.len() < end {
        brief.push('…');
    }
    brief
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn unknown_fields_keep_their_bytes_and_their_order() {
        let text = r#"{"z":1.50,"a":123456789012345678901234567890,"m":{"y": 1e2}}"#;
        assert_eq!(serde_json::to_string(&object(text)).unwrap(), text);
        let object = object(text);
        let fields: Vec<_> = object.fields().collect();
        assert_eq!(fields[0], ("z", "1.50"));
        assert_eq!(fields[2], ("m", r#"{"y": 1e2}"#));
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let err = serde_json::from_str::<Object>(r#"{"id":1,"id":2}"#).unwrap_err();
        assert!(err.to_string().contains(r#"key "id" stands twice"#), "{err}");
    }

    #[test]
    fn taking_a_field_removes_it_and_checks_its_type() {
        let mut object = object(r#"{"n":3,"s":"x","nothing":null}"#);
        assert_eq!(object.take::<u32>("n"), Ok(Some(3)));
        assert_eq!(object.take::<u32>("n"), Ok(None));
        assert_eq!(object.take::<u32>("nothing"), Ok(None));
        let err = object.require::<u32>("s").unwrap_err().to_string();
        assert_eq!(err, r#"field `s`: invalid type: string "x", expected u32"#);
        assert!(object.is_empty());
    }

    #[test]
    fn half_a_surrogate_pair_in_a_reply_is_read_and_elsewhere_refused() {
        let text = r#"{"text":"a\ud800b \\ud800 \ud83d\ude00","id":"\ud800","rest":"\udfff"}"#;
        let mut object = object(text);
        let reply = object.require_reply("text");
        assert_eq!(reply.as_deref(), Ok("a\u{fffd}b \\ud800 \u{1f600}"));
        assert!(object.take::<String>("id").is_err(), "two ids must not become one");
        let kept: Vec<_> = object.fields().collect();
        assert_eq!(kept, [("rest", r#""\udfff""#)], "what passes through keeps its bytes");
        assert!(matches!(object.require_reply("text"), Err(WireError::Missing("text"))));
        let mut number = self::object(r#"{"text":7}"#);
        assert!(matches!(number.require_reply("text"), Err(WireError::Field { .. })));
    }

    #[test]
    fn a_message_quotes_hostile_input_briefly_and_without_escapes() {
        let text = format!(r#"{{"n":"{}"}}"#, "x".repeat(1 << 20));
        let err = object(&text).require::<u32>("n").unwrap_err().to_string();
        assert!(err.len() < 300 && err.ends_with('…'), "{err}");
        let mut role = object(r#"{"role":"\u001b[31m"}"#);
        let err = role.require::<crate::Role>("role").unwrap_err().to_string();
        assert!(err.contains("unknown variant") && !err.contains('\u{1b}'), "{err}");
    }

    #[test]
    fn a_newer_version_is_refused_and_a_missing_one_is_the_first() {
        assert_eq!(object("{}").version(1), Ok(1));
        assert_eq!(object(r#"{"v":1}"#).version(1), Ok(1));
        let newer = object(r#"{"v":2}"#).version(1).unwrap_err();
        assert_eq!(newer, WireError::Version { found: 2, known: 1 });
        assert!(object(r#"{"v":0}"#).version(1).is_err());
    }

    #[test]
    fn deep_nesting_is_an_error_or_data_but_never_a_crash() {
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        if let Ok(mut object) = serde_json::from_str::<Object>(&deep) {
            let err = object.take::<serde_json::Value>("a").unwrap_err().to_string();
            assert!(err.contains("recursion limit"), "{err}");
        }
    }
}
