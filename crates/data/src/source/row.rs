//! One row of a data set: reading its columns, and reporting problems with them.

use serde::de::DeserializeOwned;
use whetstone_core::tests::TestsError;
use whetstone_core::wire::{Object, Wire, WireError};

/// A row as in the file, before its columns are interpreted.
pub(super) struct RawRow(pub(super) Object);

/// Why a row is not a task.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RowProblem {
    /// A column is missing, or holds something else than it should.
    #[error(transparent)]
    Column(#[from] WireError),
    /// The row has no tests to judge a program with.
    #[error("it has no tests: {0}")]
    NoTests(&'static str),
    /// The tests cannot judge.
    #[error(transparent)]
    Tests(#[from] TestsError),
    /// The id is not valid.
    #[error("its id {id:?} cannot be used: {problem}")]
    Id { id: String, problem: String },
    /// A column is larger than we take.
    #[error("field `{column}` has {bytes} bytes, more than the limit of {} MiB", limit >> 20)]
    TooLarge { column: &'static str, bytes: usize, limit: usize },
}

/// The result of a row.
pub(super) enum Mapped {
    Task(Box<whetstone_core::Task>),
    /// A task that was not asked for.
    LeftOut,
}

impl Wire for RawRow {
    const NOUN: &'static str = "row";

    fn from_object(object: Object) -> Result<Self, WireError> {
        Ok(Self(object))
    }

    fn to_object(&self) -> Object {
        self.0.clone()
    }
}

/// An id that may be a number or a text.
pub(super) fn id_text(row: &mut Object, column: &'static str) -> Result<Option<String>, WireError> {
    let Some(raw) = row.get(column) else { return Ok(None) };
    if raw.starts_with('"') {
        return row.take(column);
    }
    Ok(row.take::<i64>(column)?.map(|number| number.to_string()))
}

/// A column that holds JSON, or a text with JSON in it; `None` for nothing and for an empty text.
pub(super) fn nested<T: DeserializeOwned>(
    row: &mut Object,
    column: &'static str,
    limit: usize,
) -> Result<Option<T>, RowProblem> {
    let Some(raw) = row.get(column) else { return Ok(None) };
    if raw.len() > limit {
        return Err(RowProblem::TooLarge { column, bytes: raw.len(), limit });
    }
    if !raw.starts_with('"') {
        return Ok(row.take(column)?);
    }
    let text: String = row.require(column)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&text).map(Some).map_err(|err| {
        let problem = format!("expected JSON in the text: {}", brief(&err.to_string()));
        RowProblem::Column(WireError::Field { field: column, problem })
    })
}

/// A text with plain line ends.
pub(super) fn plain_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A parser's message as one short line without control characters: it may quote the input.
pub(crate) fn brief(text: &str) -> String {
    let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut brief: String = text.chars().take(200).map(printable).collect();
    if brief.len() < text.len() {
        brief.push('…');
    }
    brief
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Object {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn json_may_stand_in_a_text_or_as_it_is() {
        for text in [r#"{"a":"[1, 2]"}"#, r#"{"a":[1,2]}"#] {
            assert_eq!(nested::<Vec<u8>>(&mut row(text), "a", 99), Ok(Some(vec![1, 2])));
        }
        for text in [r#"{"a":""}"#, r#"{"a":" \n"}"#, r#"{"a":null}"#, "{}"] {
            assert_eq!(nested::<Vec<u8>>(&mut row(text), "a", 99), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_or_too_large_is_named_by_its_column() {
        let said = |text: &str| nested::<Vec<u8>>(&mut row(text), "a", 20).unwrap_err().to_string();
        assert_eq!(
            said(r#"{"a":"[1,\u001b"}"#),
            "field `a`: expected JSON in the text: expected value at line 1 column 4"
        );
        assert_eq!(said(r#"{"a":{"b":1}}"#), "field `a`: invalid type: map, expected a sequence");
        let long = format!(r#"{{"a":"{}"}}"#, "1".repeat(30));
        assert_eq!(said(&long), "field `a` has 32 bytes, more than the limit of 0 MiB");
    }

    #[test]
    fn an_id_may_be_a_number_or_a_text() {
        assert_eq!(id_text(&mut row(r#"{"a":7}"#), "a"), Ok(Some("7".to_owned())));
        assert_eq!(id_text(&mut row(r#"{"a":"x"}"#), "a"), Ok(Some("x".to_owned())));
        assert_eq!(id_text(&mut row("{}"), "a"), Ok(None));
        assert!(id_text(&mut row(r#"{"a":[1]}"#), "a").is_err());
    }
}
