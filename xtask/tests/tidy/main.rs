//! Tidy on miniature repositories, one broken promise at a time, and on the real one.

mod crates;
mod documents;
mod miniature;
mod sources;
mod tools;

use std::path::Path;

use miniature::Miniature;
use xtask::tidy;

#[test]
fn the_repository_is_tidy() {
    if let Err(problems) = tidy::step(&xtask::root()) {
        panic!("\n{problems}");
    }
}

#[test]
fn the_miniature_is_tidy() {
    assert_eq!(Miniature::clean().problems(), []);
}

#[test]
fn a_folder_that_cannot_be_read_is_a_problem() {
    let problems = tidy::check(Path::new("no/such/folder"));
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].rule, "tree");
}
