//! Checks of certificates, independent of how they were found.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use crate::certificate::is_irreducible;
use crate::float;
use crate::model::Model;
use crate::point;
use crate::refutation::Refutation;
use crate::side::Side;
use crate::verdict::{Infeasibility, InfeasibilityProof, Member, Multiplier, RESIDUAL};
use crate::view::View;
use crate::whole::Whole;

/// A certificate does not prove what it claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// The multipliers or the tree do not prove that there is no solution.
    #[error("the members are not proven infeasible")]
    NotInfeasible,
    /// A member that the proof does not use, or a solution of the others that is none.
    #[error("the members are not proven irreducible")]
    NotIrreducible,
}

/// Checks in exact arithmetic that the members have no common solution and that none of them can be spared.
pub fn check_infeasibility(model: &Model, claim: &Infeasibility) -> Result<(), CertificateError> {
    check_conflict(&View::of(model), claim)
}

pub(crate) fn check_conflict(
    view: &View<'_>,
    claim: &Infeasibility,
) -> Result<(), CertificateError> {
    match &claim.proof {
        InfeasibilityProof::Exact { multipliers } => {
            check_multipliers(view, &claim.members, multipliers)
        }
        InfeasibilityProof::Integer { refutation, witnesses } => {
            let members = &claim.members;
            check_tree(view, members, refutation)?;
            check_witnesses(view, members, witnesses)
        }
        InfeasibilityProof::Float { multipliers, .. } => {
            let holds = float::residual(view, multipliers).is_some_and(|rest| rest <= RESIDUAL);
            if holds { Ok(()) } else { Err(CertificateError::NotInfeasible) }
        }
    }
}

fn check_multipliers(
    view: &View<'_>,
    members: &[Member],
    multipliers: &[Multiplier],
) -> Result<(), CertificateError> {
    if !holds(view, multipliers) {
        return Err(CertificateError::NotInfeasible);
    }
    let used: BTreeSet<Member> = multipliers.iter().map(|entry| entry.member).collect();
    let sides: Vec<Side<'_>> =
        multipliers.iter().filter_map(|entry| Side::one(view, entry.member, entry.sense)).collect();
    if !used.iter().eq(members) || !is_irreducible(&sides) {
        return Err(CertificateError::NotIrreducible);
    }
    Ok(())
}

fn check_tree(
    view: &View<'_>,
    members: &[Member],
    refutation: &Refutation,
) -> Result<(), CertificateError> {
    let proves = refutation.proves(&view.only(members));
    if proves { Ok(()) } else { Err(CertificateError::NotInfeasible) }
}

fn check_witnesses(
    view: &View<'_>,
    members: &[Member],
    witnesses: &[Option<Vec<f64>>],
) -> Result<(), CertificateError> {
    let all = view.only(members);
    let is_spared = |member: Member, witness: &[f64]| {
        let mut others = all.clone();
        others.remove(member);
        witness.len() == others.columns.len() && point::check(&others, witness).is_some()
    };
    let pairs = members.iter().zip(witnesses);
    let is_valid = witnesses.len() == members.len()
        && pairs
            .filter_map(|(member, witness)| Some((member, witness.as_ref()?)))
            .all(|(member, witness)| is_spared(*member, witness));
    if is_valid { Ok(()) } else { Err(CertificateError::NotIrreducible) }
}

/// Whether the multipliers prove that the view has no solution over continuous variables: positive weights of
/// sides that exist, whose combination is `0 <= negative`.
pub(crate) fn holds(view: &View<'_>, multipliers: &[Multiplier]) -> bool {
    holds_exactly(view, multipliers).unwrap_or(false)
}

fn holds_exactly(view: &View<'_>, multipliers: &[Multiplier]) -> Option<bool> {
    let mut sides = Vec::with_capacity(multipliers.len());
    for entry in multipliers {
        let side = Side::one(view, entry.member, entry.sense)?;
        sides.push(side.whole::<BigInt>()?);
    }
    let least = sides.iter().map(|side| side.exponent).min()?;
    let mut left: BTreeMap<usize, BigInt> = BTreeMap::new();
    let mut right = BigInt::small(0);
    for (side, entry) in sides.iter().zip(multipliers) {
        if !entry.weight.is_positive() {
            return Some(false);
        }
        let weight = &entry.weight << (side.exponent - least).unsigned_abs();
        for (variable, coefficient) in &side.terms {
            *left.entry(*variable).or_default() += coefficient * &weight;
        }
        right += &side.limit * &weight;
    }
    Some(left.values().all(Whole::is_zero) && Whole::sign(&right).is_lt())
}
