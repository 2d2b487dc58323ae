//! Sides: a model as inequalities `a·x <= b`, one for each finite limit of a row and each finite bound.
//!
//! A lower limit `a·x >= l` is the side `-a·x <= -l`. Free rows and infinite bounds have no side.

use crate::model::Term;
use crate::verdict::{Member, Sense};
use crate::view::View;
use crate::whole::{Dyadic, Whole};

/// One inequality of a model.
#[derive(Clone, Debug)]
pub(crate) struct Side<'a> {
    pub(crate) member: Member,
    pub(crate) sense: Sense,
    /// Whether the other side of the row has the same limit.
    pub(crate) is_equation: bool,
    expression: Expression<'a>,
    limit: f64,
}

#[derive(Clone, Debug)]
enum Expression<'a> {
    Row(&'a [Term]),
    Variable(Term),
}

/// A side times a power of two, so that all its numbers are whole.
pub(crate) struct WholeSide<T> {
    /// Index of the variable and coefficient.
    pub(crate) terms: Vec<(usize, T)>,
    pub(crate) limit: T,
    /// The side is this one times `2^exponent`.
    pub(crate) exponent: i32,
    /// Whether it stands for the other side of its equation.
    pub(crate) is_turned: bool,
}

impl<T: Whole> WholeSide<T> {
    /// Turns `a·x <= b` into `-a·x <= -b`, the other side of an equation.
    pub(crate) fn turn(&mut self) {
        self.terms.iter_mut().for_each(|(_, value)| *value = value.negated());
        self.limit = self.limit.negated();
        self.is_turned = !self.is_turned;
    }
}

impl<'a> Side<'a> {
    /// All sides of a view; rows come first.
    pub(crate) fn all(view: &View<'a>) -> Vec<Self> {
        view.members().into_iter().flat_map(|member| Self::of(view, member)).collect()
    }

    /// The one or two sides of a row, the one side of a bound; none that is infinite.
    pub(crate) fn of(view: &View<'a>, member: Member) -> Vec<Self> {
        let senses = match member {
            Member::Row(_) => &[Sense::Lower, Sense::Upper][..],
            Member::LowerBound(_) => &[Sense::Lower],
            Member::UpperBound(_) => &[Sense::Upper],
        };
        senses.iter().filter_map(|sense| Self::one(view, member, *sense)).collect()
    }

    /// The side of a row or bound; `None` where the limit is infinite, or there is no such row or side.
    pub(crate) fn one(view: &View<'a>, member: Member, sense: Sense) -> Option<Self> {
        let (expression, lower, upper) = match member {
            Member::Row(row) => {
                let row = view.rows.get(row)?;
                (Expression::Row(row.terms), row.lower, row.upper)
            }
            Member::LowerBound(variable) | Member::UpperBound(variable) => {
                let column = view.columns.get(variable)?;
                let term = Term { variable, coefficient: 1.0 };
                (Expression::Variable(term), column.lower, column.upper)
            }
        };
        let limit = match (sense, member) {
            (Sense::Lower, Member::UpperBound(_)) | (Sense::Upper, Member::LowerBound(_)) => {
                return None;
            }
            (Sense::Lower, _) => lower,
            (Sense::Upper, _) => upper,
        };
        #[expect(clippy::float_cmp, reason = "an equation has the very same limit twice")]
        let is_equation = matches!(member, Member::Row(_)) && lower == upper;
        limit.is_finite().then_some(Self { member, sense, is_equation, expression, limit })
    }

    fn sign(&self) -> f64 {
        match self.sense {
            Sense::Lower => -1.0,
            Sense::Upper => 1.0,
        }
    }

    /// The terms of `a` that are not 0.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term> + '_ {
        let terms = match &self.expression {
            Expression::Row(terms) => terms,
            Expression::Variable(term) => std::slice::from_ref(term),
        };
        let sign = self.sign();
        let terms = terms.iter().filter(|term| term.coefficient != 0.0);
        terms.map(move |term| Term { coefficient: sign * term.coefficient, ..*term })
    }

    /// The limit `b`.
    pub(crate) fn limit(&self) -> f64 {
        self.sign() * self.limit
    }

    /// The side in whole numbers.
    pub(crate) fn whole<T: Whole>(&self) -> Option<WholeSide<T>> {
        let limit = Dyadic::of(self.limit());
        let terms: Vec<(usize, Dyadic)> =
            self.terms().map(|term| (term.variable, Dyadic::of(term.coefficient))).collect();
        let numbers = terms.iter().map(|(_, number)| *number).chain([limit]);
        let exponents = numbers.filter(|number| number.mantissa != 0).map(|number| number.exponent);
        let exponent = exponents.min().unwrap_or(0);
        let terms =
            terms.into_iter().map(|(variable, number)| Some((variable, number.scaled(exponent)?)));
        Some(WholeSide {
            terms: terms.collect::<Option<_>>()?,
            limit: limit.scaled(exponent)?,
            exponent,
            is_turned: false,
        })
    }
}
