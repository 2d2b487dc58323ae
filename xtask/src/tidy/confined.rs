//! Rules `unsafe` and `print`: what only some crates may do.
//!
//! `unsafe` lives in `kernels` and `sandbox`, where the lint is lifted for a reason; only `cli`
//! prints, so that stdout stays data. Comments and strings are not code. A file's own tests may
//! print (they come last, under `mod tests`), but may not be unsafe.

use super::Problem;
use super::rust_code::{code_of, has_word};
use super::tree::Tree;

const UNSAFE_AT_HOME: &[&str] = &["crates/kernels/", "crates/sandbox/"];

const PRINT_AT_HOME: &[&str] = &["crates/cli/", "xtask/", "benches/", "fuzz/"];

const PRINTING: &[&str] =
    &["println!", "eprintln!", "print!", "eprint!", "io::stdout", "io::stderr"];

pub(super) fn check_unsafe(tree: &Tree) -> Vec<Problem> {
    let strangers = tree.rust().filter(|(path, _)| !is_under(path, UNSAFE_AT_HOME));
    strangers
        .filter_map(|(path, text)| {
            let line = line_with(&code_of(text), |line| has_word(line, "unsafe"))?;
            let message = "`unsafe` lives in `kernels` and `sandbox`: find a safe way, or move it";
            Some(Problem::new("unsafe", &format!("{path}:{line}"), message))
        })
        .collect()
}

pub(super) fn check_print(tree: &Tree) -> Vec<Problem> {
    let strangers = tree.rust().filter(|(path, _)| !may_print(path));
    strangers
        .filter_map(|(path, text)| {
            let code = code_of(text);
            let line = line_with(before_tests(&code), prints)?;
            let message = "only `cli` prints: return the text, or record an event";
            Some(Problem::new("print", &format!("{path}:{line}"), message))
        })
        .collect()
}

fn may_print(path: &str) -> bool {
    let is_build_script = path.ends_with("/build.rs");
    is_under(path, PRINT_AT_HOME) || path.contains("/tests/") || is_build_script
}

fn is_under(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn prints(line: &str) -> bool {
    PRINTING.iter().any(|word| has_word(line, word))
}

/// The code above a file's own tests, which come last.
fn before_tests(code: &str) -> &str {
    code.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(code)
}

fn line_with(code: &str, guilty: impl Fn(&str) -> bool) -> Option<usize> {
    code.lines().position(guilty).map(|at| at + 1)
}
