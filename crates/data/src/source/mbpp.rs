//! MBPP: a sentence, a function, three asserts.
//!
//! Two layouts, each as JSON of its authors and as parquet of the hub: the full set with `text`,
//! `test_setup_code` and `challenge_test_list`, and the sanitized one with `prompt` and
//! `test_imports`. All tests are hidden, the challenge tests too; the first is also visible, since
//! the statement alone does not name the function.

use whetstone_core::task::{Task, TaskId};
use whetstone_core::tests::{Suite, Tests};
use whetstone_core::wire::Object;

use super::row::{Mapped, RowProblem, id_text, plain_lines};

pub(super) const COLUMNS: &[&[&str]] =
    &[&["task_id", "text", "code", "test_list"], &["task_id", "prompt", "code", "test_list"]];

/// The task of a row.
pub(super) fn task(mut row: Object) -> Result<Mapped, RowProblem> {
    let number =
        id_text(&mut row, "task_id")?.ok_or(whetstone_core::wire::WireError::Missing("task_id"))?;
    let id = format!("mbpp/{number}");
    let id = TaskId::try_from(id.clone()).map_err(|problem| RowProblem::Id { id, problem })?;
    let statement: String = match row.take("text")? {
        Some(text) => text,
        None => row.require("prompt")?,
    };
    let reference: String = row.require("code")?;
    let mut hidden: Vec<String> = row.require("test_list")?;
    hidden.extend(row.take::<Vec<String>>("challenge_test_list")?.unwrap_or_default());
    if hidden.is_empty() {
        return Err(RowProblem::NoTests("`test_list` is empty"));
    }
    let visible = hidden[..1].to_vec();
    Ok(Mapped::Task(Box::new(Task {
        id,
        source: Some("mbpp".to_owned()),
        difficulty: None,
        statement: plain_lines(&statement),
        language: whetstone_core::Language::Python,
        reference: Some(plain_lines(&reference)),
        setup: setup(&mut row)?,
        tests: Tests::Asserts(Suite::new(visible, hidden)?),
        body: None,
        rest: Object::new(),
    })))
}

/// Imports of the sanitized set, setup code of the full one.
fn setup(row: &mut Object) -> Result<String, RowProblem> {
    let mut lines = row.take::<Vec<String>>("test_imports")?.unwrap_or_default();
    lines.extend(row.take::<String>("test_setup_code")?.filter(|code| !code.trim().is_empty()));
    Ok(plain_lines(&lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;

    fn line(row: &str) -> String {
        match task(serde_json::from_str(row).unwrap()) {
            Ok(Mapped::Task(task)) => task.to_line(),
            Ok(Mapped::LeftOut) => "left out".to_owned(),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn a_row_of_the_full_set_is_a_task_whose_first_test_is_shown() {
        let row = r#"{"text":"Add.","code":"def f(x):\r\n  return x","task_id":11,
            "test_setup_code":"root = Node(1)\r\n","test_list":["assert f(1)","assert f(2)"],
            "challenge_test_list":["assert f(3)"]}"#;
        let expected = concat!(
            r#"{"v":1,"id":"mbpp/11","source":"mbpp","difficulty":null,"statement":"Add.","#,
            r#""language":"python","reference":"def f(x):\n  return x","setup":"root = Node(1)\n","#,
            r#""tests":{"kind":"asserts","visible":["assert f(1)"],"#,
            r#""hidden":["assert f(1)","assert f(2)","assert f(3)"]}}"#,
        );
        assert_eq!(line(row), expected);
    }

    #[test]
    fn imports_of_the_sanitized_set_are_its_setup() {
        let row = r#"{"source_file":"x.ipynb","task_id":2,"prompt":"P","code":"c",
            "test_imports":["import math","import re"],"test_list":["assert f(1)"]}"#;
        let line = line(row);
        assert!(line.contains(r#""statement":"P","#), "{line}");
        assert!(line.contains(r#""setup":"import math\nimport re","#), "{line}");
    }

    #[test]
    fn a_row_that_is_no_task_says_why() {
        let row = r#"{"task_id":2,"text":"P","code":"c","test_list":[]}"#;
        assert_eq!(line(row), "it has no tests: `test_list` is empty");
        assert_eq!(line(r#"{"task_id":2,"code":"c"}"#), "field `prompt` is missing");
        assert_eq!(
            line(r#"{"task_id":2,"text":"P","code":"c","test_list":"assert f()"}"#),
            "field `test_list`: invalid type: string \"assert f()\", expected a sequence"
        );
    }
}
