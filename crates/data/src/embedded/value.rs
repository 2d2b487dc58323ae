//! The plain data that steps work on: arguments and return values of the Python functions.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Larger results are hard to read, and the limit leaves room to the edge of `i64`.
pub(super) const LARGEST: u64 = 1_000_000_000;

/// The type of data that a step takes or returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Type {
    Int,
    Bool,
    Text,
    Ints,
    Words,
    Table,
    /// Two arguments of one type.
    TwoInts,
    TwoLists,
    TwoTables,
}

/// A value of such a type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Value {
    Int(i64),
    Bool(bool),
    Text(String),
    Ints(Vec<i64>),
    Words(Vec<String>),
    /// A dictionary from names to numbers, in the order of insertion.
    Table(Vec<(String, i64)>),
    Two(Box<Self>, Box<Self>),
}

impl Value {
    pub(super) fn int(&self) -> Option<i64> {
        if let Self::Int(n) = self { Some(*n) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn ints(&self) -> Option<&[i64]> {
        if let Self::Ints(list) = self { Some(list) } else { None }
    }

    pub(super) fn words(&self) -> Option<&[String]> {
        if let Self::Words(list) = self { Some(list) } else { None }
    }

    pub(super) fn table(&self) -> Option<&[(String, i64)]> {
        if let Self::Table(entries) = self { Some(entries) } else { None }
    }

    pub(super) fn two(&self) -> Option<(&Self, &Self)> {
        if let Self::Two(a, b) = self { Some((a, b)) } else { None }
    }

    /// Small enough to be shown in a statement.
    pub(super) fn is_readable(&self) -> bool {
        let small = |n: &i64| n.unsigned_abs() <= LARGEST;
        match self {
            Self::Int(n) => small(n),
            Self::Bool(_) => true,
            Self::Text(text) => text.len() <= 60,
            Self::Ints(list) => list.len() <= 24 && list.iter().all(small),
            Self::Words(list) => list.len() <= 16,
            Self::Table(entries) => entries.len() <= 16 && entries.iter().all(|(_, n)| small(n)),
            Self::Two(a, b) => a.is_readable() && b.is_readable(),
        }
    }

    /// Its size: distinguishes typical inputs from edge cases.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Int(_) | Self::Bool(_) => 4,
            Self::Text(text) => text.len() / 2,
            Self::Ints(list) => list.len(),
            Self::Words(list) => list.len(),
            Self::Table(entries) => entries.len(),
            Self::Two(a, b) => a.len().min(b.len()),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(n) => n.serialize(serializer),
            Self::Bool(b) => b.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
            Self::Ints(list) => list.serialize(serializer),
            Self::Words(list) => list.serialize(serializer),
            Self::Two(a, b) => (a, b).serialize(serializer),
            Self::Table(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// As Python writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Ints(list) => write!(f, "{list:?}"),
            Self::Words(list) => write!(f, "{list:?}"),
            Self::Two(a, b) => write!(f, "{a}, {b}"),
            Self::Table(entries) => {
                let pairs: Vec<_> =
                    entries.iter().map(|(key, n)| format!("{key:?}: {n}")).collect();
                write!(f, "{{{}}}", pairs.join(", "))
            }
        }
    }
}
