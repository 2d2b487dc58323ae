//! Exact vertices: the rational point that the tight rows and bounds of a computed point determine.
//!
//! A vertex such as `x = 1/3` is no `f64`, so no rounding of it satisfies an equation exactly. The equations of the
//! sides that are tight at the computed point are solved in whole numbers instead, and the solution is checked
//! against all sides. Where they leave a variable free, it stays at its computed value.

use num_bigint::BigInt;

use crate::elimination::{NullSpace, SparseRow};
use crate::modular;
use crate::point::{Witness, excess};
use crate::side::Side;
use crate::verdict::Feasibility;
use crate::view::View;
use crate::whole::{Whole, negate, ratio};

/// The most variables of a model whose vertices are computed: elimination takes the cube of it.
const MAX_VARIABLES: usize = 250;

/// The relative distance to its limit up to which a side counts as tight.
pub(crate) const TIGHT: f64 = 1e-8;

/// The exact vertex near a point, if it satisfies the view.
pub(crate) fn near(view: &View<'_>, point: &[f64]) -> Option<Witness> {
    if view.columns.len() > MAX_VARIABLES {
        return None;
    }
    let sides = Side::all(view);
    let coordinates = solve_modular(&sides, point)
        .or_else(|| solve::<i128>(&sides, point))
        .or_else(|| solve::<BigInt>(&sides, point))?;
    let (scale, coordinates) = coordinates.split_last()?;
    let values = coordinates.iter().map(|value| ratio(value, scale)).collect();
    Some(Witness { values, feasibility: Feasibility::Rounded })
}

/// The vertex in homogeneous coordinates, the last of which is positive.
fn solve<T: Whole>(sides: &[Side<'_>], point: &[f64]) -> Option<Vec<BigInt>> {
    let constant = point.len();
    let space = NullSpace::with_last_free(equations(sides, point)?, constant + 1)?;
    if space.free.last() != Some(&constant) {
        return None;
    }
    let vector = space.vector(&free_values(&space.free, point))?;
    let coordinates = || vector.iter().map(Whole::to_big).collect();
    is_feasible::<T>(sides, &vector)?.then(coordinates)
}

/// The same for a vertex that its tight sides determine.
fn solve_modular(sides: &[Side<'_>], point: &[f64]) -> Option<Vec<BigInt>> {
    let mut vector = modular::null_vector(&equations(sides, point)?, point.len() + 1)?;
    if !vector.last()?.is_positive() {
        negate(&mut vector);
    }
    is_feasible(sides, &vector)?.then_some(vector)
}

/// `a·x - b = 0` for every side that is tight at a point.
fn equations<T: Whole>(sides: &[Side<'_>], point: &[f64]) -> Option<Vec<SparseRow<T>>> {
    let tight = sides.iter().filter(|side| excess(side, point) >= -TIGHT);
    let rows = tight.map(|side| {
        let side = side.whole::<T>()?;
        let mut row = side.terms;
        row.sort_by_key(|(variable, _)| *variable);
        if !side.limit.is_zero() {
            row.push((point.len(), side.limit.negated()));
        }
        Some(row)
    });
    rows.collect()
}

fn is_feasible<T: Whole>(sides: &[Side<'_>], vector: &[T]) -> Option<bool> {
    let is_positive = vector.last()?.is_positive();
    sides.iter().try_fold(is_positive, |so_far, side| Some(so_far && satisfies(side, vector)?))
}

/// Values of the variables that no tight side determines, near the point, in units of `2^-20`.
fn free_values<T: Whole>(free: &[usize], point: &[f64]) -> Vec<T> {
    let unit = f64::from(1 << 20);
    if free.len() == 1 {
        return vec![T::small(1)];
    }
    let value = |column: usize| point.get(column).copied().unwrap_or(1.0);
    #[expect(clippy::cast_possible_truncation, reason = "a value near the point, which is checked")]
    free.iter().map(|column| T::small((value(*column) * unit).round() as i64)).collect()
}

fn satisfies<T: Whole>(side: &Side<'_>, vector: &[T]) -> Option<bool> {
    let side = side.whole::<T>()?;
    let mut rest = side.limit.times(vector.last()?)?;
    for (variable, coefficient) in &side.terms {
        rest = rest.plus(&coefficient.times(&vector[*variable])?.negated())?;
    }
    Some(rest.is_zero() || rest.is_positive())
}
