//! One thing to solve: a statement, tests, and where it came from.
//!
//! A line of `train.jsonl` and `val.jsonl`:
//!
//! ```json
//! {"v":1,"id":"x/1","statement":"…","tests":{"kind":"calls","entry_point":"add","hidden":[…]}}
//! ```
//!
//! What decides whether a task is solved is its body, by kind. `tests` are the body of programs; a task for
//! another environment has a `body` with the environment's name and fields instead:
//!
//! ```json
//! {"v":3,"id":"g/1","statement":"…","body":{"kind":"guess","number":7}}
//! ```
//!
//! A task with neither is a prompt alone: the setting `env.kind` chooses its environment, and for programs
//! nothing is run, and replies are worth their static terms.
//! Fields we do not know pass through untouched.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::body::Body;
use crate::program::Language;
use crate::tests::{Call, Compare, Io, Tests};
use crate::wire::{Object, Wire, WireError, message};

/// The version of the line format.
const VERSION: u64 = 3;
/// The version of programs with a checker or a comparison.
const CHECKER_VERSION: u64 = 2;
/// The version of tasks that need nothing of the later ones, so that an older whet reads them.
const FIRST_VERSION: u64 = 1;

/// One thing to solve.
#[derive(Debug, Clone)]
pub struct Task {
    /// Unique within a file.
    pub id: TaskId,
    /// The data set it came from, e.g. `mbpp`.
    pub source: Option<String>,
    /// The difficulty, in the words of its source.
    pub difficulty: Option<String>,
    /// The problem statement.
    pub statement: String,
    /// The language of programs.
    pub language: Language,
    /// A program that solves it.
    pub reference: Option<String>,
    /// Code that the tests need before them, such as imports.
    pub setup: String,
    /// The tests that decide whether a program solves it; absent for tasks that do not ask for a
    /// program.
    pub tests: Tests,
    /// The body for an environment other than that of programs.
    pub body: Option<Body>,
    /// Fields of the line that are not ours.
    pub rest: Object,
}

/// The kind of environment in which programs are judged.
pub const PROGRAM: &str = "program";

/// The name of a task: not empty, at most 256 bytes, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(String);

/// The parts of a task that a prompt may contain: not the hidden tests or the reference solution.
#[derive(Debug, Clone, Copy)]
pub struct TaskView<'a> {
    /// The problem statement.
    pub statement: &'a str,
    /// The language to write the program in.
    pub language: Language,
    /// The function that the tests will call.
    pub entry_point: Option<&'a str>,
    /// The tests to show.
    pub visible: VisibleTests<'a>,
}

/// Visible tests, by kind.
#[derive(Debug, Clone, Copy)]
pub enum VisibleTests<'a> {
    /// Assert statements, or test code.
    Code(&'a [String]),
    /// Calls with their values.
    Calls(&'a [Call]),
    /// Runs of a whole program.
    Stdio(&'a [Io]),
}

impl Task {
    /// The kind of environment that it is for; none if it leaves that to the settings.
    pub fn kind(&self) -> Option<&str> {
        match &self.body {
            Some(body) => Some(&body.kind),
            None => (!self.tests.is_absent()).then_some(PROGRAM),
        }
    }

    /// Whether a program is asked for, where tasks that name no environment are for `default_kind`.
    pub fn is_program(&self, default_kind: &str) -> bool {
        self.kind().unwrap_or(default_kind) == PROGRAM
    }

    /// A field of its body; of a task without one, a field of its line that is not ours. For environments
    /// that run no programs.
    ///
    /// # Errors
    ///
    /// If it is missing, or not what is expected.
    pub fn field<T: DeserializeOwned>(&self, name: &'static str) -> Result<T, WireError> {
        let fields = self.body.as_ref().map_or(&self.rest, |body| &body.fields);
        let raw = fields.get(name).ok_or(WireError::Missing(name))?;
        serde_json::from_str(raw)
            .map_err(|err| WireError::Field { field: name, problem: message(&err) })
    }

    /// The part of the task that a model may see.
    pub fn view(&self) -> TaskView<'_> {
        let visible = match &self.tests {
            Tests::Asserts(suite) | Tests::Script { suite, .. } => {
                VisibleTests::Code(suite.visible.as_slice())
            }
            Tests::Calls { suite, .. } => VisibleTests::Calls(suite.visible.as_slice()),
            Tests::Stdio(suite) => VisibleTests::Stdio(suite.visible.as_slice()),
            Tests::Absent => VisibleTests::Code(&[]),
        };
        TaskView {
            statement: &self.statement,
            language: self.language,
            entry_point: self.tests.entry_point(),
            visible,
        }
    }
}

impl Wire for Task {
    const NOUN: &'static str = "task";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        object.version(VERSION)?;
        let task = Self {
            id: object.require("id")?,
            source: object.take("source")?,
            difficulty: object.take("difficulty")?,
            statement: object.require("statement")?,
            language: object.take("language")?.unwrap_or_default(),
            reference: object.take("reference")?,
            setup: object.take("setup")?.unwrap_or_default(),
            tests: object.take("tests")?.unwrap_or(Tests::Absent),
            body: None,
            rest: Object::new(),
        };
        let body = if task.tests.is_absent() { Body::take(&mut object)? } else { None };
        if task.statement.trim().is_empty() {
            let problem = "blank, expected what the model is asked to do".to_owned();
            return Err(WireError::Field { field: "statement", problem });
        }
        Ok(Self { body, rest: object, ..task })
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        let is_first = self.tests.checker().is_none() && self.tests.compare() == Compare::default();
        let version = match &self.body {
            Some(_) => VERSION,
            None if is_first => FIRST_VERSION,
            None => CHECKER_VERSION,
        };
        object.put("v", &version);
        object.put("id", &self.id);
        object.put_some("source", self.source.as_ref());
        object.put("difficulty", &self.difficulty);
        object.put("statement", &self.statement);
        object.put("language", &self.language);
        object.put_some("reference", self.reference.as_ref());
        object.put("setup", &self.setup);
        object.put_some("tests", Some(&self.tests).filter(|tests| !tests.is_absent()));
        object.put_some("body", self.body.as_ref().map(Body::to_object).as_ref());
        object.append(&self.rest);
        object
    }
}

