//! Rule `changelog`: CHANGELOG.md has a place for what changes now.

use super::Problem;
use super::manifest;
use super::markdown;
use super::tree::Tree;

const RULE: &str = "changelog";
const PAGE: &str = "CHANGELOG.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let version = version(tree);
    let headings = markdown::headings(tree.text(PAGE).unwrap_or_default());
    let is_current = |text: &str| {
        let name = text.split_whitespace().next().unwrap_or_default().trim_matches(['[', ']']);
        name == version || name == "Unreleased"
    };
    if headings.iter().any(|(level, text)| *level == 2 && is_current(text)) {
        return vec![];
    }
    let message = format!("needs a section `## {version}` or `## Unreleased`");
    vec![Problem::new(RULE, PAGE, message)]
}

fn version(tree: &Tree) -> String {
    let root = manifest::read(tree, "Cargo.toml");
    let package = manifest::table(&root, &["workspace", "package"]);
    let version = package.and_then(|table| table.get("version")?.as_str());
    version.unwrap_or_default().to_owned()
}
