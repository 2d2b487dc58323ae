//! Rule `sizes`: a long Rust file gives its reason, and no file is longer than that excuses.
//!
//! The reason is a line `// size: <reason>` (or `//! size: …`) near the head of the file.

use super::Problem;
use super::tree::{Tree, is_test_data};

const RULE: &str = "sizes";

/// Beyond this a file gives a reason.
const LONG: usize = 400;
/// Beyond this no reason helps.
const TOO_LONG: usize = 800;
/// The reason stands within this many lines of the top.
const HEAD: usize = 30;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let ours = tree.rust().filter(|(path, _)| !is_test_data(path));
    ours.filter_map(|(path, text)| Some(Problem::new(RULE, path, complaint(text)?))).collect()
}

fn complaint(text: &str) -> Option<String> {
    let lines = text.lines().count();
    if lines > TOO_LONG {
        return Some(format!("{lines} lines: split it, {TOO_LONG} is the limit"));
    }
    (lines > LONG && !gives_reason(text)).then(|| {
        format!("{lines} lines: split it, or say why not with `// size: <reason>` at its head")
    })
}

fn gives_reason(text: &str) -> bool {
    let comments = text.lines().take(HEAD).filter_map(|line| line.trim().strip_prefix("//"));
    let mut reasons =
        comments.filter_map(|line| line.trim_start_matches('!').trim().strip_prefix("size:"));
    reasons.any(|reason| !reason.trim().is_empty())
}
