//! The elastic model: the least by which rows must give way until a model has a solution.
//!
//! ```text
//! minimize Σ (p_i + q_i) / scale_i   with   lower_i <= a_i·x + p_i - q_i <= upper_i,   p, q >= 0
//! ```
//!
//! Bounds of variables do not give way.

use whetstone_solver::{
    Kind, Limits, Model, Objective, SolverError, Term, Variable, Verdict, solve,
};

use super::edit::scale;

/// What rows must give way by, in their order; none if the bounds alone have no solution.
pub(super) fn violations(model: &Model, limits: &Limits) -> Result<Option<Vec<f64>>, SolverError> {
    let first = model.variables.len();
    let mut elastic = model.clone();
    elastic.objective = Objective::Minimize;
    elastic.variables.iter_mut().for_each(|variable| variable.cost = 0.0);
    for (at, row) in model.rows.iter().enumerate() {
        let cost = 1.0 / scale(row);
        for (name, coefficient) in [("above", 1.0), ("below", -1.0)] {
            let variable = elastic.variables.len();
            elastic.rows[at].terms.push(Term { variable, coefficient });
            let (lower, upper, kind) = (0.0, f64::INFINITY, Kind::Continuous);
            // A name that no model can have: it has a space.
            let name = format!("{name} {at}");
            elastic.variables.push(Variable { name, cost, lower, upper, kind });
        }
    }
    match solve(&elastic, limits)? {
        Verdict::Optimal(optimum) => {
            let pairs = optimum.values[first..].chunks(2);
            Ok(Some(pairs.map(|pair| pair.iter().sum()).collect()))
        }
        Verdict::Unbounded(_) | Verdict::Infeasible(_) => Ok(None),
    }
}

/// The cost of the least repair by moving limits.
pub(super) fn least_cost(model: &Model, limits: &Limits) -> Result<Option<f64>, SolverError> {
    let violations = violations(model, limits)?;
    Ok(violations
        .map(|by| by.iter().zip(&model.rows).map(|(by, row)| (by / scale(row)).min(1.0)).sum()))
}
