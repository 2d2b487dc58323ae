//! Rule `dependencies`: every crate we did not write is accounted for in `docs/dependencies.md`.
//!
//! The page has one or more tables whose first header cell is `crate`; the first cell of a row
//! names one or more crates in backticks. Crates we looked at and did not take go in a table with
//! another header. Versions live in the root manifest alone: members say `workspace = true`.
//! Packages outside the workspace (`fuzz`) cannot, but still account for what they use.

use std::collections::BTreeSet;

use super::Problem;
use super::manifest::{self, Dependency};
use super::markdown;
use super::tree::Tree;

const RULE: &str = "dependencies";
const PAGE: &str = "docs/dependencies.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(page) = tree.text(PAGE) else {
        return vec![Problem::new(RULE, PAGE, "is missing: one row per crate we depend on")];
    };
    let rows = rows(page);
    let (declared, used) = (declared(tree), used(tree));
    let unaccounted = declared.union(&used).filter(|name| !rows.contains(*name)).map(|name| {
        format!("`{name}` has no row: say what it is for and why it is worth its weight")
    });
    let stale = rows.iter().filter(|name| !used.contains(*name)).map(|name| {
        format!("`{name}` has a row, but no manifest uses it: remove the row, and it from the root")
    });
    let rows = unaccounted.chain(stale).map(|message| Problem::new(RULE, PAGE, message));
    rows.chain(own_versions(tree)).collect()
}

fn rows(page: &str) -> BTreeSet<String> {
    let tables = markdown::tables(page);
    let tables = tables.iter().filter(|table| table.header[0] == "crate");
    let cells = tables.flat_map(|table| &table.rows).map(|row| row[0]);
    cells.flat_map(markdown::inline_code).map(str::to_owned).collect()
}

/// What the root manifest declares for all.
fn declared(tree: &Tree) -> BTreeSet<String> {
    let root = manifest::read(tree, "Cargo.toml");
    let table = manifest::table(&root, &["workspace", "dependencies"]);
    table
        .into_iter()
        .flat_map(|table| table.keys().cloned())
        .filter(|name| is_external(name))
        .collect()
}

/// What the packages' own manifests name.
fn used(tree: &Tree) -> BTreeSet<String> {
    let packages = ["members", "exclude"].iter().flat_map(|key| packages(tree, key));
    let names =
        packages.flat_map(|(_, dependencies)| dependencies).map(|dependency| dependency.name);
    names.filter(|name| is_external(name)).collect()
}

/// Members that give a version of their own.
fn own_versions(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, dependencies) in packages(tree, "members") {
        for dependency in dependencies.iter().filter(|dependency| !dependency.inherited) {
            let message = format!(
                "`{0}` is declared here: declare it in the root's [workspace.dependencies] and \
                 write `{0} = {{ workspace = true }}`",
                dependency.name
            );
            problems.push(Problem::new(RULE, &path, message));
        }
    }
    problems
}

fn packages(tree: &Tree, key: &str) -> Vec<(String, Vec<Dependency>)> {
    let folders = manifest::workspace_list(&manifest::read(tree, "Cargo.toml"), key);
    let manifests = folders.iter().map(|folder| format!("{folder}/Cargo.toml"));
    manifests
        .map(|path| {
            let dependencies = manifest::dependencies(&manifest::read(tree, &path));
            (path, dependencies)
        })
        .collect()
}

fn is_external(name: &str) -> bool {
    !name.starts_with("whetstone-")
}
