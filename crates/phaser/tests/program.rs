//! Programs in the shape that tests ask about.

use whetstone_core::stack::on_big_stack;
use whetstone_phaser::check::{Findings, check};
use whetstone_phaser::index::Index;

/// Checks a program against the embedded index of Phaser 3.
pub(crate) fn findings(source: &str) -> Findings {
    let index = Index::embedded("3").expect("version 3 is embedded");
    on_big_stack(|stack| check(source, index, stack)).expect("a thread starts")
}

/// A scene whose `create` has this body.
pub(crate) fn scene(create: &str) -> String {
    format!(
        "class Main extends Phaser.Scene {{\n  create() {{\n{create}\n  }}\n}}\nnew Phaser.Game({{ scene: Main }});\n"
    )
}

/// Unknown names in a program, as `Phaser.X.name`.
pub(crate) fn unknown(source: &str) -> Vec<String> {
    let found = findings(source);
    assert!(found.parse.ok, "{source}\n{:?}", found.parse.errors);
    found.api.unknown.into_iter().map(|one| one.what).collect()
}

/// Asserts that a program, as the body of `create`, has exactly these unknown names.
pub(crate) fn assert_unknown(create: &str, names: &[&str]) {
    assert_eq!(unknown(&scene(create)), names, "{create}");
}
