//! APPS: problems of contests and practice sites, with their tests as JSON in a text.
//!
//! `solutions` and `input_output` are JSON in strings on the hub, and JSON in other copies; both
//! are read, and an empty string means that there are none. The first solution is the reference. A
//! problem may come without solutions, but not without tests.
//!
//! Each split of the data set numbers its own problems. So the split is part of the id if the
//! path names it (`train.jsonl`, `test/0001/`): `apps/train/7`, else `apps/7`.

use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::{Object, WireError};

use super::apps_tests::{self, InputOutput};
use super::row::{Mapped, RowProblem, id_text, nested, plain_lines};

pub(super) const COLUMNS: &[&[&str]] = &[&["question", "input_output"]];

/// The largest `input_output` that is read. Most have some kilobytes.
const MAX_TESTS_BYTES: usize = 16 << 20;
/// The largest list of solutions that is read.
const MAX_SOLUTIONS_BYTES: usize = 32 << 20;

/// The difficulty of a problem according to APPS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Difficulty {
    /// Most programmers solve it in minutes.
    Introductory,
    /// As asked in an interview.
    Interview,
    /// As in a contest.
    Competition,
}

impl Difficulty {
    /// The name in the data set.
    pub fn name(self) -> &'static str {
        match self {
            Self::Introductory => "introductory",
            Self::Interview => "interview",
            Self::Competition => "competition",
        }
    }
}

/// The context of a row: its file, and the requested filters.
#[derive(Clone, Copy)]
pub(super) struct AppsFilter<'a> {
    /// The half of the data set that the path names.
    pub(super) half: Option<&'a str>,
    /// Difficulties that are wanted; none means all.
    pub(super) difficulties: &'a [Difficulty],
}

/// The task of a row.
pub(super) fn task(mut row: Object, place: AppsFilter<'_>) -> Result<Mapped, RowProblem> {
    let difficulty: Option<String> =
        row.take("difficulty")?.filter(|text: &String| !text.is_empty());
    if !is_wanted(difficulty.as_deref(), place.difficulties) {
        return Ok(Mapped::LeftOut);
    }
    let id = id(&mut row, place.half)?;
    let question: String = row.require("question")?;
    let solutions: Option<Vec<String>> = nested(&mut row, "solutions", MAX_SOLUTIONS_BYTES)?;
    let reference =
        solutions.and_then(|list| list.into_iter().next()).map(|solution| plain_lines(&solution));
    let starter = row.take::<String>("starter_code")?.filter(|code| !code.trim().is_empty());
    let starter = starter.map(|code| plain_lines(&code));
    let tests: Option<InputOutput> = nested(&mut row, "input_output", MAX_TESTS_BYTES)?;
    let tests = tests.ok_or(RowProblem::NoTests("`input_output` is empty"))?;
    let code = starter.as_deref().or(reference.as_deref()).unwrap_or_default();
    let mut rest = Object::new();
    rest.put_some("url", row.take::<String>("url")?.filter(|url| !url.is_empty()).as_ref());
    Ok(Mapped::Task(Box::new(Task {
        id,
        source: Some("apps".to_owned()),
        difficulty,
        tests: apps_tests::tests(tests, code)?,
        statement: statement(&plain_lines(&question), starter.as_deref()),
        language: whetstone_core::Language::Python,
        reference,
        setup: String::new(),
        body: None,
        rest,
    })))
}

fn is_wanted(difficulty: Option<&str>, wanted: &[Difficulty]) -> bool {
    wanted.is_empty()
        || difficulty
            .is_some_and(|name| wanted.iter().any(|want| want.name().eq_ignore_ascii_case(name)))
}

/// `problem_id` on the hub, `id` in the file that the hub's is made from.
fn id(row: &mut Object, half: Option<&str>) -> Result<TaskId, RowProblem> {
    let number = match id_text(row, "problem_id")? {
        Some(number) => number,
        None => id_text(row, "id")?.ok_or(WireError::Missing("problem_id"))?,
    };
    let half = half.map(|half| format!("{half}/")).unwrap_or_default();
    let id = format!("apps/{half}{number}");
    TaskId::try_from(id.clone()).map_err(|problem| RowProblem::Id { id, problem })
}

