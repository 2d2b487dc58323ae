//! Rule `edges`: a crate depends on what its row in ARCHITECTURE.md allows, and nothing else.
//!
//! Tests may look further: dev-dependencies are free, save where an invariant forbids the edge
//! (`invariants`).

use super::Problem;
use super::manifest::{self, Crate, Kind};
use super::rooms::{self, Room};
use super::tree::Tree;

const RULE: &str = "edges";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let rooms = rooms::read(tree);
    let crates = manifest::crates(tree);
    let row_of = |member: &Crate| rooms.built.iter().find(|room| room.name == member.name);
    crates.iter().filter_map(|member| Some(forbidden(member, row_of(member)?))).flatten().collect()
}

fn forbidden(member: &Crate, room: &Room) -> Vec<Problem> {
    let edges = member.edges.iter().filter(|(_, kind)| *kind == Kind::Build);
    edges
        .filter(|(to, _)| !room.allows(to))
        .map(|(to, _)| {
            let message = format!(
                "`{}` may not depend on `{to}`: turn the edge round, or change its row in {} and \
                 say why there",
                member.name,
                rooms::PAGE
            );
            Problem::new(RULE, &manifest::manifest_of(&member.name), message)
        })
        .collect()
}
