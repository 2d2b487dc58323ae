//! `EvalPlus`: tasks of HumanEval and of sanitized MBPP, with the inputs that it adds.
//!
//! Its files (`HumanEvalPlus.jsonl.gz`, `MbppPlus.jsonl.gz`) have inputs and no expected outputs: these come
//! from the canonical solution. So a hidden test is a script that runs the canonical solution beside the
//! program and compares as `EvalPlus` does (`evalplus_check.py`); one test has the base inputs, and the
//! inputs that `EvalPlus` adds are the others, as many at a time as a test may have bytes.
//!
//! The hub's `mbppplus` has a finished script instead, which imports numpy. The hub's `humanevalplus` has the
//! columns of HumanEval, and is read as that.

use serde_json::value::RawValue;
use whetstone_core::task::{Task, TaskId};
use whetstone_core::tests::{Suite, Tests};
use whetstone_core::wire::{Object, WireError};
use whetstone_sandbox::plan::MAX_SOURCE_BYTES;

use super::humaneval::before_the_function;
use super::row::{Mapped, RowProblem, id_text, plain_lines};

pub(super) const COLUMNS: &[&[&str]] = &[
    &["task_id", "prompt", "entry_point", "canonical_solution", "base_input", "plus_input", "atol"],
    &["task_id", "prompt", "code", "source_file", "test_imports", "test_list", "test"],
];

/// The comparison, behind the lines that say with what.
const CHECK: &str = include_str!("evalplus_check.py");

/// The task of a row.
pub(super) fn task(mut row: Object) -> Result<Mapped, RowProblem> {
    let name = id_text(&mut row, "task_id")?.ok_or(WireError::Missing("task_id"))?;
    let task =
        if row.get("base_input").is_some() { of_inputs(row, &name) } else { of_hub(row, &name) };
    Ok(Mapped::Task(Box::new(task?)))
}

/// The task of a row with inputs.
fn of_inputs(mut row: Object, name: &str) -> Result<Task, RowProblem> {
    let (set, number) = match name.split_once('/') {
        Some(("HumanEval", number)) => ("humaneval", number),
        Some(("Mbpp", number)) => ("mbpp", number),
        _ => {
            let problem = "expected `HumanEval/0` or `Mbpp/2`".to_owned();
            return Err(RowProblem::Id { id: name.to_owned(), problem });
        }
    };
    let prompt = plain_lines(&row.require::<String>("prompt")?);
    let entry_point: String = row.require("entry_point")?;
    let solution =
        format!("{prompt}{}", plain_lines(&row.require::<String>("canonical_solution")?));
    let tolerance: f64 = row.require("atol")?;
    let head = format!(
        "SOLUTION = {}\nENTRY_POINT = {}\nTASK = {}\nTOLERANCE = {tolerance:?}\n",
        literal(&solution),
        literal(&entry_point),
        literal(&format!("{set}/{number}")),
    );
    let mut hidden = Vec::new();
    for column in ["base_input", "plus_input"] {
        let inputs: Vec<Box<RawValue>> = row.require(column)?;
        hidden.extend(scripts(&head, &inputs, column)?);
    }
    if hidden.is_empty() {
        return Err(RowProblem::NoTests("`base_input` and `plus_input` are empty"));
    }
    let (statement, visible) =
        if set == "mbpp" { parts(&prompt) } else { (prompt.clone(), Vec::new()) };
    let setup = before_the_function(&prompt, &entry_point).to_owned();
    let tests = Tests::Script { entry_point, suite: Suite::new(visible, hidden)? };
    made(&format!("{set}plus"), number, Made { statement, reference: solution, setup, tests })
}

