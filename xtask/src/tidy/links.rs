//! Rule `links`: a link in a Markdown page leads to a file that is there, and its anchor to a heading.
//!
//! Links to other hosts are not followed: this rule reads files and nothing else. Files that are input to tests
//! may hold what they like.

use super::Problem;
use super::tree::{Tree, has_extension, is_test_data};
use crate::site::links::{anchors, is_outside, links, resolve};

const RULE: &str = "links";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.texts().filter(|(path, _)| has_extension(path, "md") && !is_test_data(path));
    pages.flat_map(|(path, text)| dead_links(tree, path, text)).collect()
}

fn dead_links(tree: &Tree, page: &str, text: &str) -> Vec<Problem> {
    let problem = |(line, target): (usize, &str)| {
        let why = dead(tree, page, target)?;
        Some(Problem::new(RULE, &format!("{page}:{line}"), format!("the link `{target}` {why}")))
    };
    let targets = links(text).into_iter().map(|link| (link.line, &text[link.target]));
    targets.filter_map(problem).collect()
}

/// Why a target leads nowhere, if it does.
fn dead(tree: &Tree, page: &str, target: &str) -> Option<&'static str> {
    if is_outside(target) {
        return None;
    }
    let Some((path, anchor)) = resolve(page, target) else {
        return Some("leads out of the repository");
    };
    if !tree.has(&path) {
        return Some("leads to no file");
    }
    let is_there = |anchor| tree.text(&path).is_some_and(|text| anchors(text).contains(anchor));
    match anchor {
        Some(anchor) if !is_there(anchor) => Some("leads to no heading of that page"),
        _ => None,
    }
}
