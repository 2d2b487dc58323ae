//! Rows of an MPS file, whose limits are known only at its end.

use crate::format::{FormatError, bounded, lower, shown, upper};
use crate::model::Row;

/// A row with its kind, right-hand side and range as far as they were read.
pub(super) struct RowDraft {
    pub(super) row: Row,
    kind: char,
    pub(super) rhs: Option<f64>,
    pub(super) range: Option<f64>,
    /// The last column with a coefficient in this row: a second one is an error.
    pub(super) last_column: usize,
}

impl RowDraft {
    pub(super) fn new(name: &str, kind: &str) -> Self {
        let row = Row { name: name.to_owned(), terms: Vec::new(), lower: 0.0, upper: 0.0 };
        let kind = kind.chars().next().unwrap_or('N').to_ascii_uppercase();
        Self { row, kind, rhs: None, range: None, last_column: usize::MAX }
    }

    /// The limits by kind, right-hand side and range.
    pub(super) fn finish(mut self, line: usize) -> Result<Row, FormatError> {
        let rhs = bounded(self.rhs.unwrap_or(0.0));
        let range = self.range.map(bounded);
        let width = range.map_or(f64::INFINITY, f64::abs);
        let (low, high) = match self.kind {
            'N' => (f64::NEG_INFINITY, f64::INFINITY),
            'L' => (rhs - width, rhs),
            'G' => (rhs, rhs + width),
            _ => match range {
                None => (rhs, rhs),
                Some(range) if range < 0.0 => (rhs + range, rhs),
                Some(range) => (rhs, rhs + range),
            },
        };
        let named = |error: FormatError| FormatError {
            problem: format!("row `{}`: {}", shown(&self.row.name), error.problem),
            ..error
        };
        // `inf - inf` of a side that is infinite already.
        let low = if low.is_nan() { f64::NEG_INFINITY } else { low };
        let high = if high.is_nan() { f64::INFINITY } else { high };
        let (low, high) = (lower(low, line).map_err(named)?, upper(high, line).map_err(named)?);
        (self.row.lower, self.row.upper) = (low, high);
        Ok(self.row)
    }
}
