//! From a model to a verdict with its evidence.

use crate::check::check_conflict;
use crate::conflict::{self, Norm};
use crate::dual;
use crate::integer;
use crate::limits::{Limits, SolverError};
use crate::model::Model;
use crate::point::{self, Witness};
use crate::ray;
use crate::simplex::{self, Answer, Precision};
use crate::verdict::{
    Existence, Feasibility, Infeasibility, Optimum, OptimumProof, Unboundedness, Verdict,
};
use crate::vertex;
use crate::view::View;

/// Solves a model.
pub fn solve(model: &Model, limits: &Limits) -> Result<Verdict, SolverError> {
    limits.check(model)?;
    let view = View::of(model);
    if let Some(found) = at_sight(&view) {
        return checked(&view, found).map(Verdict::Infeasible);
    }
    match certified(&view, simplex::run(&view, limits), limits) {
        // The dense tableau may have been wrong.
        Err(SolverError::NoCertificate { .. }) if !view.has_integers() => {
            certified(&view, simplex::microlp(&view, limits, Precision::Usual), limits)
        }
        verdict => verdict,
    }
}

/// The verdict that an answer of the simplex method leads to.
fn certified(
    view: &View<'_>,
    answer: Result<Answer, SolverError>,
    limits: &Limits,
) -> Result<Verdict, SolverError> {
    match answer {
        Ok(Answer::Point(point)) => optimal(view, &point, limits),
        Ok(Answer::Unbounded) => unbounded(view, limits),
        Ok(Answer::Infeasible) => infeasible(view, limits).map(Verdict::Infeasible),
        Err(error) => rescue(view, limits, error),
    }
}

/// Whether a model has a solution at all, without a search for the best one.
pub fn find_solution(model: &Model, limits: &Limits) -> Result<Existence, SolverError> {
    limits.check(model)?;
    let view = View::of(model).without_objective();
    if let Some(found) = at_sight(&view) {
        return checked(&view, found).map(Existence::Infeasible);
    }
    let Answer::Point(point) = simplex::run(&view, limits)? else {
        return infeasible(&view, limits).map(Existence::Infeasible);
    };
    match point::witness(&view, &point, limits)? {
        Some(found) => Ok(Existence::Solution(found.values)),
        None => Err(uncertified("feasible", "the point violates a row or bound")),
    }
}

/// A conflict that needs no search.
fn at_sight(view: &View<'_>) -> Option<Infeasibility> {
    conflict::contradiction(view, Norm::Uniform).or_else(|| integer::by_divisibility(view))
}

/// Another irreducible infeasible subsystem, found with random weights; `None` if the rows and bounds have a
/// solution over continuous variables.
pub fn find_iis(
    model: &Model,
    limits: &Limits,
    weights_seed: u64,
) -> Result<Option<Infeasibility>, SolverError> {
    limits.check(model)?;
    let view = View::of(model);
    let found = conflict::find(&view.relaxed(), Norm::Random(weights_seed), limits)?;
    found.map(|found| checked(&view, found)).transpose()
}

fn optimal(view: &View<'_>, point: &[f64], limits: &Limits) -> Result<Verdict, SolverError> {
    if view.columns.iter().any(simplex::is_cut)
        && let Some(ray) = ray::improving(view, limits)?
    {
        return with_ray(view, ray, limits);
    }
    let Some(mut witness) = point::witness(view, point, limits)? else {
        return Err(uncertified("optimal", "the point violates a row or bound"));
    };
    if witness.feasibility == Feasibility::Tolerance && !view.has_integers() {
        if let Some(vertex) = vertex::near(view, &witness.values) {
            witness = vertex;
        } else if let Some(found) = exact_conflict(view, limits)? {
            return Ok(Verdict::Infeasible(found));
        }
    }
    optimum(view, witness, limits).map(Verdict::Optimal)
}

/// A certificate that a model without integers, feasible within tolerance, has no solution after all.
fn exact_conflict(view: &View<'_>, limits: &Limits) -> Result<Option<Infeasibility>, SolverError> {
    match conflict::find(view, Norm::Uniform, limits) {
        Err(error) if error.is_out_of_time() => Err(error),
        found => Ok(found.ok().flatten().and_then(|found| checked(view, found).ok())),
    }
}

fn optimum(view: &View<'_>, witness: Witness, limits: &Limits) -> Result<Optimum, SolverError> {
    let products = view.columns.iter().zip(&witness.values);
    let objective = products.map(|(column, value)| column.cost * value).sum::<f64>() + 0.0;
    let proof = if view.has_integers() {
        OptimumProof::Search
    } else {
        dual::prove(view, &witness.values, limits)?
    };
    let Witness { values, feasibility } = witness;
    Ok(Optimum { objective, values, feasibility, proof })
}

fn unbounded(view: &View<'_>, limits: &Limits) -> Result<Verdict, SolverError> {
    match ray::improving(view, limits)? {
        Some(ray) => with_ray(view, ray, limits),
        None => Err(uncertified("unbounded", "no direction improves the objective for ever")),
    }
}

/// The verdict on a view with an improving direction: unbounded if it has a solution at all.
fn with_ray(view: &View<'_>, ray: Vec<f64>, limits: &Limits) -> Result<Verdict, SolverError> {
    let view = view.without_objective();
    let Answer::Point(point) = simplex::run(&view, limits)? else {
        return infeasible(&view, limits).map(Verdict::Infeasible);
    };
    match point::witness(&view, &point, limits)? {
        Some(found) => Ok(Verdict::Unbounded(Unboundedness { witness: found.values, ray })),
        None => Err(uncertified("unbounded", "the point violates a row or bound")),
    }
}

fn infeasible(view: &View<'_>, limits: &Limits) -> Result<Infeasibility, SolverError> {
    let found = if view.has_integers() {
        Some(integer::find(view, limits)?)
    } else {
        conflict::find(view, Norm::Uniform, limits)?
    };
    let found = found.ok_or_else(|| uncertified("infeasible", "there is no Farkas certificate"))?;
    checked(view, found)
}

fn checked(view: &View<'_>, found: Infeasibility) -> Result<Infeasibility, SolverError> {
    match check_conflict(view, &found) {
        Ok(()) => Ok(found),
        Err(error) => Err(uncertified("infeasible", &error.to_string())),
    }
}

/// A certificate stands without the simplex method: a model on which that fails may still be proven infeasible.
fn rescue(view: &View<'_>, limits: &Limits, error: SolverError) -> Result<Verdict, SolverError> {
    match conflict::find(&view.relaxed(), Norm::Uniform, limits) {
        Ok(Some(found)) if !view.has_integers() => checked(view, found).map(Verdict::Infeasible),
        Err(late) if late.is_out_of_time() => Err(late),
        _ => Err(error),
    }
}

fn uncertified(verdict: &'static str, reason: &str) -> SolverError {
    SolverError::NoCertificate { verdict, reason: reason.to_owned() }
}
