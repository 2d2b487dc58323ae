//! MBPP: a sentence, a function, three asserts.
//!
//! Two layouts, each as JSON of its authors and as parquet of the hub: the full set with `text`,
//! `test_setup_code` and `challenge_test_list`, and the sanitized one with `prompt` and
//! `test_imports`. All tests are hidden, the challenge tests too; the first is also visible, since
//! the statement alone does not name the function.
//!
//! The sanitized set repeats 427 tasks of the full one with another statement and other tests. Which
//! of the two a task is made from is chosen where both are read, by [`MbppVariant`].

use serde::{Deserialize, Serialize};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::tests::{Suite, Tests};
use whetstone_core::wire::Object;

use super::row::{Mapped, RowProblem, id_text, plain_lines};

pub(super) const COLUMNS: &[&[&str]] =
    &[&["task_id", "text", "code", "test_list"], &["task_id", "prompt", "code", "test_list"]];

/// The publication that a task's statement and tests are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MbppVariant {
    /// The full set, as first published.
    First,
    /// The sanitized set, whose statements and tests were revised by hand.
    #[default]
    Sanitized,
}

/// The tests of a task of MBPP that are shown, and those that it is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MbppTests {
    /// The tests of `test_list` that a prompt may show.
    pub shown: ShownTests,
    /// Programs are judged by the challenge tests too.
    pub with_challenge: bool,
}

/// The tests that a prompt may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownTests {
    /// The first, which names the function.
    First,
    /// All of `test_list`.
    All,
}

impl Default for MbppTests {
    fn default() -> Self {
        Self { shown: ShownTests::First, with_challenge: true }
    }
}

impl MbppVariant {
    /// The variant of a row: only the full set has a `text`.
    pub(super) fn of(row: &Object) -> Self {
        if row.get("text").is_some() { Self::First } else { Self::Sanitized }
    }
}

/// The task of a row.
pub(super) fn task(mut row: Object, tests: MbppTests) -> Result<Mapped, RowProblem> {
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
    let listed = hidden.len();
    let challenge = row.take::<Vec<String>>("challenge_test_list")?.unwrap_or_default();
    hidden.extend(challenge.into_iter().filter(|_| tests.with_challenge));
    if hidden.is_empty() {
        return Err(RowProblem::NoTests("`test_list` is empty"));
    }
    let shown = match tests.shown {
        ShownTests::First => 1,
        ShownTests::All => listed,
    };
    let visible = hidden[..shown].to_vec();
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
        line_with(row, MbppTests::default())
    }

    fn line_with(row: &str, tests: MbppTests) -> String {
        match task(serde_json::from_str(row).unwrap(), tests) {
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
    fn a_suite_may_show_the_whole_list_and_judge_by_it_alone() {
        let row = r#"{"text":"Add.","code":"c","task_id":11,"test_list":["assert f(1)","assert f(2)"],
            "challenge_test_list":["assert f(3)"]}"#;
        let of = |shown, with_challenge| line_with(row, MbppTests { shown, with_challenge });
        let all = of(ShownTests::All, false);
        let both = r#"["assert f(1)","assert f(2)"]"#;
        assert!(all.contains(&format!(r#""visible":{both},"hidden":{both}"#)), "{all}");
        let first = of(ShownTests::First, false);
        assert!(
            first.contains(&format!(r#""visible":["assert f(1)"],"hidden":{both}"#)),
            "{first}"
        );
        let challenged = of(ShownTests::All, true);
        assert!(
            challenged.contains(&format!(
                r#""visible":{both},"hidden":["assert f(1)","assert f(2)","assert f(3)"]"#
            )),
            "{challenged}"
        );
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
    fn a_row_with_a_text_is_of_the_full_set() {
        let of = |row: &str| MbppVariant::of(&serde_json::from_str(row).unwrap());
        assert_eq!(of(r#"{"task_id":2,"text":"P"}"#), MbppVariant::First);
        assert_eq!(of(r#"{"task_id":2,"prompt":"P"}"#), MbppVariant::Sanitized);
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
