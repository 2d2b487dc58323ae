//! The deletion filter: which rows and bounds a conflict cannot do without, by the simplex method alone.
//!
//! It takes many solves, so it is the last resort where no weights of [`crate::farkas`] hold in exact arithmetic and
//! the model is too large for [`crate::exact`]. Blocks of members are taken out together and halved
//! only where they matter. The members left are certified exactly like any others: their rows have one null vector
//! up to scale, and its signs say which side of a row takes part.

use crate::certificate::{Weighted, certify};
use crate::limits::{Limits, SolverError};
use crate::side::Side;
use crate::simplex::{self, Answer};
use crate::verdict::{Member, Multiplier, Sense};
use crate::view::View;

/// The most solves of one filter; after them all members that are left stay.
const MAX_SOLVES: usize = 1_000;

/// Exact multipliers of a conflict within a view that the simplex method finds infeasible; `None` if there are none.
pub(crate) fn find(
    view: &View<'_>,
    limits: &Limits,
) -> Result<Option<Vec<Multiplier>>, SolverError> {
    let mut filter = Filter { view: view.without_objective(), limits, kept: Vec::new(), solves: 0 };
    if !is_infeasible(&filter.view, limits)? {
        return Ok(None);
    }
    filter.block(&view.members())?;
    Ok(orient(view, &filter.kept))
}

/// Whether the simplex method says so. A failure counts as no; running out of time is an error.
fn is_infeasible(view: &View<'_>, limits: &Limits) -> Result<bool, SolverError> {
    match simplex::run(view, limits) {
        Err(error) if error.is_out_of_time() => Err(error),
        answer => Ok(matches!(answer, Ok(Answer::Infeasible))),
    }
}

struct Filter<'a, 'b> {
    view: View<'a>,
    limits: &'b Limits,
    kept: Vec<Member>,
    solves: usize,
}

impl Filter<'_, '_> {
    /// Takes out of a block what the conflict does not need. A failure keeps it: the certificate decides.
    fn block(&mut self, members: &[Member]) -> Result<(), SolverError> {
        let mut trial = self.view.clone();
        for member in members {
            trial.remove(*member);
        }
        self.solves += 1;
        if self.solves > MAX_SOLVES {
            self.kept.extend(members);
        } else if is_infeasible(&trial, self.limits)? {
            self.view = trial;
        } else if let [member] = members {
            self.kept.push(*member);
        } else {
            let (first, second) = members.split_at(members.len() / 2);
            self.block(first)?;
            self.block(second)?;
        }
        Ok(())
    }
}

/// Multipliers of members whose coefficients have one null vector: that vector with either sign.
fn orient(view: &View<'_>, members: &[Member]) -> Option<Vec<Multiplier>> {
    [Sense::Lower, Sense::Upper].into_iter().find_map(|preferred| {
        // Of a range one limit takes part, of an equation the sign of the null vector tells.
        let sides = members.iter().flat_map(|member| sides(view, *member, preferred));
        let support: Vec<Weighted<'_>> = sides.map(|side| Weighted { side, weight: 1.0 }).collect();
        certify(&support)
    })
}

fn sides<'a>(view: &View<'a>, member: Member, preferred: Sense) -> Vec<Side<'a>> {
    let mut sides = Side::of(view, member);
    if sides.len() == 2 {
        sides.retain(|side| side.sense == preferred);
    }
    sides
}
