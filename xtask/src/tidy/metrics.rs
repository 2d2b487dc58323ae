//! Rule `metrics`: a metric has its name in one place, `crates/core/src/metric.rs`.
//!
//! Product code names a metric by its constant: a literal that begins with a family of metrics
//! (`grpo/…`) is a name of its own, and a rename would miss it. Scripts and documents cannot use the
//! constants; each name that they quote must be in the table. Tests spell names out, so that one that
//! changes is noticed.

use std::collections::BTreeSet;

use super::Problem;
use super::tree::{Tree, has_extension};

const RULE: &str = "metrics";
const TABLE: &str = "crates/core/src/metric.rs";

/// What names are quoted with.
const QUOTES: &[char] = &['"', '`'];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(table) = tree.text(TABLE) else { return Vec::new() };
    let names: BTreeSet<&str> = quoted(product(table)).map(|(_, name)| name).collect();
    let families: BTreeSet<&str> =
        names.iter().filter_map(|name| name.split_once('/')).map(|(family, _)| family).collect();
    let of_family = |name: &str| name.split_once('/').is_some_and(|(of, _)| families.contains(of));
    let mut problems = Vec::new();
    for (path, text) in tree.texts() {
        let is_product = is_product(path);
        let text = if is_product { product(text) } else { text };
        let is_page = has_extension(path, "js") || path.starts_with("docs/guides/");
        for (line, name) in quoted(text).filter(|(_, name)| of_family(name)) {
            let message = match (is_product, is_page) {
                (true, _) => {
                    format!("spells out the metric `{name}`: use its constant in `{TABLE}`")
                }
                (_, true) if !names.contains(name) => {
                    format!("names the metric `{name}`, which is not in `{TABLE}`")
                }
                _ => continue,
            };
            problems.push(Problem::new(RULE, &format!("{path}:{line}"), message));
        }
    }
    problems
}

/// Whether a file is product code, tests apart.
fn is_product(path: &str) -> bool {
    let is_test = path.ends_with("tests.rs") || path.ends_with("testing.rs");
    let is_source = path.starts_with("crates/") && path.contains("/src/");
    is_source && has_extension(path, "rs") && path != TABLE && !is_test
}

/// A source file up to its tests.
fn product(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

/// Every `family/word` between quotes, with its line.
fn quoted(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines.flat_map(|(at, line)| line.split(QUOTES).map(move |part| (at + 1, part))).filter(
        |(_, part)| {
            part.split_once('/').is_some_and(|(family, word)| is_word(family) && is_word(word))
        },
    )
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
