//! Rule `parameters`: a parameter is one thing, and has a name.
//!
//! A tuple as a parameter, by its pattern or by its type, hides several behind one: a struct with named
//! fields, or plain parameters, show them at the call. Lists of pairs and what closures are given by
//! iterators are data, and may be tuples. A parameter called `it` says nothing; closures have names too.

use super::Problem;
use super::rust_code::{code_of, has_word};
use super::signatures::{closures, functions};
use super::tree::{Tree, is_test_data};

const RULE: &str = "parameters";

/// A file that the rule does not hold for.
struct Exception {
    file: &'static str,
    reason: &'static str,
}

/// Files that the rule does not hold for yet, or ever.
const EXCEPTIONS: &[Exception] = &[
    Exception { file: "crates/sandbox/tests/agreement/case.rs", reason: "a row of a test's table" },
    Exception { file: "crates/infer/tests/smollm2.rs", reason: "older than the rule" },
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let ours = tree.rust().filter(|(path, _)| !is_test_data(path));
    ours.flat_map(|(path, text)| of_file(path, text)).collect()
}

fn of_file(path: &str, text: &str) -> Vec<Problem> {
    let found = complaints(&code_of(text));
    match EXCEPTIONS.iter().find(|exception| exception.file == path) {
        Some(Exception { reason, .. }) if found.is_empty() => {
            let message = format!("no longer needs its exception (\"{reason}\"): remove that");
            vec![Problem::new(RULE, path, message)]
        }
        Some(_) => Vec::new(),
        None => found
            .into_iter()
            .map(|Complaint { line, message }| {
                Problem::new(RULE, &format!("{path}:{line}"), message)
            })
            .collect(),
    }
}

struct Complaint {
    line: usize,
    message: String,
}

fn complaints(code: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    for function in functions(code) {
        for parameter in &function.parameters {
            let (line, name, pattern) = (function.line, function.name, parameter.pattern);
            if parameter.is_tuple() {
                let message = format!(
                    "`{name}` takes a tuple, `{pattern}`: give each part a parameter, or make a struct"
                );
                found.push(Complaint { line, message });
            } else if has_word(pattern, "it") {
                let message = format!("`{name}` calls a parameter `it`: say what it is");
                found.push(Complaint { line, message });
            }
        }
    }
    let unnamed = closures(code).into_iter().filter(|(_, list)| has_word(list, "it"));
    found.extend(unnamed.map(|(line, _)| Complaint {
        line,
        message: "a closure calls its parameter `it`: say what it is".to_owned(),
    }));
    found
}
