//! Tests as a plain list of asserts: `"tests": ["assert add(1, 2) == 3"]`.
//!
//! It means the kind `asserts` with every test hidden: what a list does not say to show is not shown, because a
//! prompt that has all tests teaches a model to print their answers. It is written as that kind, so a file that
//! `whet` wrote reads the same in an older one.

use serde_json::value::RawValue;

use crate::wire::message;

/// The form that is expected, in messages.
const EXPECTED: &str =
    "a list of asserts such as [\"assert add(1, 2) == 3\"], or an object with `kind` and `hidden`";

/// The asserts of a list.
///
/// # Errors
///
/// If an element is not the text of an assert; the message has its place.
pub(crate) fn read(list: &str) -> Result<Vec<String>, String> {
    let elements: Vec<Box<RawValue>> = serde_json::from_str(list).map_err(|err| message(&err))?;
    elements.iter().enumerate().map(|(at, element)| assert(at, element.get())).collect()
}

/// The problem with `tests` that are neither a list nor an object.
pub(crate) fn wrong_type(json: &str) -> String {
    format!("found {}, expected {EXPECTED}", type_name(json))
}

fn assert(at: usize, json: &str) -> Result<String, String> {
    if !json.starts_with('"') {
        let found = type_name(json);
        return Err(format!(
            "tests[{at}] is {found}, and a plain list has asserts as text; other tests need an object: \
             {{\"kind\":\"calls\",\"entry_point\":…,\"hidden\":[…]}} or {{\"kind\":\"stdio\",\"hidden\":[…]}}"
        ));
    }
    let text: String = serde_json::from_str(json).map_err(|err| message(&err))?;
    if text.contains("assert") {
        return Ok(text);
    }
    Err(format!(
        "tests[{at}] has no `assert`: a plain list has asserts such as `assert add(1, 2) == 3`"
    ))
}

/// The type of a JSON value, with its article.
fn type_name(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "text",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use crate::task::{PROGRAM, Task};
    use crate::tests::Tests;
    use crate::wire::Wire;

    fn parse(tests: &str) -> Result<Task, String> {
        let line = format!(r#"{{"id":"x/1","statement":"s","tests":{tests}}}"#);
        let object = serde_json::from_str(&line).expect("test data is JSON");
        Task::from_object(object).map_err(|err| err.to_string())
    }

    #[track_caller]
    fn refused(tests: &str, problem: &str) {
        let said = parse(tests).expect_err("it is refused");
        assert!(said.starts_with("field `tests`: ") && said.contains(problem), "{said}");
    }

    #[test]
    fn a_plain_list_means_asserts_that_are_all_hidden() {
        let task = parse(r#"["assert add(1, 2) == 3", "assert add(-1, 1) == 0"]"#).unwrap();
        assert_eq!(task.kind(), Some(PROGRAM));
        let Tests::Asserts(suite) = &task.tests else { panic!("{:?}", task.tests) };
        assert!(suite.visible.as_slice().is_empty());
        let hidden = suite.hidden.for_the_judge();
        assert_eq!(hidden, ["assert add(1, 2) == 3", "assert add(-1, 1) == 0"]);
    }

    #[test]
    fn a_plain_list_is_written_as_the_kind_that_it_means() {
        let written = parse(r#"["assert f(1) == 2"]"#).unwrap().to_line();
        let tests = r#""tests":{"kind":"asserts","visible":[],"hidden":["assert f(1) == 2"]}"#;
        assert!(written.starts_with(r#"{"v":1,"#) && written.contains(tests), "{written}");
        let again = Task::from_object(serde_json::from_str(&written).unwrap()).unwrap();
        assert_eq!(again.to_line(), written);
    }

    #[test]
    fn what_is_no_list_of_asserts_says_what_it_is_and_where() {
        refused("[]", "`hidden` is empty: a task without hidden tests would pay every program");
        refused(r#"["assert f() == 1", 7]"#, "tests[1] is a number, and a plain list has asserts");
        refused(r#"[{"input":"","output":""}]"#, "tests[0] is an object");
        refused(r#"["2 3"]"#, "tests[0] has no `assert`");
        refused(r#""assert f() == 1""#, "found text, expected a list of asserts such as");
        refused("7", "found a number, expected a list of asserts such as");
        refused(
            r#"{"hidden":["assert f() == 1"]}"#,
            "`kind` is missing, expected `asserts`, `calls`, `script` or `stdio`",
        );
        refused(r#"{"kind":"asserts"}"#, "missing field `hidden`");
        refused(r#"{"kind":"unit","hidden":[]}"#, "unknown variant `unit`, expected one of");
    }
}
