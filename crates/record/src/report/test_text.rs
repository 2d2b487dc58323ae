//! A task's tests as a person reads them: parts with a name, as text.
//!
//! Values are shown as they are written in the file. In a browser every number is a float, so an
//! integer of forty digits or the point of `1.0` would be lost, and with it the reason why a
//! program failed.
//!
//! They are taken from the task's line, as data. What judges programs asks for hidden tests by
//! another way, and what makes prompts has none.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use whetstone_core::tests::{Call, Io, Tests};

use super::limits::{self, MAX_TESTS_BYTES};

/// Visible tests that are shown.
const MAX_VISIBLE: usize = 4;
/// Text of one part of a test.
const MAX_PART_BYTES: usize = 2 << 10;

/// The parts of a test: name and text.
type Parts = Vec<(&'static str, String)>;

/// The tests of a task.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct TestTexts {
    visible: Vec<Parts>,
    hidden: Vec<Parts>,
}

/// Tests as in a task's line.
#[derive(Deserialize)]
struct TestsLine<'a> {
    kind: String,
    entry_point: Option<String>,
    #[serde(borrow)]
    visible: Vec<&'a RawValue>,
    #[serde(borrow)]
    hidden: Vec<&'a RawValue>,
}

/// The tests as text; `None` if that is too long for a page.
pub(super) fn read(tests: &Tests) -> Option<TestTexts> {
    let line = serde_json::to_string(tests).ok()?;
    let line: TestsLine<'_> = serde_json::from_str(&line).ok()?;
    let visible = line.visible.iter().take(MAX_VISIBLE).map(|test| line.parts(test)).collect();
    let hidden: Vec<Parts> = line.hidden.iter().map(|test| line.parts(test)).collect();
    let bytes: usize = hidden.iter().flatten().map(|(_, text)| text.len()).sum();
    (bytes <= MAX_TESTS_BYTES).then_some(TestTexts { visible, hidden })
}

impl TestsLine<'_> {
    fn parts(&self, test: &RawValue) -> Parts {
        let parts = match self.kind.as_str() {
            "calls" => serde_json::from_str(test.get()).map(|call| self.call(&call)),
            "stdio" => serde_json::from_str(test.get()).map(run),
            _ => serde_json::from_str(test.get()).map(|code| vec![("test", code)]),
        };
        let short =
            |(name, text): (_, String)| (name, limits::cut(&text, MAX_PART_BYTES).0.to_owned());
        parts.unwrap_or_default().into_iter().map(short).collect()
    }

    fn call(&self, call: &Call) -> Parts {
        let named = call.kwargs.fields().map(|(name, value)| format!("{name}={value}"));
        let values: Vec<String> =
            call.args.iter().map(|value| value.get().to_owned()).chain(named).collect();
        let name = self.entry_point.as_deref().unwrap_or_default();
        let call_text = format!("{name}({})", values.join(", "));
        let or = call.alternatives.iter().map(|value| ("or", value.get().to_owned()));
        let expected = ("expected", call.expected.get().to_owned());
        [("call", call_text), expected].into_iter().chain(or).collect()
    }
}

fn run(run: Io) -> Parts {
    let or = run.alternatives.into_iter().map(|output| ("or", output));
    [("reads", run.input), ("expected", run.output)].into_iter().chain(or).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tests: &str, expected: &[(&'static str, &str)]) {
        let found = read(&serde_json::from_str(tests).unwrap()).unwrap();
        let expected: Parts =
            expected.iter().map(|&(name, text)| (name, text.to_owned())).collect();
        assert_eq!(found.hidden, [expected]);
    }

    #[test]
    fn values_keep_every_digit() {
        check(
            r#"{"kind":"calls","entry_point":"f","hidden":[{"args":[123456789012345678901,1.0],"kwargs":{"k":null},"expected":[1.50],"alternatives":[2]}]}"#,
            &[
                ("call", "f(123456789012345678901, 1.0, k=null)"),
                ("expected", "[1.50]"),
                ("or", "2"),
            ],
        );
    }

    #[test]
    fn every_kind_has_its_parts() {
        check(
            r#"{"kind":"stdio","hidden":[{"input":"2 3\n","output":"5\n"}]}"#,
            &[("reads", "2 3\n"), ("expected", "5\n")],
        );
        check(r#"{"kind":"asserts","hidden":["assert f(1)"]}"#, &[("test", "assert f(1)")]);
    }

    #[test]
    fn long_tests_are_cut_and_too_many_are_left_out() {
        let tests = |count: usize, bytes: usize| {
            let test = format!("\"{}\"", "x".repeat(bytes));
            let line =
                format!(r#"{{"kind":"asserts","hidden":[{}]}}"#, vec![test; count].join(","));
            read(&serde_json::from_str(&line).unwrap())
        };
        assert_eq!(tests(1, 1 << 20).unwrap().hidden[0][0].1.len(), MAX_PART_BYTES);
        assert!(tests(32, 1 << 20).is_some());
        assert_eq!(tests(33, 1 << 20), None);
    }
}
