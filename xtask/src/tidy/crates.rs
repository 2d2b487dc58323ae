//! Rule `crates`: folders, workspace members and the map in ARCHITECTURE.md agree.
//!
//! The order of members is the order of the map is the order data flows in. A crate that is not
//! there yet has its row in the table of planned crates, so the map never shows a room that
//! cannot be entered.

use std::collections::BTreeSet;

use super::Problem;
use super::manifest::{self, Crate};
use super::rooms::{self, Allowed, Rooms};
use super::tree::Tree;

const RULE: &str = "crates";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let rooms = rooms::read(tree);
    if rooms.built.is_empty() {
        let message = format!("has no table headed `| {} |`", rooms::BUILT.join(" | "));
        return vec![Problem::new(RULE, rooms::PAGE, message)];
    }
    let crates = manifest::crates(tree);
    let mut problems = misnamed(&crates);
    problems.extend(unlisted(&crates, &rooms));
    problems.extend(absent(&crates, &rooms));
    problems.extend(unknown_names(&rooms));
    problems.extend(order(tree, &rooms));
    problems
}

fn misnamed(crates: &[Crate]) -> Vec<Problem> {
    let wrong =
        crates.iter().filter(|member| member.package != format!("whetstone-{}", member.name));
    wrong
        .map(|member| {
            let message = format!(
                "package `{}`: call it `whetstone-{}`, as its folder",
                member.package, member.name
            );
            Problem::new(RULE, &manifest::manifest_of(&member.name), message)
        })
        .collect()
}

fn unlisted(crates: &[Crate], rooms: &Rooms) -> Vec<Problem> {
    let listed = |name: &str| rooms.built.iter().any(|room| room.name == name);
    let missing = crates.iter().filter(|member| !listed(&member.name));
    missing
        .map(|member| {
            let message = format!(
                "unlisted crate `{}`: give it a row in the table of crates (and take it out of \
                 the planned ones)",
                member.name
            );
            Problem::new(RULE, rooms::PAGE, message)
        })
        .collect()
}

fn absent(crates: &[Crate], rooms: &Rooms) -> Vec<Problem> {
    let there = |name: &str| crates.iter().any(|member| member.name == name);
    let built = rooms.built.iter().filter(|room| !there(&room.name)).map(|room| {
        format!("crate `{0}` has a row but no `crates/{0}/Cargo.toml`: it is planned", room.name)
    });
    let planned = rooms.planned.iter().filter(|room| there(&room.name)).map(|room| {
        format!("crate `{}` is there, and its row still among the planned ones", room.name)
    });
    built.chain(planned).map(|message| Problem::new(RULE, rooms::PAGE, message)).collect()
}

fn unknown_names(rooms: &Rooms) -> Vec<Problem> {
    let all = || rooms.built.iter().chain(&rooms.planned);
    let known: BTreeSet<&String> = all().map(|room| &room.name).collect();
    let mut problems = Vec::new();
    for room in all() {
        let Allowed::Only(names) = &room.allowed else { continue };
        for name in names.iter().filter(|name| !known.contains(name)) {
            let message = format!("the row of `{}` names `{name}`, which has no row", room.name);
            problems.push(Problem::new(RULE, rooms::PAGE, message));
        }
    }
    problems
}

fn order(tree: &Tree, rooms: &Rooms) -> Vec<Problem> {
    let members = manifest::workspace_list(&manifest::read(tree, "Cargo.toml"), "members");
    let members: Vec<&str> =
        members.iter().filter_map(|path| path.strip_prefix("crates/")).collect();
    let map: Vec<&str> = rooms.built.iter().map(|room| room.name.as_str()).collect();
    if members == map {
        return vec![];
    }
    let message = format!(
        "members under `crates/` are [{}], but {} lists [{}]: same crates, same order",
        members.join(", "),
        rooms::PAGE,
        map.join(", ")
    );
    vec![Problem::new(RULE, "Cargo.toml", message)]
}
