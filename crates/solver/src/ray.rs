//! Directions in which the objective improves without limit.
//!
//! A direction keeps a feasible point feasible if it moves no row towards a finite limit and no variable towards
//! a finite bound. The best such direction within a box is a linear program of its own; a model with a solution is
//! unbounded exactly if that direction improves the objective. This holds with integers too, since all data are
//! rational: a multiple of a rational direction is integral.

use crate::limits::{Limits, SolverError};
use crate::model::{Kind, Objective};
use crate::point;
use crate::simplex::{self, Answer};
use crate::view::View;

/// The rate of improvement, relative to the costs, below which a direction does not count.
const IMPROVEMENT: f64 = 1e-7;

/// A direction that improves the objective for ever; `None` if there is none.
pub(crate) fn improving(view: &View<'_>, limits: &Limits) -> Result<Option<Vec<f64>>, SolverError> {
    let cone = cone(view);
    let Answer::Point(point) = simplex::run(&cone, limits)? else { return Ok(None) };
    let Some(witness) = point::witness(&cone, &point, limits)? else { return Ok(None) };
    let ray = witness.values;
    Ok((rate(view, &ray) > IMPROVEMENT).then_some(ray))
}

/// The improvement of the objective along a direction, relative to the largest cost.
fn rate(view: &View<'_>, ray: &[f64]) -> f64 {
    let change: f64 = view.columns.iter().zip(ray).map(|(column, value)| column.cost * value).sum();
    let largest = view.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max);
    let gain = match view.objective {
        Objective::Minimize => -change,
        Objective::Maximize => change,
    };
    if largest > 0.0 { gain / largest } else { 0.0 }
}

/// The directions within the box [-1, 1] that keep every point of the view feasible.
fn cone<'a>(view: &View<'a>) -> View<'a> {
    let flat = |limit: f64| if limit.is_finite() { 0.0 } else { limit };
    let mut cone = view.clone();
    for row in &mut cone.rows {
        (row.lower, row.upper) = (flat(row.lower), flat(row.upper));
    }
    for column in &mut cone.columns {
        column.lower = if column.lower.is_finite() { 0.0 } else { -1.0 };
        column.upper = if column.upper.is_finite() { 0.0 } else { 1.0 };
        column.kind = Kind::Continuous;
    }
    cone
}
