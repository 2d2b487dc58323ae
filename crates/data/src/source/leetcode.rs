//! `LeetCodeDataset` (newfacade/LeetCodeDataset): problems in `HumanEval`'s form, with helpers for lists
//! and trees, and methods of a class `Solution` to write.
//!
//! | column | becomes |
//! |---|---|
//! | `task_id` | the id, `leetcode/two-sum` |
//! | `difficulty` | the difficulty, unchanged |
//! | `problem_description`, `starter_code` | the statement: the description, then the class to complete |
//! | `prompt` | the setup: imports, `ListNode`, `TreeNode`, helpers to build and to compare them |
//! | `completion` | the reference |
//! | `entry_point` | `Solution().twoSum` is `Solution.twoSum` here: each call creates a new instance |
//! | `test` | the one hidden test, `check(candidate)` |
//!
//! The other columns (`question_id`, `tags`, `estimated_date`, `input_output`, `query`, `response`) repeat
//! these in other words, or are not about the problem.

use whetstone_core::task::{Task, TaskId};
use whetstone_core::tests::{Suite, Tests};
use whetstone_core::wire::{Object, WireError};

use super::row::{Mapped, RowProblem, id_text, plain_lines};

pub(super) const COLUMNS: &[&[&str]] = &[&[
    "task_id",
    "problem_description",
    "starter_code",
    "prompt",
    "completion",
    "entry_point",
    "test",
]];

/// Bytes of a column, at most. The largest test of the data set has less than a tenth of it.
const MAX_COLUMN_BYTES: usize = 4 << 20;

/// The task of a row.
pub(super) fn task(mut row: Object) -> Result<Mapped, RowProblem> {
    let name = id_text(&mut row, "task_id")?.ok_or(WireError::Missing("task_id"))?;
    let id = format!("leetcode/{name}");
    let id = TaskId::try_from(id.clone()).map_err(|problem| RowProblem::Id { id, problem })?;
    let description = text(&mut row, "problem_description")?;
    let starter = text(&mut row, "starter_code")?;
    let setup = text(&mut row, "prompt")?;
    let reference = text(&mut row, "completion")?;
    let entry_point = entry_point(&row.require::<String>("entry_point")?)?;
    let test = text(&mut row, "test")?;
    if test.trim().is_empty() {
        return Err(RowProblem::NoTests("`test` is empty"));
    }
    Ok(Mapped::Task(Box::new(Task {
        id,
        source: Some("leetcode".to_owned()),
        difficulty: row.take::<String>("difficulty")?,
        language: whetstone_core::Language::Python,
        reference: Some(reference).filter(|code| !code.trim().is_empty()),
        setup,
        statement: statement(&description, &starter)?,
        tests: Tests::Script { entry_point, suite: Suite::new(Vec::new(), vec![test])? },
        body: None,
        rest: Object::new(),
    })))
}

/// A column of text that must be there, within bounds.
fn text(row: &mut Object, column: &'static str) -> Result<String, RowProblem> {
    let bytes = row.get(column).map_or(0, str::len);
    if bytes > MAX_COLUMN_BYTES {
        return Err(RowProblem::TooLarge { column, bytes, limit: MAX_COLUMN_BYTES });
    }
    Ok(plain_lines(&row.require::<String>(column)?))
}

fn statement(description: &str, starter: &str) -> Result<String, RowProblem> {
    let description = description.trim();
    if description.is_empty() {
        let problem = "blank, expected what the model is asked to do".to_owned();
        let field = "problem_description";
        return Err(RowProblem::Column(WireError::Field { field, problem }));
    }
    let starter = starter.trim_end();
    if starter.trim().is_empty() {
        return Ok(description.to_owned());
    }
    Ok(format!("{description}\n\nComplete this:\n\n{starter}\n"))
}

