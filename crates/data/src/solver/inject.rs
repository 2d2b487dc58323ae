//! Injections: what makes a base model infeasible, each with the action that undoes it.
//!
//! | kind | change | undone by |
//! |---|---|---|
//! | `row` | a new row that contradicts a sum of others (Farkas' lemma turned round) | `DROP_CONSTRAINT` |
//! | `limit` | the right-hand side of a row moved inwards | `UPDATE_RHS` |
//! | `sense` | `<=` for `>=` | `FLIP_SENSE` |
//! | `coefficient` | a coefficient that is many times too large, or has the other sign | `SET_COEF` |
//! | `bound` | a bound of a variable moved inwards | `CHANGE_BOUND` |
//!
//! An injection may leave the model feasible; then it is drawn again.

use whetstone_env::solver::{Action, Bound};
use whetstone_solver::{Model, Row, Term};

use super::draft::{real, role, unique};
use super::injection_kind::InjectionKind;
use super::options::SolverOptions;
use crate::random::Random;

/// Changes the model; the action that undoes it, or none if nothing could be changed this way.
pub(super) fn inject(
    model: &mut Model,
    kind: InjectionKind,
    options: &SolverOptions,
    random: &mut Random,
) -> Option<Action> {
    if model.rows.is_empty() {
        return None;
    }
    match kind {
        InjectionKind::Row => contradict(model, options, random),
        InjectionKind::Limit => tighten(model, random),
        InjectionKind::Sense => flip(model, random),
        InjectionKind::Coefficient => corrupt(model, random),
        InjectionKind::Bound => bound(model, random),
    }
}

/// Largest number of a generated model.
const LARGEST: f64 = 1e4;

/// Most rows that a new one contradicts.
const PARENTS: usize = 5;

/// `Σ y_i a_i x >= Σ y_i b_i + δ`, where `a_i x <= b_i` are rows of the model.
fn contradict(model: &mut Model, options: &SolverOptions, random: &mut Random) -> Option<Action> {
    let parents = options.draw_parents(PARENTS, random);
    let mut sum = vec![0.0; model.variables.len()];
    let mut limit = 0.0;
    let mut taken = Vec::new();
    for _ in 0..parents {
        let at = random.below(model.rows.len());
        if taken.contains(&at) {
            continue;
        }
        taken.push(at);
        let row = &model.rows[at];
        let by = real(random.between(1, 2));
        // In the form `<=`: of an equation, either side.
        let upper = row.upper.is_finite() && (!row.lower.is_finite() || random.chance(50));
        let sign = if upper { by } else { -by };
        row.terms.iter().for_each(|term| sum[term.variable] += sign * term.coefficient);
        limit += if upper { by * row.upper } else { -by * row.lower };
    }
    let terms = sum.iter().enumerate().filter(|(_, by)| **by != 0.0);
    let mut terms: Vec<Term> =
        terms.map(|(variable, &coefficient)| Term { variable, coefficient }).collect();
    if terms.is_empty() {
        return None;
    }
    let beyond = limit + real(random.between(1, 9));
    let (mut lower, mut upper) = (beyond, f64::INFINITY);
    // Mostly negative rows are written the other way round.
    if terms.iter().filter(|term| term.coefficient < 0.0).count() * 2 > terms.len() {
        for term in &mut terms {
            term.coefficient = -term.coefficient;
        }
        (lower, upper) = (f64::NEG_INFINITY, -beyond);
    }
    let role = role(&model.rows[random.below(model.rows.len())].name).to_owned();
    let at = random.below(model.rows.len() + 1);
    let name = unique(&role, 1000 + random.below(1_000_000));
    model.rows.insert(at, Row { name: name.clone(), terms, lower, upper });
    Some(Action::DropConstraint { row: name })
}

/// An inequality, by its index.
fn inequality(model: &Model, random: &mut Random) -> Option<usize> {
    let is_one_sided = |row: &Row| row.lower.is_finite() != row.upper.is_finite();
    let found: Vec<usize> =
        (0..model.rows.len()).filter(|&at| is_one_sided(&model.rows[at])).collect();
    (!found.is_empty()).then(|| found[random.below(found.len())])
}

fn tighten(model: &mut Model, random: &mut Random) -> Option<Action> {
    let at = inequality(model, random)?;
    let row = &mut model.rows[at];
    let old = if row.upper.is_finite() { row.upper } else { row.lower };
    let by =
        real(random.between(1, 12)).max((old.abs() * real(random.between(2, 12)) / 10.0).round());
    if row.upper.is_finite() {
        row.upper -= by;
    } else {
        row.lower += by;
    }
    Some(Action::UpdateRhs { row: row.name.clone(), value: old })
}

fn flip(model: &mut Model, random: &mut Random) -> Option<Action> {
    let at = inequality(model, random)?;
    let row = &mut model.rows[at];
    (row.lower, row.upper) = if row.upper.is_finite() {
        (row.upper, f64::INFINITY)
    } else {
        (f64::NEG_INFINITY, row.lower)
    };
    Some(Action::FlipSense { row: row.name.clone() })
}

fn corrupt(model: &mut Model, random: &mut Random) -> Option<Action> {
    let at = random.below(model.rows.len());
    let row = &mut model.rows[at];
    if row.terms.is_empty() {
        return None;
    }
    let term = random.below(row.terms.len());
    let term = &mut row.terms[term];
    let old = term.coefficient;
    let factor = if random.chance(50) { -1 } else { random.between(5, 12) };
    term.coefficient = old * real(factor);
    let is_small = term.coefficient.abs() <= LARGEST;
    let variable = model.variables[term.variable].name.clone();
    is_small.then(|| Action::SetCoef { row: row.name.clone(), variable, value: old })
}

fn bound(model: &mut Model, random: &mut Random) -> Option<Action> {
    let at = random.below(model.variables.len());
    let variable = &mut model.variables[at];
    let name = variable.name.clone();
    if variable.upper.is_finite() || random.chance(60) {
        // An upper bound comes down; one that is not there cannot be put back by a number.
        if !variable.upper.is_finite() || variable.upper < 1.0 {
            return None;
        }
        let old = variable.upper;
        variable.upper = (old * real(random.between(0, 5)) / 10.0).floor();
        let bound = Bound::Upper;
        return Some(Action::ChangeBound { variable: name, bound, value: old });
    }
    let old = variable.lower;
    variable.lower = old + real(random.between(5, 40));
    Some(Action::ChangeBound { variable: name, bound: Bound::Lower, value: old })
}
