//! The fields of a line of an MPS file.

use crate::format::{FormatError, shown};

/// How the fields of a line are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Between blanks.
    Free,
    /// At fixed columns.
    Fixed,
}

/// A line of COLUMNS, RHS or RANGES: a name and one or two numbers by row.
pub(super) struct Entries<'a> {
    /// The column, or the name of the set of right-hand sides or ranges; may be empty.
    pub(super) owner: &'a str,
    /// The row and the text of the number.
    pub(super) pairs: Vec<Entry<'a>>,
}

pub(super) struct Entry<'a> {
    pub(super) row: &'a str,
    pub(super) number: &'a str,
}

/// A line of BOUNDS.
pub(super) struct BoundLine<'a> {
    pub(super) kind: &'a str,
    /// The fields after the kind: name of the set, column and number, of which the first and last may lack.
    pub(super) fields: Vec<&'a str>,
}

/// The columns of the six fields, from 0.
const FIELDS: [(usize, usize); 6] = [(1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61)];

impl Layout {
    /// The fields of a line. In fixed format always six, of which some are empty.
    pub(super) fn split(self, text: &str, line: usize) -> Result<Vec<&str>, FormatError> {
        match self {
            Self::Free => {
                let fields: Vec<&str> = text.split_whitespace().take(7).collect();
                if fields.len() < 7 { Ok(fields) } else { Err(too_many(text, line)) }
            }
            Self::Fixed if !text.is_ascii() => Err(FormatError::new(
                line,
                format!("`{}` is not ASCII, which fixed columns need", shown(text)),
                "write the file in free format, with names without spaces",
            )),
            Self::Fixed => Ok(FIELDS
                .iter()
                .map(|(start, end)| text.get(*start..(*end).min(text.len())).unwrap_or("").trim())
                .collect()),
        }
    }

    /// A line of COLUMNS, RHS or RANGES.
    pub(super) fn entries(self, text: &str, line: usize) -> Result<Entries<'_>, FormatError> {
        let fields = self.split(text, line)?;
        let (owner, rest) = match self {
            Self::Fixed => (fields[1], &fields[2..]),
            Self::Free if fields.len() % 2 == 1 => (fields[0], &fields[1..]),
            Self::Free => ("", &fields[..]),
        };
        let pairs = rest.chunks(2).filter(|pair| pair.iter().any(|field| !field.is_empty()));
        let pairs = pairs.map(|pair| Entry { row: pair[0], number: pair[1] }).collect();
        Ok(Entries { owner, pairs })
    }

    /// A line of BOUNDS.
    pub(super) fn bound(self, text: &str, line: usize) -> Result<BoundLine<'_>, FormatError> {
        let fields = self.split(text, line)?;
        let (kind, rest) = fields.split_first().expect("a line that is not blank has a field");
        let mut rest: Vec<&str> = rest.iter().copied().take(3).collect();
        if self == Self::Fixed && rest.last().is_some_and(|field| field.is_empty()) {
            rest.pop();
        }
        Ok(BoundLine { kind, fields: rest })
    }
}

fn too_many(text: &str, line: usize) -> FormatError {
    let problem = format!("`{}` has more than six fields", shown(text.trim()));
    FormatError::new(
        line,
        problem,
        "names in free format have no spaces; one line has two numbers at most",
    )
}
