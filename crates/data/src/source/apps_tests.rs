//! The tests of APPS: `inputs` and `outputs` side by side, and `fn_name` where a function is called.
//!
//! With `fn_name`, an input is a list of arguments. How an output is written follows the data set's
//! own checker, which takes a returned value if it equals the output *or* the output's first
//! element: problems of one site write the value itself, those of another wrap each value in a list.
//! A problem is written in one way throughout, so we take the wrapping as such only where every
//! output of the problem is a list of one element. Then the element is expected, and the list
//! itself is accepted too, because the function may really return lists of one element. Else the outputs
//! are taken as they are; the checker's "or the first element" would reward half an answer there.
//!
//! Values stay JSON text, so integers of any length come through. Keys of dictionaries are texts, as
//! JSON has them.
//!
//! Without `fn_name` an input is what the program reads and an output what it must write; a list of
//! lines, as some copies have it, is these lines.

use serde::Deserialize;
use serde_json::value::RawValue;
use whetstone_core::tests::{Call, Io, Suite, Tests};
use whetstone_core::wire::{Object, WireError};

use super::row::{RowProblem, brief};

/// The column `input_output`.
#[derive(Deserialize)]
pub(super) struct InputOutput {
    #[serde(default)]
    inputs: Vec<Box<RawValue>>,
    #[serde(default)]
    outputs: Vec<Box<RawValue>>,
    #[serde(default)]
    fn_name: Option<String>,
}

/// The tests; `code` is what shows whether the function is a method of `Solution`.
pub(super) fn tests(given: InputOutput, code: &str) -> Result<Tests, RowProblem> {
    let InputOutput { inputs, outputs, fn_name } = given;
    if inputs.len() != outputs.len() {
        let problem = format!("{} inputs but {} outputs", inputs.len(), outputs.len());
        return Err(wrong(problem));
    }
    if inputs.is_empty() {
        return Err(RowProblem::NoTests("`input_output` has no inputs"));
    }
    match fn_name.filter(|name| !name.is_empty()) {
        Some(name) => {
            let in_a_class = code.contains("class Solution");
            let entry_point = if in_a_class { format!("Solution.{name}") } else { name };
            Ok(Tests::Calls {
                entry_point,
                suite: Suite::new(Vec::new(), calls(&inputs, &outputs)?)?,
            })
        }
        None => Ok(Tests::Stdio(Suite::new(Vec::new(), runs(&inputs, &outputs)?)?)),
    }
}

fn calls(inputs: &[Box<RawValue>], outputs: &[Box<RawValue>]) -> Result<Vec<Call>, RowProblem> {
    let wrapped: Option<Vec<_>> = outputs.iter().map(|output| only_element(output)).collect();
    let mut calls = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.iter().enumerate() {
        let args = serde_json::from_str(input.get()).map_err(|_| {
            wrong(format!("inputs[{at}] is not a list of arguments: {}", shown(input)))
        })?;
        let (expected, alternatives) = match &wrapped {
            Some(values) => (values[at].clone(), vec![outputs[at].clone()]),
            None => (outputs[at].clone(), Vec::new()),
        };
        calls.push(Call { args, kwargs: Object::new(), expected, alternatives });
    }
    Ok(calls)
}

/// The element of a list of one.
fn only_element(value: &RawValue) -> Option<Box<RawValue>> {
    let [element] = serde_json::from_str::<[Box<RawValue>; 1]>(value.get()).ok()?;
    Some(element)
}

fn runs(inputs: &[Box<RawValue>], outputs: &[Box<RawValue>]) -> Result<Vec<Io>, RowProblem> {
    let pairs = inputs.iter().zip(outputs).enumerate();
    pairs
        .map(|(at, (input, output))| {
            let input = text("inputs", at, input)?;
            Ok(Io { input, output: text("outputs", at, output)?, alternatives: Vec::new() })
        })
        .collect()
}

fn text(list: &str, at: usize, value: &RawValue) -> Result<String, RowProblem> {
    if let Ok(text) = serde_json::from_str::<String>(value.get()) {
        return Ok(text);
    }
    let lines = serde_json::from_str::<Vec<String>>(value.get());
    let neither =
        || format!("{list}[{at}] is neither a text nor a list of lines: {}", shown(value));
    lines.map(|lines| lines.join("\n")).map_err(|_| wrong(neither()))
}

fn wrong(problem: String) -> RowProblem {
    RowProblem::Column(WireError::Field { field: "input_output", problem })
}

fn shown(value: &RawValue) -> String {
    brief(value.get().get(..60).unwrap_or(value.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(json: &str, code: &str) -> Result<String, String> {
        let made = tests(serde_json::from_str(json).unwrap(), code);
        made.map(|tests| serde_json::to_string(&tests).unwrap()).map_err(|err| err.to_string())
    }

    #[track_caller]
    fn check(json: &str, code: &str, expected: &str) {
        assert_eq!(made(json, code).unwrap(), expected);
    }

    #[test]
    fn outputs_that_are_all_wrapped_are_unwrapped_and_both_are_right() {
        check(
            r#"{"fn_name":"f","inputs":[[1,"a"],[[2],null]],"outputs":[[123456789012345678901234567890],["x"]]}"#,
            "def f(): pass",
            concat!(
                r#"{"kind":"calls","entry_point":"f","visible":[],"hidden":["#,
                r#"{"args":[1,"a"],"kwargs":{},"expected":123456789012345678901234567890,"#,
                r#""alternatives":[[123456789012345678901234567890]]},"#,
                r#"{"args":[[2],null],"kwargs":{},"expected":"x","alternatives":[["x"]]}]}"#,
            ),
        );
    }

    #[test]
    fn outputs_of_which_one_is_not_wrapped_are_values_as_they_stand() {
        check(
            r#"{"fn_name":"f","inputs":[[1],[2]],"outputs":[[1],[1,2]]}"#,
            "",
            concat!(
                r#"{"kind":"calls","entry_point":"f","visible":[],"hidden":["#,
                r#"{"args":[1],"kwargs":{},"expected":[1]},"#,
                r#"{"args":[2],"kwargs":{},"expected":[1,2]}]}"#,
            ),
        );
    }

    #[test]
    fn without_a_function_the_tests_are_runs_and_lists_are_lines() {
        check(
            r#"{"inputs":["1 2\n",["3","4"]],"outputs":["3\n",["7"]],"fn_name":null}"#,
            "",
            concat!(
                r#"{"kind":"stdio","visible":[],"hidden":["#,
                r#"{"input":"1 2\n","output":"3\n"},{"input":"3\n4","output":"7"}]}"#,
            ),
        );
    }

    #[test]
    fn what_does_not_fit_together_is_named() {
        let said = |json: &str| made(json, "").unwrap_err();
        assert_eq!(
            said(r#"{"inputs":["1","2"],"outputs":["1"]}"#),
            "field `input_output`: 2 inputs but 1 outputs"
        );
        assert_eq!(
            said(r#"{"inputs":["1",{"a":1}],"outputs":["1","2"]}"#),
            "field `input_output`: inputs[1] is neither a text nor a list of lines: {\"a\":1}"
        );
        assert_eq!(
            said(r#"{"fn_name":"f","inputs":[1],"outputs":[1]}"#),
            "field `input_output`: inputs[0] is not a list of arguments: 1"
        );
        assert_eq!(said(r#"{"fn_name":"f"}"#), "it has no tests: `input_output` has no inputs");
    }
}
