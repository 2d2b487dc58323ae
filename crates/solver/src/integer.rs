//! Irreducible infeasible subsystems of a model with integers.
//!
//! A refutation names the rows and bounds it uses, which are few. Of these a deletion filter drops each one
//! without which there is still no solution; for each that stays it keeps a solution of the others. The rest is
//! refuted anew, so that the proof speaks of the members alone.

use crate::limits::{Limits, SolverError};
use crate::point;
use crate::refutation::{Node, Refutation};
use crate::simplex::{self, Answer};
use crate::verdict::{Infeasibility, InfeasibilityProof, Member};
use crate::view::View;

/// Nodes that the filter spends on one member, at most. A member for which they do not suffice stays.
const FILTER_NODES: usize = 1_000;
/// Nodes that the filter has for each member, however many there are.
const MIN_FILTER_NODES: usize = 20;

/// A conflict of a view that branch and bound found infeasible.
pub(crate) fn find(view: &View<'_>, limits: &Limits) -> Result<Infeasibility, SolverError> {
    let refutation = Refutation::build(view, limits)?;
    let used = refutation.members(view);
    let filtered = filter(view, &used, limits)?;
    if filtered.members.len() == used.len() {
        return Ok(conflict(filtered, refutation));
    }
    let refutation = Refutation::build(&view.only(&filtered.members), limits)?;
    Ok(conflict(filtered, refutation))
}

/// A row that no whole numbers satisfy, found without a search.
pub(crate) fn by_divisibility(view: &View<'_>) -> Option<Infeasibility> {
    let refutation = Refutation::by_divisibility(view)?;
    let members = refutation.members(view);
    let witnesses = vec![Some(vec![0.0; view.columns.len()])];
    Some(Infeasibility { members, proof: InfeasibilityProof::Integer { refutation, witnesses } })
}

/// Members that cannot be spared, each with a solution of the others where one was found.
struct Filtered {
    members: Vec<Member>,
    witnesses: Vec<Option<Vec<f64>>>,
}

fn conflict(filtered: Filtered, mut refutation: Refutation) -> Infeasibility {
    let Filtered { members, witnesses } = filtered;
    if let [Node::Leaf { multipliers }] = &mut refutation.nodes[..]
        && multipliers.len() == members.len()
    {
        let multipliers = std::mem::take(multipliers);
        return Infeasibility { members, proof: InfeasibilityProof::Exact { multipliers } };
    }
    Infeasibility { members, proof: InfeasibilityProof::Integer { refutation, witnesses } }
}

fn filter(view: &View<'_>, used: &[Member], limits: &Limits) -> Result<Filtered, SolverError> {
    // All members together may spend about as much as one search.
    let max_nodes = limits.max_nodes / used.len().max(1);
    let limits = Limits { max_nodes: max_nodes.clamp(MIN_FILTER_NODES, FILTER_NODES), ..*limits };
    let mut current = view.only(used).without_objective();
    let (mut members, mut witnesses) = (Vec::new(), Vec::new());
    for member in used {
        let mut trial = current.clone();
        trial.remove(*member);
        match simplex::run(&trial, &limits) {
            Ok(Answer::Infeasible) => current = trial,
            Ok(Answer::Point(point)) => {
                members.push(*member);
                witnesses.push(point::witness(&trial, &point, &limits)?.map(|found| found.values));
            }
            Err(error) if error.is_out_of_time() => return Err(error),
            Ok(Answer::Unbounded) | Err(_) => {
                members.push(*member);
                witnesses.push(None);
            }
        }
    }
    Ok(Filtered { members, witnesses })
}
