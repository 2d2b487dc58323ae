//! Rule `site`: every page has its place in the docs site.
//!
//! Pages are the Markdown files of the root and of `docs/`. The place is chosen by people: by the order in which
//! somebody reads who is new.

use super::Problem;
use super::tree::{Tree, has_extension};
use crate::site::pages::{self, section_of};

const RULE: &str = "site";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.texts().map(|(path, _)| path).filter(|path| is_page(path));
    let forgotten = pages.filter(|path| section_of(path).is_none());
    let problem = |page| {
        let message =
            format!("has no place in the docs site: add it to `SECTIONS` in {}", pages::HERE);
        Problem::new(RULE, page, message)
    };
    forgotten.map(problem).collect()
}

fn is_page(path: &str) -> bool {
    has_extension(path, "md") && (path.starts_with("docs/") || !path.contains('/'))
}