/// The question, and the code that an answer has to start from.
pub(super) fn statement(question: &str, starter: Option<&str>) -> String {
    match starter {
        Some(code) => format!(
            "{}\n\nStart from this code:\n\n```python\n{}\n```",
            question.trim_end(),
            code.trim_end()
        ),
        None => question.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use whetstone_core::wire::Wire;

    use super::*;

    const ANYWHERE: AppsFilter<'_> = AppsFilter { half: None, difficulties: &[] };

    fn map(row: &Value, place: AppsFilter<'_>) -> Result<String, String> {
        match task(serde_json::from_str(&row.to_string()).unwrap(), place) {
            Ok(Mapped::Task(task)) => Ok(task.to_line()),
            Ok(Mapped::LeftOut) => Ok("left out".to_owned()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    fn row(more: &Value) -> Value {
        let mut row = json!({"problem_id": 7, "question": "Add.\r\nTwo.", "difficulty": "interview",
            "solutions": "[\"print(1)\", \"print(2)\"]", "starter_code": "", "url": "http://x",
            "input_output": "{\"inputs\": [\"1\\n\"], \"outputs\": [\"2\\n\"]}"});
        for (key, value) in more.as_object().unwrap() {
            row[key] = value.clone();
        }
        row
    }

    #[test]
    fn texts_with_json_and_json_itself_give_the_same_task() {
        let expected = concat!(
            r#"{"v":1,"id":"apps/7","source":"apps","difficulty":"interview","#,
            r#""statement":"Add.\nTwo.","language":"python","reference":"print(1)","setup":"","#,
            r#""tests":{"kind":"stdio","visible":[],"hidden":[{"input":"1\n","output":"2\n"}]},"#,
            r#""url":"http://x"}"#,
        );
        assert_eq!(map(&row(&json!({})), ANYWHERE).unwrap(), expected);
        let real = json!({"solutions": ["print(1)", "print(2)"],
            "input_output": {"inputs": ["1\n"], "outputs": ["2\n"]}});
        assert_eq!(map(&row(&real), ANYWHERE).unwrap(), expected);
    }

    #[test]
    fn solutions_may_be_missing_and_tests_may_not() {
        let line = map(&row(&json!({"solutions": ""})), ANYWHERE).unwrap();
        assert!(!line.contains("reference"), "{line}");
        for nothing in [json!(""), json!(null), json!("{}"), json!({"inputs": [], "outputs": []})] {
            let err = map(&row(&json!({"input_output": nothing})), ANYWHERE).unwrap_err();
            assert!(err.starts_with("it has no tests: "), "{err}");
        }
    }

    #[test]
    fn tests_that_are_no_json_or_huge_are_named() {
        let err = map(&row(&json!({"input_output": "{\"inputs\": [1, "})), ANYWHERE).unwrap_err();
        assert!(err.starts_with("field `input_output`: expected JSON in the text: EOF"), "{err}");
        let huge = "1".repeat(MAX_TESTS_BYTES);
        let err = map(&row(&json!({"input_output": huge})), ANYWHERE).unwrap_err();
        assert_eq!(err, "field `input_output` has 16777218 bytes, more than the limit of 16 MiB");
    }

    #[test]
    fn the_half_of_the_data_set_is_part_of_the_id() {
        let place = AppsFilter { half: Some("test"), ..ANYWHERE };
        let line = map(&row(&json!({})), place).unwrap();
        assert!(line.contains(r#""id":"apps/test/7""#), "{line}");
        let no_id = json!({"question": "q", "input_output": ""});
        assert_eq!(map(&no_id, ANYWHERE).unwrap_err(), "field `problem_id` is missing");
        let other_name = map(&json!({"id": 3, "question": "q", "input_output": "x"}), place);
        assert!(other_name.unwrap_err().starts_with("field `input_output`"));
    }

    #[test]
    fn a_difficulty_that_was_not_asked_for_is_left_out_even_if_the_row_is_bad() {
        let place = AppsFilter { difficulties: &[Difficulty::Introductory], ..ANYWHERE };
        assert_eq!(map(&row(&json!({"input_output": "?"})), place).unwrap(), "left out");
        assert_eq!(map(&row(&json!({"difficulty": null})), place).unwrap(), "left out");
        let line = map(&row(&json!({"difficulty": "introductory"})), place).unwrap();
        assert!(line.contains("introductory"), "{line}");
    }

    #[test]
    fn starter_code_is_shown_and_says_whether_a_class_is_asked_for() {
        let starter = "class Solution:\n    def add(self, a):\n        ";
        let tests = json!({"fn_name": "add", "inputs": [[1]], "outputs": [2]});
        let row = row(&json!({"starter_code": starter, "input_output": tests}));
        let line = map(&row, ANYWHERE).unwrap();
        assert!(line.contains(r#""entry_point":"Solution.add""#), "{line}");
        assert!(line.contains(r"Start from this code:\n\n```python\nclass Solution:\n"), "{line}");
    }
}
