//! Tidy: promises about the repository that no compiler checks.
//!
//! Each rule is one small file with one function from a [`Tree`](tree::Tree) to its problems.
//! Tidy reads files and nothing else: it starts no process and needs no git, so a test can hand
//! it a miniature repository in a temporary folder. The real one is held by
//! `the_repository_is_tidy` in `xtask/tests/tidy/main.rs`.

mod adr;
mod changelog;
mod ci_command;
mod confined;
mod crates;
mod cycles;
mod dependencies;
mod edges;
pub mod generated;
mod head;
mod invariants;
mod links;
mod manifest;
mod markdown;
mod metrics;
mod parameters;
mod paths;
mod readme_twin;
mod recipes;
mod rooms;
pub(crate) mod rust_code;
pub(crate) mod signatures;
mod site;
mod sizes;
pub(crate) mod tree;
pub mod words;

use std::fmt;
use std::path::Path;

use tree::Tree;

/// A promise that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The rule that found it, named as its file.
    pub rule: &'static str,
    /// The file to open, relative to the root.
    pub file: String,
    /// What is wrong and what to do.
    pub message: String,
}

type Rule = fn(&Tree) -> Vec<Problem>;

const RULES: &[Rule] = &[
    adr::check,
    changelog::check,
    ci_command::check,
    confined::check_unsafe,
    confined::check_print,
    crates::check,
    cycles::check,
    dependencies::check,
    edges::check,
    generated::check,
    head::check,
    invariants::check,
    links::check,
    metrics::check,
    parameters::check,
    paths::check,
    readme_twin::check,
    recipes::check,
    site::check,
    sizes::check,
    words::check,
];

/// Everything untidy in the repository at `root`, rule by rule; empty if it is tidy.
pub fn check(root: &Path) -> Vec<Problem> {
    match Tree::read(root) {
        Ok(tree) => RULES.iter().flat_map(|rule| rule(&tree)).collect(),
        Err(err) => vec![Problem::new("tree", &root.display().to_string(), format!("{err}"))],
    }
}

/// The `tidy` step of CI.
pub fn step(root: &Path) -> Result<(), String> {
    let problems = check(root);
    if problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    Err(format!("{}\n{} problems", lines.join("\n"), lines.len()))
}

impl Problem {
    fn new(rule: &'static str, file: &str, message: impl Into<String>) -> Self {
        Self { rule, file: file.to_owned(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.file, self.message, self.rule)
    }
}
