//! Rule `recipes`: the justfile is a second name for the steps, never a second list of them.

use super::Problem;
use super::tree::Tree;
use crate::steps::STEPS;

const RULE: &str = "recipes";
const FILE: &str = "justfile";

/// Recipes that are not steps of CI.
const EXTRA: &[&str] = &["default", "ci", "advisories", "bench", "fuzz", "gpu", "site", "pictures"];

/// One recipe: its name and its lines.
struct Recipe<'a> {
    name: &'a str,
    body: Vec<&'a str>,
}

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let recipes = recipes(tree.text(FILE).unwrap_or_default());
    let delegated = STEPS.iter().map(|step| step.name).chain(["ci"]);
    let missing = delegated.filter(|name| !recipes.iter().any(|recipe| delegates(recipe, name)));
    let missing = missing.map(|name| format!("needs a recipe `{name}` with `cargo xtask {name}`"));
    let unknown = recipes.iter().filter(|recipe| !is_known(recipe.name));
    let unknown = unknown.map(|recipe| format!("recipe `{}` is no step of xtask", recipe.name));
    missing.chain(unknown).map(|message| Problem::new(RULE, FILE, message)).collect()
}

fn delegates(recipe: &Recipe<'_>, name: &str) -> bool {
    let words = |line: &str| {
        line.split_whitespace().take(3).collect::<Vec<_>>() == ["cargo", "xtask", name]
    };
    recipe.name == name && recipe.body.len() == 1 && words(recipe.body[0])
}

fn is_known(name: &str) -> bool {
    EXTRA.contains(&name) || STEPS.iter().any(|step| step.name == name)
}

fn recipes(text: &str) -> Vec<Recipe<'_>> {
    let mut recipes: Vec<Recipe<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indented = line.starts_with(char::is_whitespace);
        match recipes.last_mut() {
            Some(recipe) if indented => recipe.body.push(line.trim()),
            _ => recipes.extend(name(line).map(|name| Recipe { name, body: vec![] })),
        }
    }
    recipes
}

/// The name in `name parameters…:`; comments, settings and attributes have none.
fn name(line: &str) -> Option<&str> {
    let is_recipe =
        line.starts_with(|c: char| c.is_alphabetic() || c == '@') && !line.contains(":=");
    let (head, _) = line.split_once(':').filter(|_| is_recipe)?;
    head.split_whitespace().next().map(|name| name.trim_start_matches('@'))
}
