//! Bounds on the objective of a linear program, by weights of its sides (weak duality).
//!
//! For `minimize c·x` with sides `a_i·x <= b_i`, weights `y >= 0` with `Σ y_i a_i = -c` prove
//! `c·x = -Σ y_i a_i·x >= -Σ y_i b_i` for every feasible `x`. At an optimum there are such weights on the tight sides
//! alone that meet its objective (complementary slackness), so the program that finds them is small. Like Farkas
//! multipliers they are computed in floating point and then anew in whole numbers; where that fails, they are
//! accepted within [`OPTIMALITY`].

use num_bigint::BigInt;

use crate::elimination::{NullSpace, SparseRow};
use crate::limits::{Limits, SolverError};
use crate::model::{Kind, Objective, Term};
use crate::modular;
use crate::point::excess;
use crate::side::Side;
use crate::simplex::{self, Answer};
use crate::verdict::{Arithmetic, OPTIMALITY, OptimumProof, Sense};
use crate::vertex::TIGHT;
use crate::view::{Column, RowView, View};
use crate::whole::{Dyadic, Whole, negate, ratio};

/// Proves that no point is better than this one.
pub(crate) fn prove(
    view: &View<'_>,
    point: &[f64],
    limits: &Limits,
) -> Result<OptimumProof, SolverError> {
    let costs = costs(view);
    let objective: f64 = costs.iter().zip(point).map(|(cost, value)| cost * value).sum();
    // One side of an equation, whose weight may have either sign, stands for both.
    let is_first = |side: &Side<'_>| !side.is_equation || side.sense == Sense::Upper;
    let sides: Vec<Side<'_>> = Side::all(view).into_iter().filter(is_first).collect();
    let tight: Vec<Side<'_>> =
        sides.iter().filter(|side| excess(side, point) >= -TIGHT).cloned().collect();
    for (sides, aim) in [(tight, Aim::Any), (sides, Aim::Best)] {
        let program = Program { sides: &sides, costs: &costs, aim };
        let Some(weights) = program.weights(limits)? else { continue };
        if let Some(proof) = program.proof(&weights, objective, view.objective) {
            return Ok(proof);
        }
    }
    let reason = "no weights of the rows prove the objective".to_owned();
    Err(SolverError::NoCertificate { verdict: "optimal", reason })
}

/// The costs of the same model as a minimization.
fn costs(view: &View<'_>) -> Vec<f64> {
    let sign = sign(view.objective);
    view.columns.iter().map(|column| sign * column.cost).collect()
}

fn sign(objective: Objective) -> f64 {
    match objective {
        Objective::Minimize => 1.0,
        Objective::Maximize => -1.0,
    }
}

struct Program<'a, 'b> {
    sides: &'b [Side<'a>],
    costs: &'b [f64],
    aim: Aim,
}

/// Which weights are sought.
#[derive(Clone, Copy)]
enum Aim {
    /// Any: on sides that are tight at one point all have the same bound.
    Any,
    /// Those with the best bound.
    Best,
}

impl Program<'_, '_> {
    /// Weights with `Σ y_i a_i = -c`.
    fn weights(&self, limits: &Limits) -> Result<Option<Vec<f64>>, SolverError> {
        let mut rows: Vec<Vec<Term>> = vec![Vec::new(); self.costs.len()];
        for (index, side) in self.sides.iter().enumerate() {
            for term in side.terms() {
                rows[term.variable].push(Term { variable: index, coefficient: term.coefficient });
            }
        }
        let rows = rows.iter().zip(self.costs);
        let rows = rows.map(|(terms, cost)| RowView { terms, lower: -cost, upper: -cost });
        let columns = self.sides.iter().map(|side| Column {
            cost: match self.aim {
                Aim::Any => 0.0,
                Aim::Best => side.limit(),
            },
            lower: if side.is_equation { f64::NEG_INFINITY } else { 0.0 },
            upper: f64::INFINITY,
            kind: Kind::Continuous,
        });
        let (columns, rows) = (columns.collect(), rows.collect());
        let view = View { objective: Objective::Minimize, columns, rows };
        match simplex::run(&view, limits)? {
            Answer::Point(weights) => Ok(Some(weights)),
            Answer::Infeasible | Answer::Unbounded => Ok(None),
        }
    }

