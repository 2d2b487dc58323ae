//! Actions carried out on a model, and what they cost.
//!
//! The cost of an edit is that of the repair: a dropped row 1, a moved limit or bound its distance by the scale of
//! the row, at most 1, a changed sense, coefficient or type 1. Rows keep their order; a model whose edits were
//! undone is the model that it was.

use whetstone_solver::{Kind, Model, Row};

use super::action::{Action, ActionError, Bound};
use super::number::show;

/// The largest number that an edit may set: models with larger ones cannot be solved reliably.
const LARGEST: f64 = 1e9;

/// Carries out an edit. Its cost, or why the model cannot be edited that way.
pub(super) fn apply(model: &mut Model, action: &Action) -> Result<f64, ActionError> {
    match action {
        Action::DropConstraint { row } => {
            let at = find_row(model, row)?;
            model.rows.remove(at);
            Ok(1.0)
        }
        Action::RelaxConstraint { row, by } => {
            check_size(*by)?;
            if *by <= 0.0 {
                return Err(ActionError(format!(
                    "RELAX_CONSTRAINT needs an amount above 0, not {}.",
                    show(*by)
                )));
            }
            edit_row(model, row, |row| {
                let cost = relative(*by, row);
                row.lower -= by;
                row.upper += by;
                Ok(cost)
            })
        }
        Action::UpdateRhs { row, value } => {
            check_size(*value)?;
            edit_row(model, row, |row| set_rhs(row, *value))
        }
        Action::FlipSense { row } => edit_row(model, row, flip),
        Action::SetCoef { row, variable, value } => {
            check_size(*value)?;
            let variable = find_variable(model, variable)?;
            edit_row(model, row, |row| {
                set_coefficient(row, variable, *value);
                Ok(1.0)
            })
        }
        Action::ChangeBound { variable, bound, value } => {
            check_size(*value)?;
            let variable = find_variable(model, variable)?;
            let variable = &mut model.variables[variable];
            let place = match bound {
                Bound::Lower => &mut variable.lower,
                Bound::Upper => &mut variable.upper,
            };
            let moved = (*value - *place).abs();
            let scale = place.abs().max(value.abs()).max(1.0);
            *place = *value;
            Ok(if moved.is_finite() { (moved / scale).min(1.0) } else { 1.0 })
        }
        Action::SetType { variable, integer } => {
            let variable = find_variable(model, variable)?;
            let kind = if *integer { Kind::Integer } else { Kind::Continuous };
            model.variables[variable].kind = kind;
            Ok(1.0)
        }
        Action::GetIis | Action::CheckSlack { .. } | Action::Reset | Action::Submit => Ok(0.0),
    }
}

/// The index of a row.
pub(super) fn find_row(model: &Model, name: &str) -> Result<usize, ActionError> {
    model.row(name).ok_or_else(|| ActionError(format!("there is no row `{name}`.")))
}

fn find_variable(model: &Model, name: &str) -> Result<usize, ActionError> {
    model.variable(name).ok_or_else(|| ActionError(format!("there is no variable `{name}`.")))
}

fn edit_row(
    model: &mut Model,
    name: &str,
    edit: impl FnOnce(&mut Row) -> Result<f64, ActionError>,
) -> Result<f64, ActionError> {
    let at = find_row(model, name)?;
    edit(&mut model.rows[at])
}

fn check_size(number: f64) -> Result<(), ActionError> {
    if number.abs() <= LARGEST {
        return Ok(());
    }
    Err(ActionError(format!("{} is too large: at most {}.", show(number), show(LARGEST))))
}

/// A row's scale: the size of its limits, at least 1.
pub(super) fn scale(row: &Row) -> f64 {
    let finite = [row.lower, row.upper].into_iter().filter(|limit| limit.is_finite());
    finite.map(f64::abs).fold(1.0, f64::max)
}

fn relative(moved: f64, row: &Row) -> f64 {
    (moved / scale(row)).min(1.0)
}

#[expect(clippy::float_cmp, reason = "an equation has two equal limits")]
fn set_rhs(row: &mut Row, value: f64) -> Result<f64, ActionError> {
    let (has_lower, has_upper) = (row.lower.is_finite(), row.upper.is_finite());
    let moved = match (has_lower, has_upper) {
        (true, true) if row.lower != row.upper => {
            let name = &row.name;
            return Err(ActionError(format!(
                "`{name}` is a range with two limits: use RELAX_CONSTRAINT."
            )));
        }
        (true, _) => (value - row.lower).abs(),
        (false, true) => (value - row.upper).abs(),
        (false, false) => {
            return Err(ActionError(format!("`{}` has no limit to set.", row.name)));
        }
    };
    let cost = relative(moved, row);
    if has_lower {
        row.lower = value;
    }
    if has_upper {
        row.upper = value;
    }
    Ok(cost)
}

fn flip(row: &mut Row) -> Result<f64, ActionError> {
    let none = |why: &str| ActionError(format!("`{}` has no sense to flip: {why}.", row.name));
    (row.lower, row.upper) = match (row.lower.is_finite(), row.upper.is_finite()) {
        (true, false) => (f64::NEG_INFINITY, row.lower),
        (false, true) => (row.upper, f64::INFINITY),
        (true, true) => return Err(none("it has two limits")),
        (false, false) => return Err(none("it is free")),
    };
    Ok(1.0)
}

fn set_coefficient(row: &mut Row, variable: usize, value: f64) {
    let found = row.terms.iter().position(|term| term.variable == variable);
    match found {
        Some(at) if value == 0.0 => {
            row.terms.remove(at);
        }
        Some(at) => row.terms[at].coefficient = value,
        None if value == 0.0 => {}
        None => row.terms.push(whetstone_solver::Term { variable, coefficient: value }),
    }
}
