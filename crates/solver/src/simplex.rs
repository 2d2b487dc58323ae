//! The simplex method behind one function: a view in, values out. Small programs over continuous variables are solved
//! on a [dense tableau](crate::dense), all others by microlp.
//!
//! Its answers are not taken on trust here or elsewhere; its panics and internal errors are
//! [`SolverError::Simplex`]. It takes the bounds of integer variables as `i32`: wider ones are cut to that range,
//! which [`is_cut`] tells, and the callers say what this means for their verdict.

use std::panic::{AssertUnwindSafe, catch_unwind};

use microlp::{ComparisonOp, Error, OptimizationDirection, Problem, SolveOptions, SolveOutcome};

use crate::dense;
use crate::limits::{Limits, SolverError};
use crate::model::{Kind, Objective};
use crate::view::{Column, RowView, View};

/// How far a point of the dense tableau may violate rows and bounds, in relation to what is added up.
const DENSE_TOLERANCE: f64 = 1e-9;

/// The answer of the simplex method or of branch and bound, not yet checked.
pub(crate) enum Answer {
    /// A point that is said to be optimal.
    Point(Vec<f64>),
    Infeasible,
    Unbounded,
}

/// Whether the bounds of an integer variable are wider than the search covers.
pub(crate) fn is_cut(column: &Column) -> bool {
    column.kind == Kind::Integer
        && (column.lower < f64::from(i32::MIN) || column.upper > f64::from(i32::MAX))
}

/// How far a point of the simplex method may violate rows and bounds.
#[derive(Clone, Copy)]
pub(crate) enum Precision {
    /// [`DENSE_TOLERANCE`], or microlp's own tolerance, 1e-7.
    Usual,
    /// 1e-10, the least that microlp takes.
    Tight,
}

/// Solves a view.
pub(crate) fn run(view: &View<'_>, limits: &Limits) -> Result<Answer, SolverError> {
    run_with(view, limits, Precision::Usual)
}

/// Solves a view with this precision.
pub(crate) fn run_with(
    view: &View<'_>,
    limits: &Limits,
    precision: Precision,
) -> Result<Answer, SolverError> {
    let answer = match precision {
        Precision::Usual => dense::run(view, DENSE_TOLERANCE),
        Precision::Tight => None,
    };
    answer.map_or_else(|| microlp(view, limits, precision), Ok)
}

/// Solves a view by microlp.
pub(crate) fn microlp(
    view: &View<'_>,
    limits: &Limits,
    precision: Precision,
) -> Result<Answer, SolverError> {
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut problem = Problem::new(direction(view.objective));
        let variables = add_columns(&mut problem, view)?;
        view.rows.iter().for_each(|row| add_row(&mut problem, row, &variables));
        let outcome = problem.solve_with(options(limits, precision));
        read(outcome, &variables, limits)
    }));
    caught.unwrap_or_else(|_| Err(SolverError::Simplex { message: "microlp panicked".to_owned() }))
}

fn direction(objective: Objective) -> OptimizationDirection {
    match objective {
        Objective::Minimize => OptimizationDirection::Minimize,
        Objective::Maximize => OptimizationDirection::Maximize,
    }
}

fn options(limits: &Limits, precision: Precision) -> SolveOptions {
    let mut options = SolveOptions::default();
    options.time_limit = Some(limits.time);
    options.node_limit = Some(limits.max_nodes as u64);
    if let Precision::Tight = precision {
        options.tolerances.feasibility = 1e-10;
    }
    options
}

fn add_columns(
    problem: &mut Problem,
    view: &View<'_>,
) -> Result<Vec<microlp::Variable>, SolverError> {
    let add = |(index, column): (usize, &Column)| match column.kind {
        Kind::Continuous => Ok(problem.add_var(column.cost, (column.lower, column.upper))),
        Kind::Integer => {
            let bounds = integer_bounds(column);
            let bounds = bounds.ok_or(SolverError::IntegerRange { variable: index })?;
            Ok(problem.add_integer_var(column.cost, bounds))
        }
    };
    view.columns.iter().enumerate().map(add).collect()
}

/// The bounds cut to `i32`; `None` if nothing is left of them.
#[expect(clippy::cast_possible_truncation, reason = "whole numbers that were cut to the range")]
fn integer_bounds(column: &Column) -> Option<(i32, i32)> {
    let (least, most) = (f64::from(i32::MIN), f64::from(i32::MAX));
    let is_covered = column.lower <= most && column.upper >= least;
    let cut = |bound: f64| bound.clamp(least, most) as i32;
    is_covered.then(|| (cut(column.lower), cut(column.upper)))
}

fn add_row(problem: &mut Problem, row: &RowView<'_>, variables: &[microlp::Variable]) {
    let terms = || row.terms.iter().map(|term| (variables[term.variable], term.coefficient));
    #[expect(clippy::float_cmp, reason = "an equation has the very same limit twice")]
    if row.lower == row.upper {
        problem.add_constraint(terms(), ComparisonOp::Eq, row.lower);
        return;
    }
    if row.lower.is_finite() {
        problem.add_constraint(terms(), ComparisonOp::Ge, row.lower);
    }
    if row.upper.is_finite() {
        problem.add_constraint(terms(), ComparisonOp::Le, row.upper);
    }
}

fn read(
    outcome: Result<SolveOutcome, Error>,
    variables: &[microlp::Variable],
    limits: &Limits,
) -> Result<Answer, SolverError> {
    match outcome {
        Ok(outcome) if outcome.is_optimal() => {
            let solution = outcome.solution().expect("an optimal outcome has a solution");
            let values = variables.iter().map(|variable| solution.var_value(*variable));
            Ok(Answer::Point(values.collect()))
        }
        Ok(outcome) => match outcome.termination_reason() {
            microlp::TerminationReason::NodeLimit => Err(limits.out_of_nodes()),
            _ => Err(limits.out_of_time()),
        },
        Err(Error::Infeasible) => Ok(Answer::Infeasible),
        Err(Error::Unbounded) => Ok(Answer::Unbounded),
        Err(error) => Err(SolverError::Simplex { message: error.to_string() }),
    }
}
