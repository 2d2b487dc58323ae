//! Relations between an expression and a number.

use crate::format::{FormatError, lower, upper};

/// How an expression compares with a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    AtMost,
    AtLeast,
    Equal,
}

/// The limits that a relation to a number sets.
pub(super) struct Limits {
    pub(super) lower: Option<f64>,
    pub(super) upper: Option<f64>,
}

impl Limits {
    pub(super) fn of(relation: Relation, value: f64, line: usize) -> Result<Self, FormatError> {
        let low = |value| lower(value, line).map(Some);
        let high = |value| upper(value, line).map(Some);
        Ok(match relation {
            Relation::AtMost => Self { lower: None, upper: high(value)? },
            Relation::AtLeast => Self { lower: low(value)?, upper: None },
            Relation::Equal => Self { lower: low(value)?, upper: high(value)? },
        })
    }

    /// Both; where both set a side, the other's.
    pub(super) fn and(self, other: &Self) -> Self {
        Self { lower: other.lower.or(self.lower), upper: other.upper.or(self.upper) }
    }
}

impl Relation {
    /// The relation with its sides swapped.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::AtMost => Self::AtLeast,
            Self::AtLeast => Self::AtMost,
            Self::Equal => Self::Equal,
        }
    }
}
