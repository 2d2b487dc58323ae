//! Exact Farkas certificates that also prove minimality.
//!
//! Sides `a_i·x <= b_i` with `y >= 0`, `Σ y_i a_i = 0` and `Σ y_i b_i < 0` have no common solution: the
//! combination says `0 <= Σ y_i b_i < 0` (Farkas). If moreover all `y_i > 0` and the null space of the `a_i` has one
//! dimension, no side can be spared: a subset without solution has its own `z >= 0` with `Σ z_i a_i = 0` and
//! `Σ z_i b_i < 0`; extended by zeros, `z` is a multiple of `y`, so it has no zeros and the subset is all of them.
//! This holds for whole rows too, with both their sides, as long as no row contradicts itself: the net weights of
//! the rows are again in that null space, and where they are all 0, each row's own two sides had to conflict.
//! (Gleeson and Ryan, "Identifying minimally infeasible subsystems of inequalities", 1990.)
//!
//! The simplex method supplies a support and weights in floating point; exact ones come from the null space of the
//! support ([`start`]). A side with a negative exact weight is noise: of an equation the other side takes its place,
//! any other is dropped. If the null space has more dimensions, the support holds more than one conflict; [`shrink`]
//! then walks along null vectors until a weight becomes 0, which keeps the certificate and drops a side, until one
//! dimension is left.

use num_bigint::BigInt;

use crate::elimination::{NullSpace, SparseRow};
use crate::side::{Side, WholeSide};
use crate::verdict::Multiplier;
use crate::whole::{Whole, negate, reduce};

/// The most sides of a support that is certified exactly: elimination takes the cube of it.
const MAX_SUPPORT: usize = 3_000;

/// A side with its weight in floating point.
pub(crate) struct Weighted<'a> {
    pub(crate) side: Side<'a>,
    pub(crate) weight: f64,
}

