//! Farkas certificates in floating point: the last resort, with a stated tolerance.

use std::collections::BTreeSet;

use crate::certificate::Weighted;
use crate::side::Side;
use crate::verdict::{FloatMultiplier, Infeasibility, InfeasibilityProof, Member};
use crate::view::View;

/// The conflict of a support as the simplex method gave it.
pub(crate) fn conflict(support: &[Weighted<'_>]) -> Infeasibility {
    let members: BTreeSet<Member> = support.iter().map(|entry| entry.side.member).collect();
    let multipliers = support.iter().map(|entry| FloatMultiplier {
        member: entry.side.member,
        sense: entry.side.sense,
        weight: entry.weight,
    });
    let residual = combination(support.iter().map(|entry| (&entry.side, entry.weight)));
    let residual = residual.unwrap_or(f64::INFINITY);
    Infeasibility {
        members: members.into_iter().collect(),
        proof: InfeasibilityProof::Float { multipliers: multipliers.collect(), residual },
    }
}

/// The largest coefficient left in the combination, relative to the size of its terms. `None` if the combined
/// limit is not negative beyond rounding, a weight is not positive, or a side does not exist.
pub(crate) fn residual(view: &View<'_>, multipliers: &[FloatMultiplier]) -> Option<f64> {
    let sides: Option<Vec<Side<'_>>> =
        multipliers.iter().map(|entry| Side::one(view, entry.member, entry.sense)).collect();
    let sides = sides?;
    combination(sides.iter().zip(multipliers.iter().map(|entry| entry.weight)))
}

fn combination<'a, 'b: 'a>(entries: impl Iterator<Item = (&'a Side<'b>, f64)>) -> Option<f64> {
    let mut sums: Vec<(f64, f64)> = Vec::new();
    let (mut limit, mut size) = (0.0, 0.0);
    for (side, weight) in entries {
        if !(weight > 0.0 && weight.is_finite()) {
            return None;
        }
        limit += weight * side.limit();
        size += (weight * side.limit()).abs();
        for term in side.terms() {
            if sums.len() <= term.variable {
                sums.resize(term.variable + 1, (0.0, 0.0));
            }
            let product = weight * term.coefficient;
            sums[term.variable].0 += product;
            sums[term.variable].1 += product.abs();
        }
    }
    if limit >= -crate::verdict::RESIDUAL * size {
        return None;
    }
    let shares = sums.iter().filter(|(_, size)| *size > 0.0).map(|(sum, size)| sum.abs() / size);
    Some(shares.fold(0.0, f64::max))
}
