//! HumanEval: the head of a function with its docstring, and a `check` that tries it.
//!
//! The prompt is the statement, unchanged, with its own examples. The code in it before the
//! function (imports, helpers that the tests call too) is the setup of the tests, so that a program
//! with the function alone can be judged.

use whetstone_core::task::{Task, TaskId};
use whetstone_core::tests::{Suite, Tests};
use whetstone_core::wire::{Object, WireError};

use super::row::{Mapped, RowProblem, id_text, plain_lines};

pub(super) const COLUMNS: &[&[&str]] = &[&["task_id", "prompt", "entry_point", "test"]];

/// The task of a row.
pub(super) fn task(mut row: Object) -> Result<Mapped, RowProblem> {
    let name = id_text(&mut row, "task_id")?.ok_or(WireError::Missing("task_id"))?;
    let number = name.rsplit('/').next().unwrap_or(&name);
    let id = format!("humaneval/{number}");
    let id = TaskId::try_from(id.clone()).map_err(|problem| RowProblem::Id { id, problem })?;
    let prompt = plain_lines(&row.require::<String>("prompt")?);
    let entry_point: String = row.require("entry_point")?;
    let test: String = row.require("test")?;
    if test.trim().is_empty() {
        return Err(RowProblem::NoTests("`test` is empty"));
    }
    let solution = row.take::<String>("canonical_solution")?.filter(|code| !code.trim().is_empty());
    Ok(Mapped::Task(Box::new(Task {
        id,
        source: Some("humaneval".to_owned()),
        difficulty: None,
        language: whetstone_core::Language::Python,
        reference: solution.map(|body| format!("{prompt}{}", plain_lines(&body))),
        setup: before_the_function(&prompt, &entry_point).to_owned(),
        statement: prompt,
        tests: Tests::Script { entry_point, suite: Suite::new(Vec::new(), vec![test])? },
        body: None,
        rest: Object::new(),
    })))
}

/// The lines of `prompt` above the function that is asked for.
pub(super) fn before_the_function<'a>(prompt: &'a str, name: &str) -> &'a str {
    let head = format!("def {name}(");
    let starts = prompt.match_indices(&head).map(|(at, _)| at);
    let at = starts.into_iter().find(|&at| at == 0 || prompt[..at].ends_with('\n'));
    at.map_or("", |at| &prompt[..at])
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;

    fn map(row: &serde_json::Value) -> Result<Task, RowProblem> {
        let row = serde_json::from_str(&row.to_string()).unwrap();
        match task(row)? {
            Mapped::Task(task) => Ok(*task),
            Mapped::LeftOut => panic!("left out"),
        }
    }

    #[test]
    fn the_prompt_is_the_statement_and_its_helpers_are_the_setup() {
        let prompt = "import math\n\n\ndef poly(xs):\n    return 1\n\n\ndef f(x):\n    \"\"\"F.\n";
        let row = serde_json::json!({"task_id": "HumanEval/32", "prompt": prompt,
            "canonical_solution": "    return x\n", "entry_point": "f",
            "test": "def check(candidate):\n    assert candidate(1) == 1\n"});
        let task = map(&row).unwrap();
        assert_eq!((task.id.as_str(), task.statement.as_str()), ("humaneval/32", prompt));
        assert_eq!(task.setup, "import math\n\n\ndef poly(xs):\n    return 1\n\n\n");
        assert_eq!(task.reference, Some(format!("{prompt}    return x\n")));
        assert!(task.to_line().contains(r#""kind":"script","entry_point":"f","visible":[],"#));
    }

    #[test]
    fn a_row_without_a_test_is_none() {
        let row =
            serde_json::json!({"task_id": "x", "prompt": "p", "entry_point": "f", "test": " "});
        assert_eq!(map(&row).unwrap_err().to_string(), "it has no tests: `test` is empty");
    }
}
