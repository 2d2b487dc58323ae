//! Conflicts by linear programming (Gleeson and Ryan, 1990).
//!
//! For the sides `a_i·x <= b_i` of a model the program
//!
//! ```text
//! minimize Σ b_i y_i   with   Σ y_i a_i = 0,   Σ w_i y_i = number of sides,   y >= 0
//! ```
//!
//! has a negative optimum exactly if the sides have no common solution, and the support of an optimal *vertex* is
//! irreducible; other weights `w > 0` find other conflicts. (Gleeson and Ryan fix `Σ b_i y_i = -1` and minimize
//! `Σ w_i y_i`: the same quotient is optimized, but here the `y` are of order 1 whatever the size of the limits.)
//! Sides and equations are divided by powers of two so that coefficients are near 1 ([`Scaling`]).

use crate::certificate::{Weighted, certify};
use crate::limits::{Limits, SolverError};
use crate::model::{Kind, Objective, Term};
use crate::scaling::Scaling;
use crate::side::Side;
use crate::simplex::{self, Answer, Precision};
use crate::verdict::Multiplier;
use crate::view::{Column, RowView, View};

/// Weights up to these shares of the largest count as 0, tried one after the other. The sides above 0 are part of
/// a basis, so that a degenerate one among them has an exact weight of 0.
const THRESHOLDS: [f64; 4] = [1e-8, 0.0, 1e-6, 1e-10];

/// The share of its terms beyond which a negative optimum is no rounding error.
const CLEAR: f64 = 1e-9;

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
    let mut last = None;
    for precision in [Precision::Usual, Precision::Tight] {
        let program = Program { sides, norm, precision };
        let Some(weights) = program.minimize(limits)? else { continue };
        let supports =
            THRESHOLDS.iter().map(|threshold| support(sides, &weights.sides, *threshold));
        if let Some(multipliers) = supports.into_iter().find_map(|support| certify(&support)) {
            return Ok(Some(Conflict::Exact(multipliers)));
        }
        if weights.is_clear {
            last = Some(Conflict::Float(support(sides, &weights.sides, THRESHOLDS[0])));
        }
    }
    Ok(last)
}

/// The weights of all sides.
struct Weights {
    sides: Vec<ScaledWeight>,
    /// Whether the optimum is negative beyond rounding.
    is_clear: bool,
}

/// The weight of a side in the scaled program, by which sides are compared, and in the model.
struct ScaledWeight {
    share: f64,
    weight: f64,
}

struct Program<'a, 'b> {
    sides: &'b [Side<'a>],
    norm: &'b [f64],
    precision: Precision,
}

impl Program<'_, '_> {
    /// The optimal weights of the sides as they are in the model; `None` if the optimum is not negative.
    fn minimize(&self, limits: &Limits) -> Result<Option<Weights>, SolverError> {
        let Scaling { sides: scales, variables } = Scaling::of(self.sides);
        let mut rows = equations(self.sides, &scales, self.norm);
        for (row, scale) in rows.iter_mut().zip(&variables) {
            row.terms.iter_mut().for_each(|term| term.coefficient /= scale);
        }
        rows.retain(|row| !row.terms.is_empty());
        let rows = rows.iter().map(|row| RowView {
            terms: &row.terms,
            lower: row.limit,
            upper: row.limit,
        });
        let columns = self.sides.iter().zip(&scales).map(|(side, scale)| Column {
            cost: side.limit() / scale,
            lower: 0.0,
            upper: f64::INFINITY,
            kind: Kind::Continuous,
        });
        let (columns, rows) = (columns.collect(), rows.collect());
        let view = View { objective: Objective::Minimize, columns, rows };
        let answer = simplex::run_with(&view, limits, self.precision)?;
        let Answer::Point(weights) = answer else { return Ok(None) };
        let pairs = view.columns.iter().zip(&weights);
        let optimum: f64 = pairs.map(|(column, weight)| column.cost * weight).sum();
        if optimum >= 0.0 {
            return Ok(None);
        }
        let pairs = view.columns.iter().zip(&weights);
        let size: f64 = pairs.map(|(column, weight)| (column.cost * weight).abs()).sum();
        let pairs = weights.iter().zip(&scales);
        let weights =
            pairs.map(|(share, scale)| ScaledWeight { share: *share, weight: share / scale });
        Ok(Some(Weights { sides: weights.collect(), is_clear: optimum < -CLEAR * size }))
    }
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
    let terms = norm.iter().enumerate();
    let terms = terms.map(|(variable, coefficient)| Term { variable, coefficient: *coefficient });
    #[expect(clippy::cast_precision_loss, reason = "a scale, of which any size will do")]
    let limit = sides.len() as f64;
    equations.push(Equation { terms: terms.collect(), limit });
    equations
}

fn support<'a>(sides: &[Side<'a>], weights: &[ScaledWeight], threshold: f64) -> Vec<Weighted<'a>> {
    let largest = weights.iter().map(|scaled| scaled.share).fold(0.0, f64::max);
    let kept = sides.iter().zip(weights).filter(|(_, scaled)| scaled.share > threshold * largest);
    kept.map(|(side, scaled)| Weighted { side: side.clone(), weight: scaled.weight }).collect()
}
