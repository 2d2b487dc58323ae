//! `LiveCodeBench` (`code_generation_lite`): problems of contests, with tests packed into a text.
//!
//! | column | becomes |
//! |---|---|
//! | `question_id`, `platform` | the id, `livecodebench/atcoder/abc301_a` |
//! | `question_content`, `starter_code` | the statement |
//! | `public_test_cases` | hidden tests: the statement shows them already |
//! | `private_test_cases` | hidden tests; JSON, or JSON in a pickle, in zlib, in base64 ([`packed`](super::packed)) |
//! | `metadata` | `func_name`, for problems that ask for a method of `Solution` |

use serde::Deserialize;
use serde_json::value::RawValue;
use whetstone_core::task::{Task, TaskId};
use whetstone_core::tests::{Call, Io, Suite, Tests};
use whetstone_core::wire::{Object, WireError};

use super::apps::statement;
use super::packed;
use super::row::{Mapped, RowProblem, brief, id_text, nested, plain_lines};

pub(super) const COLUMNS: &[&[&str]] = &[&[
    "question_id",
    "question_content",
    "starter_code",
    "public_test_cases",
    "private_test_cases",
]];

/// The largest list of tests that is read, unpacked.
const MAX_TESTS_BYTES: usize = 48 << 20;

/// One test.
#[derive(Deserialize)]
struct Case {
    input: String,
    output: String,
    testtype: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    func_name: Option<String>,
}

/// The task of a row.
pub(super) fn task(mut row: Object) -> Result<Mapped, RowProblem> {
    let number = id_text(&mut row, "question_id")?.ok_or(WireError::Missing("question_id"))?;
    let platform = row.take::<String>("platform")?.map(|name| format!("{name}/"));
    let id = format!("livecodebench/{}{number}", platform.unwrap_or_default());
    let id = TaskId::try_from(id.clone()).map_err(|problem| RowProblem::Id { id, problem })?;
    let question: String = row.require("question_content")?;
    let starter = row.take::<String>("starter_code")?.filter(|code| !code.trim().is_empty());
    let starter = starter.map(|code| plain_lines(&code));
    let metadata: Metadata = nested(&mut row, "metadata", MAX_TESTS_BYTES)?.unwrap_or_default();
    let mut cases: Vec<Case> =
        nested(&mut row, "public_test_cases", MAX_TESTS_BYTES)?.unwrap_or_default();
    cases.extend(private(&mut row)?);
    if cases.is_empty() {
        return Err(RowProblem::NoTests("`public_test_cases` and `private_test_cases` are empty"));
    }
    Ok(Mapped::Task(Box::new(Task {
        id,
        source: Some("livecodebench".to_owned()),
        difficulty: row.take::<String>("difficulty")?.filter(|text| !text.is_empty()),
        statement: statement(&plain_lines(&question), starter.as_deref()),
        language: whetstone_core::Language::Python,
        reference: None,
        setup: String::new(),
        tests: tests(&cases, metadata.func_name)?,
        body: None,
        rest: Object::new(),
    })))
}

/// The private tests: JSON, or packed.
fn private(row: &mut Object) -> Result<Vec<Case>, RowProblem> {
    const COLUMN: &str = "private_test_cases";
    let wrong = |problem: String| RowProblem::Column(WireError::Field { field: COLUMN, problem });
    let Some(raw) = row.get(COLUMN) else { return Ok(Vec::new()) };
    if raw.len() > MAX_TESTS_BYTES {
        let (bytes, limit) = (raw.len(), MAX_TESTS_BYTES);
        return Err(RowProblem::TooLarge { column: COLUMN, bytes, limit });
    }
    let text: String = row.require(COLUMN)?;
    let is_json = text.trim_start().starts_with('[');
    let text = if is_json { text } else { packed::text(&text, MAX_TESTS_BYTES).map_err(wrong)? };
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text)
        .map_err(|err| wrong(format!("expected JSON in the text: {}", brief(&err.to_string()))))
}

fn tests(cases: &[Case], function: Option<String>) -> Result<Tests, RowProblem> {
    let is_call = |case: &Case| case.testtype == "functional";
    if cases.iter().all(is_call) {
        let name = function.ok_or_else(|| {
            wrong("metadata", "it has no `func_name`, and the tests call a function".to_owned())
        })?;
        let calls: Result<_, _> =
            cases.iter().enumerate().map(|(at, case)| call(at, case)).collect();
        let entry_point = format!("Solution.{name}");
        return Ok(Tests::Calls { entry_point, suite: Suite::new(Vec::new(), calls?)? });
    }
    if let Some(other) = cases.iter().find(|case| case.testtype != "stdin") {
        let found = brief(&other.testtype);
        let problem = format!("`testtype` is `{found}`, expected `stdin` or `functional` for all");
        return Err(wrong("public_test_cases", problem));
    }
    let run = |case: &Case| Io {
        input: case.input.clone(),
        output: case.output.clone(),
        alternatives: Vec::new(),
    };
    Ok(Tests::Stdio(Suite::new(Vec::new(), cases.iter().map(run).collect())?))
}

