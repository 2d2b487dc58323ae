//! Rule `paths`: a path named in a document is there.
//!
//! A path is inline code that starts with one of our top-level folders, or the bare name of a
//! `.md` file; that one may also stand next to the document that names it. Of a pattern
//! (`benches/baselines/*.json`, `docs/adr/<number>-<title>.md`) the folder must be there.
//! CHANGELOG.md speaks of the past and is left alone.

use super::Problem;
use super::markdown;
use super::tree::{Tree, has_extension};

const RULE: &str = "paths";

const PAGES: &[&str] = &["ARCHITECTURE.md", "README.md", "README.zh-CN.md", "CONTRIBUTING.md"];

const FOLDERS: &[&str] =
    &["crates/", "docs/", "benches/", "fuzz/", "xtask/", "configs/", "dist/", ".ci/", ".config/"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.texts().filter(|(path, _)| is_page(path));
    pages.flat_map(|(path, text)| dead_paths(tree, path, text)).collect()
}

fn is_page(path: &str) -> bool {
    PAGES.contains(&path) || (path.starts_with("docs/") && has_extension(path, "md"))
}

fn dead_paths(tree: &Tree, page: &str, text: &str) -> Vec<Problem> {
    let spans = markdown::spans(text).into_iter();
    let dead = spans.filter(|(_, span)| looks_like_path(span) && !is_there(tree, page, span));
    dead.map(|(line, span)| {
        Problem::new(RULE, &format!("{page}:{line}"), format!("`{span}` is not there"))
    })
    .collect()
}

fn looks_like_path(span: &str) -> bool {
    let one_word = !span.contains(char::is_whitespace);
    let in_folder = FOLDERS.iter().any(|folder| span.starts_with(folder));
    one_word && (in_folder || (!span.contains(['/', '*', '<']) && has_extension(span, "md")))
}

fn is_there(tree: &Tree, page: &str, span: &str) -> bool {
    let path = certain_part(span);
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    tree.has(path) || (!path.contains('/') && tree.has(&format!("{folder}/{path}")))
}

/// The path up to a `:line` or `#anchor`, or the last whole folder before a placeholder.
fn certain_part(span: &str) -> &str {
    let path = span.split([':', '#']).next().unwrap_or(span);
    match path.find(['*', '<', '{', '…', '$']) {
        Some(at) => path[..at].rsplit_once('/').map_or(path, |(folder, _)| folder),
        None => path,
    }
}
