//! Rules on how the project is run: `recipes`, `ci_command`.

use super::miniature::Miniature;

#[test]
fn every_step_has_a_recipe() {
    Miniature::clean().replace("justfile", "tidy:\n    cargo xtask tidy\n", "").check(
        "recipes",
        "justfile",
        "needs a recipe `tidy`",
    );
}

#[test]
fn a_recipe_does_what_its_name_says() {
    Miniature::clean().replace("justfile", "cargo xtask fmt", "cargo fmt").check(
        "recipes",
        "justfile",
        "with `cargo xtask fmt`",
    );
}

#[test]
fn a_recipe_that_is_no_step_is_found() {
    Miniature::clean().append("justfile", "deploy target=\"x\":\n    true\n").check(
        "recipes",
        "justfile",
        "`deploy` is no step",
    );
}

#[test]
fn ci_runs_what_the_readme_says() {
    Miniature::clean().replace(".ci/run", "cargo xtask ci", "cargo xtask  ci").check(
        "ci_command",
        "README.md",
        "has the line `cargo xtask  ci` of .ci/run",
    );
    let tree = Miniature::clean();
    tree.replace("README.md", "## Tests", "## Use");
    tree.check("ci_command", "README.md", "under a heading on testing");
}

#[test]
fn ci_runs_one_command() {
    Miniature::clean().append(".ci/run", "cargo bench\n").check(
        "ci_command",
        ".ci/run",
        "runs 2 commands",
    );
    Miniature::clean().remove(".ci/run").check("ci_command", ".ci/run", "runs 0 commands");
}

#[test]
fn the_ci_script_can_be_started() {
    let tree = Miniature::clean();
    let text = std::fs::read_to_string(tree.root().join(".ci/run")).unwrap();
    tree.remove(".ci/run").write(".ci/run", &text);
    tree.check("ci_command", ".ci/run", "is not executable");
}