/// A call: each line of the input is an argument in JSON, the output is the value in JSON.
fn call(at: usize, case: &Case) -> Result<Call, RowProblem> {
    let value = |text: &str| -> Result<Box<RawValue>, RowProblem> {
        serde_json::from_str(text).map_err(|_| {
            wrong("public_test_cases", format!("test {at}: not a value in JSON: {}", brief(text)))
        })
    };
    let lines = case.input.lines().filter(|line| !line.trim().is_empty());
    let args: Result<_, _> = lines.map(value).collect();
    let (kwargs, alternatives) = (Object::new(), Vec::new());
    Ok(Call { args: args?, kwargs, expected: value(case.output.trim())?, alternatives })
}

fn wrong(field: &'static str, problem: String) -> RowProblem {
    RowProblem::Column(WireError::Field { field, problem })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use whetstone_core::wire::Wire;

    use super::super::packed::tests::PACKED;
    use super::*;

    fn map(more: &Value) -> Result<String, String> {
        let mut row = json!({"question_title": "t", "question_content": "Add.", "platform": "atcoder",
            "question_id": "abc1_a", "contest_id": "abc1", "contest_date": "2024-01-01T00:00:00",
            "starter_code": "", "difficulty": "easy", "metadata": "{}", "private_test_cases": "[]",
            "public_test_cases": "[{\"input\": \"1\\n\", \"output\": \"2\\n\", \"testtype\": \"stdin\"}]"});
        for (key, value) in more.as_object().unwrap() {
            row[key] = value.clone();
        }
        match task(serde_json::from_str(&row.to_string()).unwrap()) {
            Ok(Mapped::Task(task)) => Ok(task.to_line()),
            Ok(Mapped::LeftOut) => Ok("left out".to_owned()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    #[test]
    fn public_and_private_tests_are_hidden_runs() {
        let private = r#"[{"input": "3\n", "output": "4\n", "testtype": "stdin"}]"#;
        let line = map(&json!({"private_test_cases": private})).unwrap();
        let start = r#"{"v":1,"id":"livecodebench/atcoder/abc1_a","source":"livecodebench","difficulty":"easy","statement":"Add.""#;
        assert!(line.starts_with(start), "{line}");
        let tests = r#""tests":{"kind":"stdio","visible":[],"hidden":[{"input":"1\n","output":"2\n"},{"input":"3\n","output":"4\n"}]}"#;
        assert!(line.contains(tests), "{line}");
    }

    #[test]
    fn packed_tests_are_the_same_tests() {
        let line = map(&json!({"private_test_cases": PACKED})).unwrap();
        assert!(line.contains(r#"{"input":"3\n","output":"4\n"}"#), "{line}");
    }

    #[test]
    fn a_function_is_a_method_of_solution_and_a_line_an_argument() {
        let tests = r#"[{"input": "[1, 2]\n\"a\"", "output": "[true]", "testtype": "functional"}]"#;
        let starter = "class Solution:\n    def add(self, xs, a):\n        ";
        let line = map(&json!({"public_test_cases": tests, "starter_code": starter,
            "metadata": "{\"func_name\": \"add\"}"}))
        .unwrap();
        assert!(line.contains(r#""kind":"calls","entry_point":"Solution.add""#), "{line}");
        assert!(line.contains(r#"{"args":[[1, 2],"a"],"kwargs":{},"expected":[true]}"#), "{line}");
        assert!(line.contains("Start from this code"), "{line}");
        let problem = map(&json!({"public_test_cases": tests})).unwrap_err();
        assert_eq!(
            problem,
            "field `metadata`: it has no `func_name`, and the tests call a function"
        );
    }

    #[test]
    fn tests_that_cannot_be_read_are_named() {
        let with = |private: &str| map(&json!({"private_test_cases": private})).unwrap_err();
        assert!(with("[1]").starts_with("field `private_test_cases`: expected JSON in the text: "));
        assert_eq!(with("%%"), "field `private_test_cases`: not base64 at byte 0");
        let odd = r#"[{"input": "", "output": "", "testtype": "file"}]"#;
        let problem = "field `public_test_cases`: `testtype` is `file`, expected `stdin` or `functional` for all";
        assert_eq!(with(odd), problem);
        let none = map(&json!({"public_test_cases": "[]"})).unwrap_err();
        assert_eq!(none, "it has no tests: `public_test_cases` and `private_test_cases` are empty");
    }
}
