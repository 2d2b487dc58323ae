//! Checks of points: a point of the simplex method becomes a witness, or nothing.
//!
//! Integer variables are rounded first, and other values that lie within rounding error of an integer as well. If
//! that point satisfies every row and bound in exact arithmetic, it is an exact witness. Otherwise the point as
//! computed is accepted within [`FEASIBILITY`], relative to the sum of a row's terms: a vertex such as 1/3 is no `f64`.

use num_bigint::BigInt;

use crate::limits::{Limits, SolverError};
use crate::model::Kind;
use crate::side::Side;
use crate::simplex::{self, Answer};
use crate::verdict::{FEASIBILITY, Feasibility};
use crate::view::View;
use crate::whole::{Dyadic, Whole};

/// The distance to an integer, relative to its size, that counts as rounding error.
const ROUNDING: f64 = 1e-9;

/// A point that was checked.
pub(crate) struct Witness {
    pub(crate) values: Vec<f64>,
    pub(crate) feasibility: Feasibility,
}

/// A witness near a point. `None` if there is none: the point does not satisfy the view.
pub(crate) fn witness(
    view: &View<'_>,
    point: &[f64],
    limits: &Limits,
) -> Result<Option<Witness>, SolverError> {
    let found = check(view, &rounded(view, point, ROUNDING))
        .or_else(|| check(view, &rounded(view, point, 0.0)));
    if found.is_some() || !view.has_integers() {
        return Ok(found);
    }
    let Answer::Point(point) = simplex::run(&fixed(view, point), limits)? else { return Ok(None) };
    Ok(check(view, &rounded(view, &point, ROUNDING))
        .or_else(|| check(view, &rounded(view, &point, 0.0))))
}

/// Whether a point is feasible, and how exactly.
pub(crate) fn check(view: &View<'_>, point: &[f64]) -> Option<Witness> {
    if !point.iter().all(|value| value.is_finite()) || !is_integral(view, point) {
        return None;
    }
    let sides = Side::all(view);
    let feasibility = if satisfies(&sides, point) {
        Feasibility::Exact
    } else if sides.iter().all(|side| excess(side, point) <= FEASIBILITY) {
        Feasibility::Tolerance
    } else {
        return None;
    };
    Some(Witness { values: point.to_vec(), feasibility })
}

fn is_integral(view: &View<'_>, point: &[f64]) -> bool {
    let pairs = view.columns.iter().zip(point);
    pairs.into_iter().all(|(column, value)| column.kind == Kind::Continuous || value.fract() == 0.0)
}

fn rounded(view: &View<'_>, point: &[f64], rounding: f64) -> Vec<f64> {
    let near = |value: f64| (value - value.round()).abs() <= rounding * (1.0 + value.abs());
    let pairs = view.columns.iter().zip(point);
    // Adding 0 turns -0 into 0.
    let round = |value: f64| value.round() + 0.0;
    pairs
        .map(|(column, value)| match column.kind {
            Kind::Integer => round(*value),
            Kind::Continuous if near(*value) => round(*value),
            Kind::Continuous => *value,
        })
        .collect()
}

/// The view over continuous variables, with the integer ones fixed at their rounded values.
fn fixed<'a>(view: &View<'a>, point: &[f64]) -> View<'a> {
    let mut fixed = view.clone();
    for (column, value) in fixed.columns.iter_mut().zip(point) {
        if column.kind == Kind::Integer {
            let value = value.round();
            (column.lower, column.upper, column.kind) = (value, value, Kind::Continuous);
        }
    }
    fixed
}

/// By how much a side is violated, relative to the size of its terms.
pub(crate) fn excess(side: &Side<'_>, point: &[f64]) -> f64 {
    let (mut sum, mut size) = (0.0, 1.0_f64.max(side.limit().abs()));
    for term in side.terms() {
        let product = term.coefficient * point[term.variable];
        sum += product;
        size += product.abs();
    }
    (sum - side.limit()) / size
}

/// Whether a point satisfies all sides in exact arithmetic.
fn satisfies(sides: &[Side<'_>], point: &[f64]) -> bool {
    let values: Vec<Dyadic> = point.iter().map(|value| Dyadic::of(*value)).collect();
    let least = values.iter().map(|value| value.exponent).min().unwrap_or(0).min(0);
    sides.iter().all(|side| {
        let small = satisfies_in::<i128>(side, &values, least);
        small.or_else(|| satisfies_in::<BigInt>(side, &values, least)).unwrap_or(false)
    })
}

/// `None` is an overflow.
fn satisfies_in<T: Whole>(side: &Side<'_>, values: &[Dyadic], exponent: i32) -> Option<bool> {
    let side = side.whole::<T>()?;
    let unit: T = Dyadic { mantissa: 1, exponent: 0 }.scaled(exponent)?;
    let mut rest = side.limit.times(&unit)?;
    for (variable, coefficient) in &side.terms {
        let value: T = values[*variable].scaled(exponent)?;
        rest = rest.plus(&coefficient.times(&value)?.negated())?;
    }
    Some(rest.is_zero() || rest.is_positive())
}
