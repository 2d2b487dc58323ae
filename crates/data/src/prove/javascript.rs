//! Answers in JavaScript that solve nothing.
//!
//! Each is a program of its own: a name that the reference declares cannot be declared again.

use whetstone_core::tests::{Call, Io};

use super::python::MAX_KNOWN_BYTES;
use super::trial::Trivial;

const CONSTANTS: [&str; 7] = ["0", "1", "null", "''", "[]", "true", "false"];

/// Answers to tests that call one function.
pub(super) fn of_calls(entry_point: &str, tests: &[Call]) -> Vec<Trivial> {
    let answer = |result: &str| match entry_point.rsplit_once('.') {
        None => format!("function {entry_point}(...args) {{ return {result}; }}\n"),
        Some((class, method)) => {
            format!("class {class} {{ {method}(...args) {{ return {result}; }} }}\n")
        }
    };
    let mut found: Vec<Trivial> = Vec::new();
    for constant in CONSTANTS {
        found.push((format!("the constant {constant}"), answer(constant)));
    }
    found.push(("its first argument".to_owned(), answer("args[0]")));
    let Some(first) = tests.first() else { return found };
    let args: Vec<&str> = first.args.iter().map(|arg| arg.get()).collect();
    let (args, value) = (format!("[{}]", args.join(",")), first.expected.get());
    if args.len().max(value.len()) > MAX_KNOWN_BYTES {
        return found;
    }
    let what = "the value that the first test expects, always".to_owned();
    found.push((what, answer(&format!("({value})"))));
    if tests.iter().any(|test| text(test) != text(first)) {
        let what = "the first test by heart, and null otherwise".to_owned();
        let same = format!("JSON.stringify(args) === JSON.stringify({args})");
        found.push((what, answer(&format!("{same} ? ({value}) : null"))));
    }
    found
}

/// Answers to tests that run whole programs.
pub(super) fn of_streams(tests: &[Io]) -> Vec<Trivial> {
    let read = "require('fs').readFileSync(0, 'utf8')";
    let mut found = vec![("its input".to_owned(), format!("process.stdout.write({read});\n"))];
    let Some(first) = tests.first() else { return found };
    if first.input.len().max(first.output.len()) > MAX_KNOWN_BYTES {
        return found;
    }
    // A JSON string is a JavaScript string.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let write = format!("process.stdout.write({});\n", quoted(&first.output));
    let what = "the output that the first test expects, always".to_owned();
    found.push((what, write.clone()));
    if tests.iter().any(|test| test != first) {
        let what = "the first test by heart, and nothing otherwise".to_owned();
        found.push((what, format!("if ({read} === {}) {write}", quoted(&first.input))));
    }
    found
}

fn text(call: &Call) -> String {
    // A call came out of JSON.
    serde_json::to_string(call).unwrap_or_default()
}