impl TaskId {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TaskId {
    type Error = String;

    fn try_from(id: String) -> Result<Self, String> {
        if id.is_empty() || id.len() > 256 || id.chars().any(char::is_control) {
            return Err("expected 1 to 256 bytes without control characters".to_owned());
        }
        Ok(Self(id))
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Task, WireError> {
        Task::from_object(serde_json::from_str(text).expect("test data is JSON"))
    }

    fn task_line(tests: &str) -> String {
        format!(r#"{{"v":1,"id":"x/1","statement":"s","tests":{tests}}}"#)
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        assert_eq!(parse(text).unwrap_err().to_string(), message);
    }

    #[test]
    fn every_kind_comes_back_as_it_was_written() {
        let big = "123456789012345678901234567890";
        let kinds = [
            r#"{"kind":"asserts","visible":["assert f(1) == 2"],"hidden":["assert f(2) == 3"]}"#,
            &format!(
                r#"{{"kind":"calls","entry_point":"Solution.add","visible":[],"hidden":[{{"args":[{big},1.50],"kwargs":{{"k":null}},"expected":[1]}}]}}"#
            ),
            r#"{"kind":"script","entry_point":"f","visible":[],"hidden":["def check(c): pass"]}"#,
            r#"{"kind":"stdio","visible":[],"hidden":[{"input":"2 3\n","output":"5\n"}]}"#,
        ];
        for tests in kinds {
            let once = parse(&task_line(tests)).unwrap().to_line();
            assert!(once.contains(tests), "{once}");
            let again = Task::from_object(serde_json::from_str(&once).unwrap()).unwrap();
            assert_eq!(again.to_line(), once);
        }
    }

    #[test]
    fn a_checker_and_a_comparison_come_back_and_raise_the_version() {
        let kinds = [
            r#"{"kind":"asserts","checker":"def check(input, expected, answer): return True","visible":[],"hidden":["assert f(2) == 3"]}"#,
            r#"{"kind":"calls","entry_point":"f","checker":"c","visible":[],"hidden":[{"args":[],"kwargs":{},"expected":[1]}]}"#,
            r#"{"kind":"stdio","checker":"c","visible":[],"hidden":[{"input":"","output":""}]}"#,
            r#"{"kind":"stdio","compare":"tokens","visible":[],"hidden":[{"input":"","output":""}]}"#,
        ];
        for tests in kinds {
            let once = parse(&task_line(tests)).unwrap().to_line();
            assert!(once.contains(tests) && once.starts_with(r#"{"v":2,"#), "{once}");
            let again = Task::from_object(serde_json::from_str(&once).unwrap()).unwrap();
            assert_eq!(again.to_line(), once);
        }
        let default = r#"{"kind":"stdio","compare":"lines","hidden":[{"input":"","output":""}]}"#;
        let line = parse(&task_line(default)).unwrap().to_line();
        assert!(line.starts_with(r#"{"v":1,"#) && !line.contains("compare"), "{line}");
    }

    #[test]
    fn a_checker_or_a_comparison_that_would_decide_nothing_is_refused() {
        let script = r#"{"kind":"script","entry_point":"f","checker":"c","hidden":["x"]}"#;
        refused(
            &task_line(script),
            "field `tests`: kind `script` has no `checker`: its own `check` decides",
        );
        let blank = r#"{"kind":"asserts","checker":" \n","hidden":["x"]}"#;
        refused(
            &task_line(blank),
            "field `tests`: `checker` is blank, expected Python code that defines `check(input, expected, answer)`",
        );
        let calls =
            r#"{"kind":"calls","entry_point":"f","compare":"tokens","hidden":[{"expected":1}]}"#;
        refused(
            &task_line(calls),
            "field `tests`: kind `calls` has no `compare`: only `stdio` has",
        );
        let other = r#"{"kind":"stdio","compare":"sets","hidden":[{"input":"","output":""}]}"#;
        refused(
            &task_line(other),
            "field `tests`: unknown variant `sets`, expected `lines` or `tokens`",
        );
        let both = r#"{"kind":"stdio","compare":"lines","checker":"c","hidden":[{"input":"","output":""}]}"#;
        refused(
            &task_line(both),
            "field `tests`: `compare` and `checker` cannot both be set: the checker alone decides",
        );
    }

    #[test]
    fn fields_of_others_pass_through() {
        let tests = r#"{"kind":"stdio","hidden":[{"input":"","output":""}]},"url":"x","n":1.0"#;
        assert!(parse(&task_line(tests)).unwrap().to_line().ends_with(r#","url":"x","n":1.0}"#));
    }

    #[test]
    fn a_body_of_another_kind_comes_back_and_names_its_environment() {
        let line = r#"{"v":3,"id":"g/1","difficulty":null,"statement":"s","language":"python","setup":"","body":{"kind":"guess","number":7},"url":"x"}"#;
        let task = parse(line).unwrap();
        assert_eq!((task.kind(), task.to_line().as_str()), (Some("guess"), line));
        assert_eq!(task.body.unwrap().fields.get("number"), Some("7"));
        let tests = r#"{"kind":"stdio","hidden":[{"input":"","output":""}]}"#;
        assert_eq!(parse(&task_line(tests)).unwrap().kind(), Some(PROGRAM));
        assert_eq!(parse(r#"{"id":"a","statement":"s"}"#).unwrap().kind(), None);
        refused(
            r#"{"id":"a","statement":"s","body":{"kind":7}}"#,
            "field `body`: field `kind`: invalid type: integer `7`, expected a string",
        );
    }

    #[test]
    fn a_task_without_hidden_tests_is_refused() {
        refused(
            &task_line(r#"{"kind":"asserts","visible":["assert True"],"hidden":[]}"#),
            "field `tests`: `hidden` is empty: a task without hidden tests would pay every program",
        );
    }

    #[test]
    fn a_bad_test_is_named_by_its_place() {
        refused(
            &task_line(r#"{"kind":"stdio","hidden":[{"input":"","output":""},{"input":"1"}]}"#),
            "field `tests`: hidden[1]: missing field `output`",
        );
    }

    #[test]
    fn calls_need_a_function_and_asserts_have_none() {
        let tests = |kind: &str, entry: &str| {
            task_line(&format!(r#"{{"kind":"{kind}"{entry},"hidden":[]}}"#))
        };
        refused(&tests("calls", ""), "field `tests`: kind `calls` needs an `entry_point`");
        refused(
            &tests("calls", r#","entry_point":"a b""#),
            "field `tests`: `entry_point` \"a b\" is not a name such as `add` or `Solution.add`",
        );
        refused(
            &tests("asserts", r#","entry_point":"f""#),
            "field `tests`: kind `asserts` has no `entry_point`",
        );
    }

    #[test]
    fn a_blank_statement_or_a_bad_id_is_refused() {
        refused(
            r#"{"id":"a","statement":" \n","tests":{"kind":"asserts","hidden":["x"]}}"#,
            "field `statement`: blank, expected what the model is asked to do",
        );
        let bad_id = "field `id`: expected 1 to 256 bytes without control characters";
        refused(r#"{"id":"","statement":"s"}"#, bad_id);
        refused(r#"{"id":"a\nb","statement":"s"}"#, bad_id);
        refused(
            r#"{"id":7,"statement":"s"}"#,
            "field `id`: invalid type: integer `7`, expected a string",
        );
    }

    #[test]
    fn debugging_output_does_not_show_hidden_tests() {
        let tests = r#"{"kind":"asserts","checker":"secret","visible":["open"],"hidden":["secret","more"]}"#;
        let shown = format!("{:?}", parse(&task_line(tests)).unwrap());
        assert!(shown.contains("open") && shown.contains("Hidden(2 tests)"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn the_view_shows_what_a_prompt_may_hold() {
        let tests = r#"{"kind":"calls","entry_point":"f","visible":[{"args":[1],"expected":2}],"hidden":[{"args":[3],"expected":4}]}"#;
        let task = parse(&task_line(tests)).unwrap();
        let view = task.view();
        assert_eq!(view.entry_point, Some("f"));
        let VisibleTests::Calls([call]) = view.visible else { panic!("{view:?}") };
        assert_eq!(call.expected.get(), "2");
    }
}
