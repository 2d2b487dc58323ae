//! Conflicts by linear programming (Gleeson and Ryan, 1990).
//!
//! For the sides `a_i·x <= b_i` of a model the program
//!
//! ```text
//! minimize Σ b_i y_i   with   Σ y_i a_i = 0,   Σ w_i y_i = 1,   y >= 0
//! ```
//!
//! has a negative optimum exactly if the sides have no common solution, and the support of an optimal *vertex* is
//! irreducible; other weights `w > 0` find other conflicts. (Gleeson and Ryan fix `Σ b_i y_i = -1` and minimize
//! `Σ w_i y_i`: the same quotient is optimized, but here the `y` are of order 1 whatever the size of the limits.)
//! Sides are divided by a power of two so that their largest coefficients are near 1.

use crate::certificate::{Weighted, certify};
use crate::limits::{Limits, SolverError};
use crate::model::{Kind, Objective, Term};
use crate::side::Side;
use crate::simplex::{self, Answer};
use crate::verdict::Multiplier;
use crate::view::{Column, RowView, View};

/// Weights below these shares of the largest count as 0, tried one after the other.
const THRESHOLDS: [f64; 4] = [1e-7, 1e-9, 1e-5, 1e-11];

/// A conflict among sides.
pub(crate) enum Conflict<'a> {
    /// Irreducible, with exact multipliers.
    Exact(Vec<Multiplier>),
    /// As the simplex method gave it.
    Float(Vec<Weighted<'a>>),
}

/// A conflict among these sides, each with its positive weight in the norm; `None` if there is none.
pub(crate) fn find<'a>(
    sides: &[Side<'a>],
    norm: &[f64],
    limits: &Limits,
) -> Result<Option<Conflict<'a>>, SolverError> {
    let scales: Vec<f64> = sides.iter().map(Side::scale).collect();
    let weights = match minimize(sides, &scales, norm, limits)? {
        Some(weights) => weights,
        None => return Ok(None),
    };
    for threshold in THRESHOLDS {
        let support = support(sides, &weights, threshold);
        if let Some(multipliers) = certify(&support) {
            return Ok(Some(Conflict::Exact(multipliers)));
        }
    }
    Ok(Some(Conflict::Float(support(sides, &weights, THRESHOLDS[0]))))
}

/// The optimal weights of the sides as they are in the model; `None` if the optimum is not negative.
fn minimize(
    sides: &[Side<'_>],
    scales: &[f64],
    norm: &[f64],
    limits: &Limits,
) -> Result<Option<Vec<f64>>, SolverError> {
    let rows = equations(sides, scales, norm);
    let rows =
        rows.iter().map(|row| RowView { terms: &row.terms, lower: row.limit, upper: row.limit });
    let columns = sides.iter().zip(scales).map(|(side, scale)| Column {
        cost: side.limit() / scale,
        lower: 0.0,
        upper: f64::INFINITY,
        kind: Kind::Continuous,
    });
    let view =
        View { objective: Objective::Minimize, columns: columns.collect(), rows: rows.collect() };
    let Answer::Point(weights) = simplex::run(&view, limits)? else { return Ok(None) };
    let optimum: f64 =
        view.columns.iter().zip(&weights).map(|(column, weight)| column.cost * weight).sum();
    if optimum >= 0.0 {
        return Ok(None);
    }
    Ok(Some(weights.iter().zip(scales).map(|(weight, scale)| weight / scale).collect()))
}

struct Equation {
    terms: Vec<Term>,
    limit: f64,
}

/// `Σ y_i a_i = 0` for each variable, and the norm.
fn equations(sides: &[Side<'_>], scales: &[f64], norm: &[f64]) -> Vec<Equation> {
    let variables = sides.iter().flat_map(|side| side.terms().map(|term| term.variable + 1));
    let count = variables.max().unwrap_or(0);
    let mut equations: Vec<Equation> =
        (0..count).map(|_| Equation { terms: Vec::new(), limit: 0.0 }).collect();
    for (index, (side, scale)) in sides.iter().zip(scales).enumerate() {
        for term in side.terms() {
            let coefficient = term.coefficient / scale;
            equations[term.variable].terms.push(Term { variable: index, coefficient });
        }
    }
    equations.retain(|equation| !equation.terms.is_empty());
    let terms = norm.iter().enumerate();
    let terms = terms.map(|(variable, coefficient)| Term { variable, coefficient: *coefficient });
    equations.push(Equation { terms: terms.collect(), limit: 1.0 });
    equations
}

fn support<'a>(sides: &[Side<'a>], weights: &[f64], threshold: f64) -> Vec<Weighted<'a>> {
    let share = |side: &Side<'_>, weight: f64| weight * side.scale();
    let pairs = || sides.iter().zip(weights);
    let largest = pairs().map(|(side, weight)| share(side, *weight)).fold(0.0, f64::max);
    let kept = pairs().filter(|(side, weight)| share(side, **weight) > threshold * largest);
    kept.map(|(side, weight)| Weighted { side: side.clone(), weight: *weight }).collect()
}