/// `Solution().twoSum`, `Solution.twoSum` or `two_sum`, without brackets.
fn entry_point(text: &str) -> Result<String, RowProblem> {
    let name = text.trim().replacen("().", ".", 1);
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    if name.split('.').all(is_name) {
        return Ok(name);
    }
    let problem = "expected a name such as `Solution().twoSum`".to_owned();
    Err(RowProblem::Column(WireError::Field { field: "entry_point", problem }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use whetstone_core::wire::Wire;

    use super::*;

    /// A row in the data set's form, about a problem of our own.
    fn row() -> Value {
        json!({
            "task_id": "sum-of-ends",
            "question_id": 9001,
            "difficulty": "Easy",
            "tags": ["Array"],
            "problem_description": "Return the sum of the first and the last number.\n",
            "starter_code": "class Solution:\n    def ends(self, numbers: List[int]) -> int:\n        ",
            "estimated_date": "2020-01-01",
            "prompt": "from typing import *\n\ninf = float('inf')\n",
            "completion": "class Solution:\n    def ends(self, numbers):\r\n        return numbers[0] + numbers[-1]\n",
            "entry_point": "Solution().ends",
            "test": "def check(candidate):\n    assert candidate(numbers = [1, 2, 3]) == 4\n",
            "input_output": [{"input": "numbers = [1, 2, 3]", "output": "4"}],
            "query": "q",
            "response": "r",
        })
    }

    fn map(row: &Value) -> Result<Task, RowProblem> {
        match task(serde_json::from_str(&row.to_string()).unwrap())? {
            Mapped::Task(task) => Ok(*task),
            Mapped::LeftOut => panic!("left out"),
        }
    }

    #[track_caller]
    fn refused(column: &str, value: Value, message: &str) {
        let mut changed = row();
        changed[column] = value;
        assert_eq!(map(&changed).unwrap_err().to_string(), message);
    }

    #[test]
    fn a_row_becomes_a_script_with_its_helpers_as_setup() {
        let task = map(&row()).unwrap();
        assert_eq!(task.id.as_str(), "leetcode/sum-of-ends");
        assert_eq!(task.source.as_deref(), Some("leetcode"));
        assert_eq!(task.difficulty.as_deref(), Some("Easy"));
        assert_eq!(
            task.statement,
            "Return the sum of the first and the last number.\n\nComplete this:\n\nclass Solution:\n    def ends(self, numbers: List[int]) -> int:\n"
        );
        assert_eq!(task.setup, "from typing import *\n\ninf = float('inf')\n");
        let reference = task.reference.as_deref().unwrap();
        assert!(reference.starts_with("class Solution") && !reference.contains('\r'));
        assert_eq!(task.tests.entry_point(), Some("Solution.ends"));
        let line = task.to_line();
        assert!(line.contains(r#""kind":"script","entry_point":"Solution.ends","visible":[],"#));
        assert!(!line.contains("9001") && !line.contains("\"query\""), "{line}");
        let view = format!("{:?}", task.view());
        assert!(!view.contains("== 4"), "the tests stay hidden: {view}");
    }

    #[test]
    fn a_row_that_is_no_task_says_which_column_is_at_fault() {
        refused("test", json!(" \n"), "it has no tests: `test` is empty");
        refused("test", json!(7), "field `test`: invalid type: integer `7`, expected a string");
        refused("completion", Value::Null, "field `completion` is missing");
        refused(
            "problem_description",
            json!(" "),
            "field `problem_description`: blank, expected what the model is asked to do",
        );
        for name in ["", "Solution()", "Solution().f()", "os.system('x')", "a b", "Solution()..f"] {
            refused(
                "entry_point",
                json!(name),
                "field `entry_point`: expected a name such as `Solution().twoSum`",
            );
        }
        refused(
            "test",
            json!("x".repeat(5 << 20)),
            "field `test` has 5242882 bytes, more than the limit of 4 MiB",
        );
        refused("task_id", Value::Null, "field `task_id` is missing");
        let long = "field `difficulty`: invalid type: sequence, expected a string";
        refused("difficulty", json!([1]), long);
    }
}