    /// The proof that weights make, if their bound meets the objective.
    fn proof(&self, weights: &[f64], objective: f64, sense: Objective) -> Option<OptimumProof> {
        let meets = |bound: f64| (objective - bound).abs() <= OPTIMALITY * (1.0 + objective.abs());
        let exact = self
            .exact(weights, |rows, columns| modular::null_vector(&rows, columns))
            .or_else(|| self.exact(weights, by_elimination::<i128>))
            .or_else(|| self.exact(weights, by_elimination::<BigInt>));
        let (bound, arithmetic) = match exact {
            Some(bound) => (bound, Arithmetic::Exact),
            None => (self.float(weights)?, Arithmetic::Float),
        };
        meets(bound).then(|| OptimumProof::Dual { bound: sign(sense) * bound + 0.0, arithmetic })
    }

    /// The bound of weights that satisfy their equations within tolerance.
    fn float(&self, weights: &[f64]) -> Option<f64> {
        let mut sums = self.costs.to_vec();
        let mut sizes: Vec<f64> = self.costs.iter().map(|cost| 1.0 + cost.abs()).collect();
        let mut bound = 0.0;
        for (side, weight) in self.sides.iter().zip(weights) {
            let weight = if side.is_equation { *weight } else { weight.max(0.0) };
            bound -= weight * side.limit();
            for term in side.terms() {
                sums[term.variable] += weight * term.coefficient;
                sizes[term.variable] += (weight * term.coefficient).abs();
            }
        }
        let holds = sums.iter().zip(&sizes).all(|(sum, size)| sum.abs() <= OPTIMALITY * size);
        holds.then_some(bound)
    }

    /// The exact bound of the sides with positive weights, whose weights follow from the costs.
    fn exact<T: Whole>(
        &self,
        weights: &[f64],
        null_vector: impl Fn(Vec<SparseRow<T>>, usize) -> Option<Vec<BigInt>>,
    ) -> Option<f64> {
        let largest = weights.iter().map(|weight| weight.abs()).fold(0.0, f64::max);
        let pairs = self.sides.iter().zip(weights);
        let pairs = pairs.filter(|(_, weight)| weight.abs() > 1e-9 * largest);
        let (sides, _): (Vec<&Side<'_>>, Vec<f64>) = pairs.unzip();
        let used: Option<Vec<_>> = sides.iter().map(|side| side.whole::<T>()).collect();
        let used = used?;
        let mut rows: Vec<SparseRow<T>> = vec![Vec::new(); self.costs.len()];
        for (column, side) in used.iter().enumerate() {
            for (variable, value) in &side.terms {
                rows[*variable].push((column, value.clone()));
            }
        }
        let exponent = self.push_costs(&mut rows, used.len())?;
        let mut vector = null_vector(rows, used.len() + 1)?;
        if !vector[used.len()].is_positive() {
            negate(&mut vector);
        }
        let may_be_negative = sides.iter().map(|side| side.is_equation).chain([false]);
        if !vector.iter().zip(may_be_negative).all(|(value, may)| may || value.is_positive()) {
            return None;
        }
        let products = used.iter().zip(&vector).map(|(side, weight)| side.limit.to_big() * weight);
        let limit: BigInt = products.sum();
        Some(ratio(&-limit, &vector[used.len()]) * f64::from(exponent).exp2())
    }

    /// Adds the costs as the last column, divided by a power of two, whose exponent this is.
    fn push_costs<T: Whole>(&self, rows: &mut [SparseRow<T>], column: usize) -> Option<i32> {
        let costs: Vec<Dyadic> = self.costs.iter().map(|cost| Dyadic::of(*cost)).collect();
        let exponents = costs.iter().filter(|cost| cost.mantissa != 0).map(|cost| cost.exponent);
        let exponent = exponents.min().unwrap_or(0);
        for (row, cost) in rows.iter_mut().zip(costs).filter(|(_, cost)| cost.mantissa != 0) {
            row.push((column, cost.scaled(exponent)?));
        }
        Some(exponent)
    }
}

/// The one null vector of a matrix, by elimination.
fn by_elimination<T: Whole>(rows: Vec<SparseRow<T>>, columns: usize) -> Option<Vec<BigInt>> {
    let space = NullSpace::of(rows, columns)?;
    if space.free.len() != 1 {
        return None;
    }
    Some(space.vector(&[T::small(1)])?.iter().map(Whole::to_big).collect())
}