/// Exact multipliers of an irreducible subset of these sides; `None` if the support holds no certificate.
pub(crate) fn certify(support: &[Weighted<'_>]) -> Option<Vec<Multiplier>> {
    if support.len() > MAX_SUPPORT {
        return None;
    }
    match certify_in::<i128>(support) {
        Attempt::Done(multipliers) => multipliers,
        Attempt::Overflow => match certify_in::<BigInt>(support) {
            Attempt::Done(multipliers) => multipliers,
            Attempt::Overflow => None,
        },
    }
}

enum Attempt<A> {
    Done(A),
    Overflow,
}

fn certify_in<T: Whole>(support: &[Weighted<'_>]) -> Attempt<Option<Vec<Multiplier>>> {
    let sides: Option<Vec<WholeSide<T>>> = support.iter().map(|entry| entry.side.whole()).collect();
    let Some(mut sides) = sides else { return Attempt::Overflow };
    let certificate = match start(&mut sides, support) {
        None => return Attempt::Overflow,
        Some(None) => return Attempt::Done(None),
        Some(Some(certificate)) => shrink(&sides, certificate),
    };
    match certificate {
        None => Attempt::Overflow,
        Some(None) => Attempt::Done(None),
        Some(Some(certificate)) => Attempt::Done(Some(multipliers(&certificate, &sides, support))),
    }
}

/// Whether the coefficients of these sides have a null space of one dimension.
pub(crate) fn is_irreducible(sides: &[Side<'_>]) -> bool {
    fn dimension<T: Whole>(sides: &[Side<'_>]) -> Option<usize> {
        let sides: Option<Vec<WholeSide<T>>> = sides.iter().map(Side::whole).collect();
        let sides = sides?;
        let all: Vec<usize> = (0..sides.len()).collect();
        Some(null_space(&sides, &all)?.free.len())
    }
    dimension::<i128>(sides).or_else(|| dimension::<BigInt>(sides)) == Some(1)
}

/// Indices of sides with their exact positive weights.
struct Certificate<T> {
    kept: Vec<usize>,
    weights: Vec<T>,
}

impl<T: Whole> Certificate<T> {
    /// Drops sides of weight 0.
    fn drop_zeros(&mut self) {
        let weights = std::mem::take(&mut self.weights).into_iter();
        let pairs = std::mem::take(&mut self.kept).into_iter().zip(weights);
        (self.kept, self.weights) = pairs.filter(|(_, weight)| !weight.is_zero()).unzip();
        reduce(&mut self.weights);
    }
}

/// An overflow, no certificate, or one.
type Search<T> = Option<Option<Certificate<T>>>;

/// Positive exact weights near those of the simplex method. Sides of equations may be turned.
fn start<T: Whole>(sides: &mut [WholeSide<T>], support: &[Weighted<'_>]) -> Search<T> {
    let mut kept: Vec<usize> = (0..sides.len()).collect();
    loop {
        let space = null_space(sides, &kept)?;
        if space.free.is_empty() {
            return Some(None);
        }
        let free: Vec<usize> = space.free.iter().map(|column| kept[*column]).collect();
        let weights = space.vector(&whole_weights(&free, support))?;
        let mut certificate = Certificate { kept, weights };
        let dropped = turn_equations(sides, &mut certificate, support);
        certificate.drop_zeros();
        if dropped == 0 {
            return Some(Some(certificate));
        }
        kept = certificate.kept;
    }
}

/// Turns equations with negative weights, and sets other negative weights to 0. How many these are.
fn turn_equations<T: Whole>(
    sides: &mut [WholeSide<T>],
    certificate: &mut Certificate<T>,
    support: &[Weighted<'_>],
) -> usize {
    let mut dropped = 0;
    for (index, weight) in certificate.kept.iter().zip(&mut certificate.weights) {
        if weight.is_zero() || weight.is_positive() {
            continue;
        }
        if support[*index].side.is_equation {
            sides[*index].turn();
            *weight = weight.negated();
        } else {
            *weight = T::small(0);
            dropped += 1;
        }
    }
    dropped
}

/// An irreducible certificate within another.
fn shrink<T: Whole>(sides: &[WholeSide<T>], mut certificate: Certificate<T>) -> Search<T> {
    loop {
        if !is_negative(sides, &certificate)? {
            return Some(None);
        }
        let space = null_space(sides, &certificate.kept)?;
        if space.free.len() == 1 {
            return Some(Some(certificate));
        }
        let mut unit = vec![T::small(0); space.free.len()];
        unit[0] = T::small(1);
        let direction = space.vector(&unit)?;
        certificate.weights = step(sides, &certificate, direction)?;
        certificate.drop_zeros();
    }
}

/// Whole numbers near the floating-point weights of these sides.
fn whole_weights<T: Whole>(sides: &[usize], support: &[Weighted<'_>]) -> Vec<T> {
    if sides.len() == 1 {
        return vec![T::small(1)];
    }
    let largest = sides.iter().map(|index| support[*index].weight).fold(0.0, f64::max);
    #[expect(clippy::cast_possible_truncation, reason = "a share of at most 2^20")]
    let whole = |weight: f64| ((weight / largest * f64::from(1 << 20)).round() as i64).max(1);
    sides.iter().map(|index| T::small(whole(support[*index].weight))).collect()
}

/// The weights after a step along a null vector to the first that becomes 0, in the sense of the vector in which
/// the combined limit does not grow.
fn step<T: Whole>(
    sides: &[WholeSide<T>],
    certificate: &Certificate<T>,
    mut direction: Vec<T>,
) -> Option<Vec<T>> {
    let limit = combined_limit(sides, &certificate.kept, &direction)?;
    if limit.is_positive() {
        negate(&mut direction);
    }
    if direction.iter().all(|value| value.is_zero() || value.is_positive()) {
        if !limit.is_zero() {
            return Some(direction);
        }
        negate(&mut direction);
    }
    walk(&certificate.weights, &direction)
}

/// `weights + t · direction` for the largest `t` that leaves no weight negative, up to a positive factor.
fn walk<T: Whole>(weights: &[T], direction: &[T]) -> Option<Vec<T>> {
    let mut first: Option<usize> = None;
    for index in 0..weights.len() {
        if direction[index].is_zero() || direction[index].is_positive() {
            continue;
        }
        // weight / -direction is smallest: compared by cross-multiplication of positive numbers.
        let smaller = match first {
            None => true,
            Some(best) => {
                let own = weights[index].times(&direction[best].negated())?;
                let other = weights[best].times(&direction[index].negated())?;
                !own.plus(&other.negated())?.is_positive()
            }
        };
        if smaller {
            first = Some(index);
        }
    }
    let first = first.expect("a direction with a negative entry");
    let (scale, factor) = (direction[first].negated(), weights[first].clone());
    let sums = weights.iter().zip(direction);
    sums.map(|(weight, value)| weight.times(&scale)?.plus(&value.times(&factor)?)).collect()
}

fn is_negative<T: Whole>(sides: &[WholeSide<T>], certificate: &Certificate<T>) -> Option<bool> {
    let limit = combined_limit(sides, &certificate.kept, &certificate.weights)?;
    Some(!limit.is_zero() && !limit.is_positive())
}

fn combined_limit<T: Whole>(sides: &[WholeSide<T>], kept: &[usize], weights: &[T]) -> Option<T> {
    let mut sum = T::small(0);
    for (index, weight) in kept.iter().zip(weights) {
        sum = sum.plus(&sides[*index].limit.times(weight)?)?;
    }
    Some(sum)
}

/// The null space of the coefficients of the kept sides: one column for each side, one row for each variable.
fn null_space<T: Whole>(sides: &[WholeSide<T>], kept: &[usize]) -> Option<NullSpace<T>> {
    let variables = kept.iter().flat_map(|index| sides[*index].terms.iter());
    let variables = variables.map(|(variable, _)| variable + 1).max().unwrap_or(0);
    let mut rows: Vec<SparseRow<T>> = vec![Vec::new(); variables];
    for (column, index) in kept.iter().enumerate() {
        for (variable, value) in &sides[*index].terms {
            rows[*variable].push((column, value.clone()));
        }
    }
    NullSpace::of(rows, kept.len())
}

/// The weights for the sides as they are in the model, without their powers of two.
fn multipliers<T: Whole>(
    certificate: &Certificate<T>,
    sides: &[WholeSide<T>],
    support: &[Weighted<'_>],
) -> Vec<Multiplier> {
    let exponents = certificate.kept.iter().map(|index| sides[*index].exponent);
    let largest = exponents.max().unwrap_or(0);
    let mut weights: Vec<BigInt> = (certificate.kept.iter().zip(&certificate.weights))
        .map(|(index, weight)| weight.to_big() << (largest - sides[*index].exponent).unsigned_abs())
        .collect();
    reduce(&mut weights);
    let entries = certificate.kept.iter().zip(weights);
    entries
        .map(|(index, weight)| {
            let (side, is_turned) = (&support[*index].side, sides[*index].is_turned);
            let sense = if is_turned { side.sense.opposite() } else { side.sense };
            Multiplier { member: side.member, sense, weight }
        })
        .collect()
}
