//! The limits of the variables of a [`crate::tableau::Tableau`] in whole numbers.

use num_bigint::BigInt;

use crate::tableau::Rank;
use crate::verdict::{Member, Sense};
use crate::view::View;
use crate::whole::Dyadic;

/// The limits of a variable, in units of a power of two that all variables share.
pub(crate) struct Bounds {
    lower: Option<BigInt>,
    upper: Option<BigInt>,
}

impl Bounds {
    /// The limits of the variables and then of the rows.
    pub(crate) fn all(view: &View<'_>) -> Vec<Self> {
        let columns = view.columns.iter().map(|column| [column.lower, column.upper]);
        let rows = view.rows.iter().map(|row| [row.lower, row.upper]);
        let limits: Vec<[f64; 2]> = columns.chain(rows).collect();
        let finite = limits.iter().flatten().filter(|limit| limit.is_finite());
        let exponent = finite.map(|limit| Dyadic::of(*limit).exponent).min().unwrap_or(0);
        let whole = |limit: f64| {
            let number = limit.is_finite().then(|| Dyadic::of(limit).scaled(exponent));
            number.map(|number| number.expect("the least exponent"))
        };
        let bounds = limits.iter().map(|[lower, upper]| [whole(*lower), whole(*upper)]);
        bounds.map(|[lower, upper]| Self { lower, upper }).collect()
    }

    /// The limit of this sense.
    pub(crate) fn at(&self, sense: Sense) -> Option<&BigInt> {
        match sense {
            Sense::Lower => self.lower.as_ref(),
            Sense::Upper => self.upper.as_ref(),
        }
    }

    /// Whether there is but one value.
    pub(crate) fn is_fixed(&self) -> bool {
        self.lower.is_some() && self.lower == self.upper
    }

    /// A limit to rest on.
    pub(crate) fn rest(&self) -> Option<Sense> {
        let lower = self.lower.as_ref().map(|_| Sense::Lower);
        lower.or_else(|| self.upper.as_ref().map(|_| Sense::Upper))
    }

    /// How willingly an equation is solved for the variable.
    pub(crate) fn rank(&self) -> Rank {
        match self.rest() {
            None => Rank::Free,
            Some(_) if self.is_fixed() => Rank::Fixed,
            Some(_) => Rank::Bounded,
        }
    }
}

/// The variable of a row or bound.
pub(crate) fn variable(view: &View<'_>, member: Member) -> usize {
    match member {
        Member::LowerBound(variable) | Member::UpperBound(variable) => variable,
        Member::Row(row) => view.columns.len() + row,
    }
}

/// The row or bound that limits a variable in this sense.
pub(crate) fn member(view: &View<'_>, variable: usize, sense: Sense) -> Member {
    match (variable.checked_sub(view.columns.len()), sense) {
        (Some(row), _) => Member::Row(row),
        (None, Sense::Lower) => Member::LowerBound(variable),
        (None, Sense::Upper) => Member::UpperBound(variable),
    }
}
