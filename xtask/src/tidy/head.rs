//! Rule `head`: every Rust file begins by saying what it is.

use super::Problem;
use super::tree::Tree;

const RULE: &str = "head";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let silent = tree.rust().filter(|(_, text)| !text.starts_with("//!"));
    let message = "begin the file with a `//!` comment: what it is, and what is not here";
    silent.map(|(path, _)| Problem::new(RULE, path, message)).collect()
}