/// The scripts of some inputs, each within what a test may have.
fn scripts(
    head: &str,
    inputs: &[Box<RawValue>],
    column: &'static str,
) -> Result<Vec<String>, RowProblem> {
    let frame = head.len() + CHECK.len() + "INPUTS = \"[]\"\n".len();
    let room = MAX_SOURCE_BYTES.saturating_sub(frame);
    let mut lists: Vec<String> = Vec::new();
    let mut taken = room;
    for (at, input) in inputs.iter().enumerate() {
        let bytes = literal(input.get()).len() + ", ".len();
        if bytes > room {
            let problem = format!("input {at} has {bytes} bytes, and {room} are the limit");
            return Err(RowProblem::Column(WireError::Field { field: column, problem }));
        }
        if taken + bytes > room {
            lists.push(String::new());
            taken = 0;
        }
        taken += bytes;
        if let Some(list) = lists.last_mut() {
            list.push_str(if list.is_empty() { "" } else { ", " });
            list.push_str(input.get());
        }
    }
    let script =
        |list: String| format!("{head}INPUTS = {}\n{CHECK}", literal(&format!("[{list}]")));
    Ok(lists.into_iter().map(script).collect())
}

/// Text as a literal of Python: JSON's escapes of controls, quotes and backslashes are Python's too.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Statement and shown test of a prompt of MBPP: a docstring whose last line is the test.
fn parts(prompt: &str) -> (String, Vec<String>) {
    let text = prompt.trim().trim_matches('"').trim();
    match text.rsplit_once('\n') {
        Some((statement, test)) if test.starts_with("assert") => {
            (statement.to_owned(), vec![test.to_owned()])
        }
        _ => (text.to_owned(), Vec::new()),
    }
}

/// The task of a row of the hub's `mbppplus`.
fn of_hub(mut row: Object, number: &str) -> Result<Task, RowProblem> {
    let statement = plain_lines(&row.require::<String>("prompt")?);
    let reference = plain_lines(&row.require::<String>("code")?);
    let setup = row.take::<Vec<String>>("test_imports")?.unwrap_or_default().join("\n");
    let visible: Vec<String> =
        row.require::<Vec<String>>("test_list")?.into_iter().take(1).collect();
    let test: String = row.require("test")?;
    if test.trim().is_empty() {
        return Err(RowProblem::NoTests("`test` is empty"));
    }
    let tests = Tests::Asserts(Suite::new(visible, vec![plain_lines(&test)])?);
    made("mbppplus", number, Made { statement, reference, setup: plain_lines(&setup), tests })
}

/// The parts of a task that come from its row.
struct Made {
    statement: String,
    reference: String,
    setup: String,
    tests: Tests,
}

