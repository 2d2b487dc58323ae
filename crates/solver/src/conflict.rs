//! Irreducible infeasible subsystems of a model without integers.

use std::collections::BTreeSet;

use num_bigint::BigInt;

use crate::deletion;
use crate::exact::{self, Outcome};
use crate::farkas::{self, Conflict};
use crate::float;
use crate::limits::{Limits, SolverError};
use crate::side::Side;
use crate::tableau::Budget;
use crate::verdict::{Infeasibility, InfeasibilityProof, Member, Multiplier, Sense};
use crate::view::View;

/// Norms that are tried for an exact certificate, the later ones where whole numbers take too much work.
const RETRIES: u64 = 4;

/// The weights of the sides in the norm, which decide among several conflicts.
#[derive(Clone, Copy)]
pub(crate) enum Norm {
    /// All the same.
    Uniform,
    /// Drawn from this seed.
    Random(u64),
}

/// A conflict of the rows and bounds over continuous variables; `None` if there is none.
pub(crate) fn find(
    view: &View<'_>,
    norm: Norm,
    limits: &Limits,
) -> Result<Option<Infeasibility>, SolverError> {
    if let Some(found) = contradiction(view, norm) {
        return Ok(Some(found));
    }
    let sides = Side::all(view);
    let sides: Vec<Side<'_>> =
        sides.into_iter().filter(|side| side.terms().next().is_some()).collect();
    let mut last = None;
    for norm in norm.attempts() {
        match farkas::find(&sides, &norm.weights(sides.len()), limits)? {
            None => return Ok(None),
            Some(Conflict::Exact(multipliers)) => return Ok(Some(certified(multipliers))),
            Some(Conflict::Float(support)) if last.is_none() => {
                match exact::find(view, &support, Budget::USUAL) {
                    Outcome::Conflict(multipliers) => return Ok(Some(certified(multipliers))),
                    Outcome::Feasible => return Ok(None),
                    Outcome::OutOfBudget => last = Some(support),
                }
            }
            Some(Conflict::Float(support)) => last = Some(support),
        }
    }
    if let Some(multipliers) = deletion::find(view, limits)? {
        return Ok(Some(certified(multipliers)));
    }
    Ok(last.map(|support| float::conflict(&support)))
}

fn certified(multipliers: Vec<Multiplier>) -> Infeasibility {
    let members: BTreeSet<Member> = multipliers.iter().map(|entry| entry.member).collect();
    Infeasibility {
        members: members.into_iter().collect(),
        proof: InfeasibilityProof::Exact { multipliers },
    }
}

/// A row or a variable that contradicts itself: an empty row such as `0 >= 3`, or a lower limit above the upper.
pub(crate) fn contradiction(view: &View<'_>, norm: Norm) -> Option<Infeasibility> {
    let rows = view.rows.iter().enumerate().filter_map(|(index, row)| {
        let member = Member::Row(index);
        let is_empty = row.terms.iter().all(|term| term.coefficient == 0.0);
        let (lower, upper) = (unit(member, Sense::Lower), unit(member, Sense::Upper));
        match () {
            () if is_empty && row.lower > 0.0 => Some(vec![lower]),
            () if is_empty && row.upper < 0.0 => Some(vec![upper]),
            () if row.lower > row.upper => Some(vec![lower, upper]),
            () => None,
        }
    });
    let columns = view.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| column.lower > column.upper).map(|(index, _)| {
        let lower = unit(Member::LowerBound(index), Sense::Lower);
        vec![lower, unit(Member::UpperBound(index), Sense::Upper)]
    });
    let mut found: Vec<Vec<Multiplier>> = rows.chain(columns).collect();
    let count = found.len();
    (count > 0).then(|| certified(found.swap_remove(norm.choice(count))))
}

fn unit(member: Member, sense: Sense) -> Multiplier {
    Multiplier { member, sense, weight: BigInt::from(1) }
}

impl Norm {
    /// This norm, and others for models on which no exact certificate is found with it.
    fn attempts(self) -> impl Iterator<Item = Self> {
        let seed = match self {
            Self::Uniform => 0,
            Self::Random(seed) => seed,
        };
        std::iter::once(self)
            .chain((1..RETRIES).map(move |retry| Self::Random(seed.wrapping_add(retry << 32))))
    }

    fn weights(self, count: usize) -> Vec<f64> {
        match self {
            Self::Uniform => vec![1.0; count],
            Self::Random(seed) => {
                let mut state = seed;
                (0..count).map(|_| 0.1 + uniform(&mut state) * 10.0).collect()
            }
        }
    }

    fn choice(self, count: usize) -> usize {
        match self {
            Self::Uniform => 0,
            Self::Random(seed) => usize::try_from(seed % count as u64).unwrap_or(0),
        }
    }
}

/// The next number in [0, 1) of `SplitMix64`.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
