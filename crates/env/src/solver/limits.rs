//! The bounds of a solve in an episode.
//!
//! Time differs from machine to machine, so an edit after which a search has no end must stop by something that does
//! not: branch-and-bound nodes, of which a larger model gets fewer. The time limit stays as the last resort
//! (`docs/adr/0019-solver-reward.md` has the measurements).

use whetstone_solver::{Limits, Model};

/// Nodes times the size of the model, at most.
const WORK: usize = 100_000;
/// The fewest nodes of a search.
const MIN_NODES: usize = 100;
/// The most nodes of a search.
const MAX_NODES: usize = 2_000;

/// The bounds of a solve of this model. They follow from its size alone.
pub fn limits(model: &Model) -> Limits {
    let terms: usize = model.rows.iter().map(|row| row.terms.len()).sum();
    let size = model.rows.len() + model.variables.len() + terms;
    Limits { max_nodes: (WORK / size.max(1)).clamp(MIN_NODES, MAX_NODES), ..Limits::default() }
}