fn made(source: &str, number: &str, made: Made) -> Result<Task, RowProblem> {
    let Made { statement, reference, setup, tests } = made;
    let id = format!("{source}/{number}");
    let id = TaskId::try_from(id.clone()).map_err(|problem| RowProblem::Id { id, problem })?;
    Ok(Task {
        id,
        source: Some(source.to_owned()),
        difficulty: None,
        statement,
        language: whetstone_core::Language::Python,
        reference: Some(reference),
        setup,
        tests,
        body: None,
        rest: Object::new(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use whetstone_core::tests::Tests;

    use super::*;

    fn map(row: &Value) -> Result<Task, String> {
        match task(serde_json::from_str(&row.to_string()).unwrap()) {
            Ok(Mapped::Task(task)) => Ok(*task),
            Ok(Mapped::LeftOut) => Err("left out".to_owned()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    fn scripts_of(task: &Task) -> Vec<String> {
        let Tests::Script { suite, .. } = &task.tests else { panic!("{:?}", task.tests) };
        suite.hidden.for_the_judge().to_vec()
    }

    fn row() -> Value {
        json!({"task_id": "Mbpp/2", "entry_point": "f", "atol": 0, "contract": "", "assertion": "",
            "prompt": "\"\"\"\nShared \"elements\".\nassert f([1]) == 1\n\"\"\"\n",
            "canonical_solution": "\ndef f(xs):\n    return xs[0]\n",
            "base_input": [[[1]], [[2, 3]]], "plus_input": [[[7]]]})
    }

    #[test]
    fn inputs_become_a_script_beside_the_canonical_solution() {
        let task = map(&row()).unwrap();
        assert_eq!((task.id.as_str(), task.source.as_deref()), ("mbppplus/2", Some("mbppplus")));
        assert_eq!(task.statement, "Shared \"elements\".");
        let Tests::Script { entry_point, suite } = &task.tests else { panic!("{:?}", task.tests) };
        assert_eq!(
            (entry_point.as_str(), suite.visible.as_slice()),
            ("f", &["assert f([1]) == 1".to_owned()][..])
        );
        let scripts = scripts_of(&task);
        assert_eq!(scripts.len(), 2, "base inputs, and those that are added");
        let expected = "ENTRY_POINT = \"f\"\nTASK = \"mbpp/2\"\nTOLERANCE = 0.0\nINPUTS = \"[[[1]], [[2,3]]]\"\n";
        assert!(scripts[0].contains(expected), "{}", &scripts[0][..400]);
        assert!(
            scripts[0].starts_with("SOLUTION = \"\\\"\\\"\\\"\\nShared \\\"elements\\\"."),
            "{}",
            &scripts[0][..60]
        );
        assert_eq!(task.reference.unwrap().matches("def f(xs)").count(), 1);
    }

    #[test]
    fn humaneval_keeps_its_prompt_and_its_imports() {
        let prompt = "import math\n\n\ndef f(x):\n    \"\"\"F.\"\"\"\n";
        let row = json!({"task_id": "HumanEval/3", "prompt": prompt, "entry_point": "f", "atol": 1e-6,
            "canonical_solution": "    return x\n", "test": "def check(c): pass",
            "base_input": [[1]], "plus_input": []});
        let task = map(&row).unwrap();
        assert_eq!((task.id.as_str(), task.statement.as_str()), ("humanevalplus/3", prompt));
        assert_eq!(task.setup, "import math\n\n\n");
        assert!(scripts_of(&task)[0].contains("TOLERANCE = 1e-6\n"));
    }

    #[test]
    fn many_inputs_are_several_tests_and_one_that_is_too_long_is_named() {
        let mut long = row();
        let text = "x\n".repeat(5000);
        long["plus_input"] = json!(vec![[text]; 12]);
        let scripts = scripts_of(&map(&long).unwrap());
        assert!(scripts.iter().all(|script| script.len() <= MAX_SOURCE_BYTES));
        let inputs = |script: &String| script.matches("x\\\\nx").count().min(1);
        assert!(scripts.len() > 4 && scripts[1..].iter().all(|script| inputs(script) == 1));
        long["plus_input"] = json!([["x".repeat(MAX_SOURCE_BYTES)]]);
        let problem = map(&long).unwrap_err();
        assert!(problem.starts_with("field `plus_input`: input 0 has 655"), "{problem}");
    }

    #[test]
    fn what_is_no_task_of_evalplus_is_named() {
        let with = |key: &str, value: Value| {
            let mut row = row();
            row[key] = value;
            map(&row).unwrap_err()
        };
        assert_eq!(
            with("task_id", json!("Other/2")),
            "its id \"Other/2\" cannot be used: expected `HumanEval/0` or `Mbpp/2`"
        );
        assert!(with("atol", json!("x")).starts_with("field `atol`: "));
        assert!(with("base_input", json!({"a": 1})).starts_with("field `base_input`: "));
        let mut empty = row();
        (empty["base_input"], empty["plus_input"]) = (json!([]), json!([]));
        assert_eq!(
            map(&empty).unwrap_err(),
            "it has no tests: `base_input` and `plus_input` are empty"
        );
    }

    #[test]
    fn the_hubs_table_has_a_finished_script() {
        let row = json!({"task_id": 2, "prompt": "Shared.", "code": "def f(): pass", "source_file": "x",
            "test_imports": ["import math"], "test_list": ["assert f()", "assert not f()"],
            "test": "inputs = [[1]]\nfor given in inputs:\n    assert f(*given)\n"});
        let task = map(&row).unwrap();
        assert_eq!((task.id.as_str(), task.setup.as_str()), ("mbppplus/2", "import math"));
        let Tests::Asserts(suite) = &task.tests else { panic!("{:?}", task.tests) };
        assert_eq!(suite.visible.as_slice(), ["assert f()"]);
        assert!(suite.hidden.for_the_judge()[0].starts_with("inputs = [[1]]"));
    }
}
