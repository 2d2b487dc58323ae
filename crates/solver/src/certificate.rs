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
//! The simplex method supplies a support and weights in floating point. The weights are discarded but for their
//! signs: exact ones come from the null space of the support. If that has more dimensions, the support holds more
//! than one conflict; [`shrink`] then walks along null vectors until a weight becomes 0, which keeps the certificate
//! and drops a side, until one dimension is left.

use num_bigint::BigInt;

use crate::elimination::{NullSpace, SparseRow};
use crate::side::{Side, WholeSide};
use crate::verdict::Multiplier;
use crate::whole::{Whole, reduce};

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
    let Some(sides) = sides else { return Attempt::Overflow };
    match shrink(&sides, support) {
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
    /// Drops sides of weight 0. Whether no weight was negative.
    fn drop_zeros(&mut self) -> bool {
        let weights = std::mem::take(&mut self.weights);
        let kept = std::mem::take(&mut self.kept);
        for (index, weight) in kept.into_iter().zip(weights) {
            if weight.is_zero() {
                continue;
            }
            if !weight.is_positive() {
                return false;
            }
            self.kept.push(index);
            self.weights.push(weight);
        }
        reduce(&mut self.weights);
        true
    }
}

/// An irreducible certificate within the support. Outer `None`: overflow; inner `None`: there is none.
#[expect(
    clippy::option_option,
    reason = "an overflow is retried in larger numbers, a missing certificate is not"
)]
fn shrink<T: Whole>(
    sides: &[WholeSide<T>],
    support: &[Weighted<'_>],
) -> Option<Option<Certificate<T>>> {
    let kept: Vec<usize> = (0..sides.len()).collect();
    let space = null_space(sides, &kept)?;
    if space.free.is_empty() {
        return Some(None);
    }
    let weights = space.vector(&start(&space.free, support))?;
    let mut certificate = Certificate { kept, weights };
    loop {
        if !certificate.drop_zeros() || !is_negative(sides, &certificate)? {
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
    }
}

/// Whole numbers near the floating-point weights of the free sides.
fn start<T: Whole>(free: &[usize], support: &[Weighted<'_>]) -> Vec<T> {
    if free.len() == 1 {
        return vec![T::small(1)];
    }
    let largest = free.iter().map(|index| support[*index].weight).fold(0.0, f64::max);
    let whole = |weight: f64| ((weight / largest * f64::from(1 << 20)).round() as i64).max(1);
    free.iter().map(|index| T::small(whole(support[*index].weight))).collect()
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
        direction.iter_mut().for_each(|value| *value = value.negated());
    }
    if direction.iter().all(|value| value.is_zero() || value.is_positive()) {
        if !limit.is_zero() {
            return Some(direction);
        }
        direction.iter_mut().for_each(|value| *value = value.negated());
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
            let side = &support[*index].side;
            Multiplier { member: side.member, sense: side.sense, weight }
        })
        .collect()
}
