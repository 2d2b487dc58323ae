//! Functions in Python that solve nothing.
//!
//! An answer is the reference with the functions that the tests call replaced: classes and helpers
//! that the tests also use remain, so the answer fails for its values, not for missing names. A
//! replaced function accepts any arguments.
//!
//! Values travel as `marshal`'s bytes: no value has to be written as source. A constant that the
//! judge's own comparison refuses for some test need not be run to be known to fail.
//!
//! The answer that hard-codes the first test returns `None` for everything else. With a value of
//! the other tests instead, it would pass every task whose other tests all expect the same value: a
//! fourth of all tasks with three tests and a yes-or-no answer, which says nothing about them.
//!
//! If all tests are identical, in particular if there is only one, no answer that knows the first
//! test is tried: it would pass by definition, and every such task would be dropped.

use std::fmt::Write;

use whetstone_core::program::Language;
use whetstone_core::tests::{Suite, Tests};
use whetstone_sandbox::plan::constant::{constants, is_call, root};
use whetstone_sandbox::plan::{Plan, Step, plan};
use whetstone_sandbox::value::{Value, encode};

use super::made_wrong::made_wrong;
use super::trivial::{MAX_KNOWN_BYTES, Trivial};

/// The call and the expected value of a test, as Python expressions.
struct Known {
    /// The body of a function that returns the call's arguments: `(args, kwargs)`.
    arguments: String,
    value: Value,
}

/// Answers to tests that call functions.
pub(super) fn of_functions(
    tests: &Tests,
    setup: &str,
    reference: &str,
    plan: &Plan,
) -> Vec<Trivial> {
    let (steps, certain) = match tests {
        Tests::Script { suite, .. } => {
            let scripts = suite.hidden.for_the_judge();
            let steps = |lines: fn(&str) -> Vec<&str>| -> Vec<Step> {
                scripts.iter().flat_map(|script| steps_of(script, &lines(script), setup)).collect()
            };
            (steps(|script| script.lines().collect()), steps(certain_lines))
        }
        // With a checker, the rejected answers are not known.
        _ if plan.checker.is_some() => (plan.steps.clone(), Vec::new()),
        _ => (plan.steps.clone(), plan.steps.clone()),
    };
    let names = names(tests, plan);
    if names.is_empty() {
        return Vec::new();
    }
    let answer = |before: &str, result: &str| replaced(reference, before, &names, result);
    let mut found: Vec<Trivial> = Vec::new();
    // It is not above any bound on a difference, nor below.
    let not_a_number = ("float('nan')", Value::Float(f64::NAN));
    for (constant, value) in constants().into_iter().chain([not_a_number]) {
        if !is_refused(&certain, &value) {
            found.push((format!("the constant {constant}"), answer("", constant)));
        }
    }
    let identity = "args[0] if args else next(iter(kwargs.values()), None)";
    found.push(("its first argument".to_owned(), answer("", identity)));
    found.extend(made_wrong(tests, reference, plan));
    let Some(Known { arguments, value }) = steps.iter().find_map(known) else { return found };
    let Some(expected) = marshalled(&value) else { return found };
    if steps.iter().all(|step| *step == steps[0]) {
        return found;
    }
    if !is_refused(&certain, &value) {
        let what = "the value that the first test expects, always".to_owned();
        found.push((what, answer("", &expected)));
    }
    let what = "the first test by heart, and None otherwise".to_owned();
    let before = format!("def whet_first():\n{arguments}\n");
    let result = format!("{expected} if (args, kwargs) == whet_first() else None");
    found.push((what, answer(&before, &result)));
    found
}

/// The reference with a function that returns the expected value of each test, in their order; `None`
/// if the tests do not each call one function once.
pub(super) fn expected_program(tests: &Tests, reference: &str, plan: &Plan) -> Option<String> {
    let names = names(tests, plan);
    let mut values = Vec::new();
    for step in &plan.steps {
        let expected = match step {
            Step::Value { expression, expected } => {
                let calls: usize =
                    names.iter().map(|name| expression.matches(name.as_str()).count()).sum();
                (is_call(expression) && calls == 1).then_some(expected)?
            }
            Step::Call { expected, .. } => expected,
            Step::Truth { .. } | Step::Check { .. } | Step::Run { .. } => return None,
        };
        values.push(marshalled(expected.any_of.first()?)?);
    }
    let before = format!("whet_expected = iter([{}])\n", values.join(", "));
    Some(replaced(reference, &before, &names, "next(whet_expected)"))
}

