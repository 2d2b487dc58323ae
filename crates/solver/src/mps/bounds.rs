//! Bounds of the columns of an MPS file, and what they are where the file says nothing.

use crate::format::{FormatError, lower, shown, upper};
use crate::model::Kind;

/// The bounds of a column as far as the file gives them.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    lower: Option<f64>,
    upper: Option<f64>,
    pub(super) kind: Kind,
    /// Whether any line of BOUNDS names the column.
    is_given: bool,
}

impl Bounds {
    pub(super) fn new(kind: Kind) -> Self {
        Self { lower: None, upper: None, kind, is_given: false }
    }

    /// Whether a kind of bound comes with a number.
    pub(super) fn needs_number(kind: &str) -> bool {
        !matches!(kind, "FR" | "MI" | "PL" | "BV")
    }

    /// Applies a line of BOUNDS; the number is 0 where the kind needs none.
    pub(super) fn apply(
        &mut self,
        kind: &str,
        number: f64,
        line: usize,
    ) -> Result<(), FormatError> {
        self.is_given = true;
        if matches!(kind, "LI" | "UI" | "BV") {
            self.kind = Kind::Integer;
        }
        match kind {
            "LO" | "LI" => self.lower = Some(lower(number, line)?),
            "UP" | "UI" => self.upper = Some(upper(number, line)?),
            "FX" => {
                (self.lower, self.upper) = (Some(lower(number, line)?), Some(upper(number, line)?));
            }
            "FR" => (self.lower, self.upper) = (Some(f64::NEG_INFINITY), Some(f64::INFINITY)),
            "MI" => self.lower = Some(f64::NEG_INFINITY),
            "PL" => self.upper = Some(f64::INFINITY),
            "BV" => (self.lower, self.upper) = (Some(0.0), Some(1.0)),
            _ => {
                let problem = format!("bound of kind `{}`", shown(kind));
                let hint = "expected LO, UP, FX, FR, MI, PL, BV, LI or UI; semi-continuous variables are not read";
                return Err(FormatError::new(line, problem, hint));
            }
        }
        Ok(())
    }

    pub(super) fn lower(&self) -> f64 {
        match (self.lower, self.upper) {
            (Some(lower), _) => lower,
            (None, Some(upper)) if upper < 0.0 => f64::NEG_INFINITY,
            (None, _) => 0.0,
        }
    }

    pub(super) fn upper(&self) -> f64 {
        match self.upper {
            Some(upper) => upper,
            None if self.kind == Kind::Integer && !self.is_given => 1.0,
            None => f64::INFINITY,
        }
    }
}
