//! Rule `adr`: decisions are numbered from 0001 without a gap, and the index lists them all.

use super::Problem;
use super::tree::Tree;

const RULE: &str = "adr";
const FOLDER: &str = "docs/adr";
const INDEX: &str = "docs/adr/README.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let names = tree.names_in(FOLDER);
    let records: Vec<&str> = names.into_iter().filter(|name| *name != "README.md").collect();
    let mut problems = Vec::new();
    for (at, name) in records.iter().enumerate() {
        problems.extend(misnumbered(name, at + 1));
    }
    let index = tree.text(INDEX).unwrap_or_default();
    problems.extend(
        records
            .iter()
            .filter(|name| !index.contains(*name))
            .map(|name| Problem::new(RULE, INDEX, format!("does not list `{name}`: link to it"))),
    );
    problems
}

/// Names are sorted, so a gap or a double shows as a number that is not its place.
fn misnumbered(name: &str, place: usize) -> Option<Problem> {
    let title =
        name.strip_prefix(&format!("{place:04}-")).and_then(|rest| rest.strip_suffix(".md"));
    if title.is_some_and(|title| !title.is_empty()) {
        return None;
    }
    let message = format!("expected `{place:04}-<title>.md` here: no gaps, no doubles");
    Some(Problem::new(RULE, &format!("{FOLDER}/{name}"), message))
}