/// The functions that the tests call.
fn names(tests: &Tests, plan: &Plan) -> Vec<String> {
    if let Some(entry_point) = tests.entry_point() {
        return vec![entry_point.to_owned()];
    }
    let mut names: Vec<String> = Vec::new();
    for step in &plan.steps {
        match step {
            Step::Value { expression, .. } | Step::Truth { expression, .. } => {
                names.extend(root(expression).map(str::to_owned));
            }
            // A name in capitals is that of a class, with which the test makes arguments.
            Step::Check { proxies, .. } => {
                let is_class = |name: &&String| name.starts_with(|c: char| c.is_uppercase());
                names.extend(proxies.iter().filter(|name| !is_class(name)).cloned());
            }
            Step::Call { .. } | Step::Run { .. } => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Lines of test code that are run for certain: those at the depth of the first one of `check`.
///
/// Code that may be a string or may be left early is not analysed: then there are none.
fn certain_lines(script: &str) -> Vec<&str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let Some((_, body)) = script.split_once("def check(") else { return Vec::new() };
    let unclear = ["\"\"\"", "'''", "return", "yield", "\\"].iter().any(|word| body.contains(word));
    let mut lines = body.lines().skip(1).filter(|line| !line.trim().is_empty()).peekable();
    let first = lines.peek().map_or(0, |line| depth(line));
    if unclear || first == 0 {
        return Vec::new();
    }
    lines.take_while(|line| depth(line) >= first).filter(|line| depth(line) == first).collect()
}

/// The asserts about the candidate among lines of test code, as far as they are plain.
fn steps_of(script: &str, lines: &[&str], setup: &str) -> Vec<Step> {
    let Some((_, parameters)) = script.split_once("def check(") else { return Vec::new() };
    let end = parameters.find([')', ',', ':']).unwrap_or(0);
    let candidate = parameters[..end].trim();
    let asserts = lines.iter().map(|line| line.trim()).filter(|line| line.starts_with("assert"));
    let step = |line: &str| {
        let suite = Suite::new(Vec::new(), vec![line.to_owned()]).ok()?;
        let planned = plan(&Tests::Asserts(suite), setup, Language::Python).ok()?;
        planned.steps.into_iter().next()
    };
    let asks = |step: &Step| match step {
        Step::Value { expression, .. } | Step::Truth { expression, .. } => {
            root(expression) == Some(candidate)
        }
        _ => false,
    };
    asserts.filter_map(step).filter(asks).collect()
}

/// The call and the value of a test with a single expected value.
fn known(step: &Step) -> Option<Known> {
    match step {
        Step::Value { expression, expected } => {
            let value = expected.any_of.first()?.clone();
            Some(Known { arguments: recorded(expression)?, value })
        }
        Step::Truth { expression, expected } => {
            Some(Known { arguments: recorded(expression)?, value: Value::Bool(*expected) })
        }
        Step::Call { args, kwargs, expected, .. } => {
            let named = kwargs.iter().map(|(name, value)| (Value::str(name), value.clone()));
            let args = Value::Tuple(args.clone());
            let arguments = Value::Tuple(vec![args, Value::Dict(named.collect())]);
            let arguments = format!("    return {}", marshalled(&arguments)?);
            Some(Known { arguments, value: expected.any_of.first()?.clone() })
        }
        Step::Check { .. } | Step::Run { .. } => None,
    }
}

/// Whether the judge would refuse this value, whatever was asked, in some test.
fn is_refused(steps: &[Step], value: &Value) -> bool {
    steps.iter().any(|step| step.accepts_constant(value) == Some(false))
}

/// The body of a function that returns what `expression` calls its function with: by evaluating it
/// with another function in that one's place.
fn recorded(expression: &str) -> Option<String> {
    if expression.len() > MAX_KNOWN_BYTES {
        return None;
    }
    let name = root(expression)?;
    Some(format!("    {name} = lambda *args, **kwargs: (args, kwargs)\n    return ({expression})"))
}

/// The reference with each of these functions, or methods, replaced by one that returns `result`.
fn replaced(reference: &str, before: &str, names: &[String], result: &str) -> String {
    let mut source = format!("{reference}\n\n{before}");
    for name in names {
        // Writing to a string does not fail.
        let _ = match name.rsplit_once('.') {
            None => write!(source, "def {name}(*args, **kwargs):\n    return {result}\n"),
            Some((class, method)) => write!(
                source,
                "class {class}:\n    def __init__(self, *args, **kwargs):\n        pass\n    \
                 def {method}(self, *args, **kwargs):\n        return {result}\n"
            ),
        };
    }
    source
}

fn marshalled(value: &Value) -> Option<String> {
    let encoded = encode(value);
    (encoded.len() <= MAX_KNOWN_BYTES)
        .then(|| format!("__import__('marshal').loads({})", bytes(&encoded)))
}

/// A Python expression for bytes.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len() + 16);
    text.push_str("bytes.fromhex('");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text.push_str("')");
    text
}
