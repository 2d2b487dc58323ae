//! The bodies of tasks, read without building an environment: no judge is started, and nothing is solved.

use whetstone_core::task::{PROGRAM, Task};

use crate::environment::EnvError;
use crate::registry::ENVIRONMENTS;
use crate::{guess, phaser, solver};

/// Checks that the body of a task is one that its environment can read. A task for programs has none.
///
/// # Errors
///
/// If no environment has its kind, or a field is missing or wrong.
pub fn check_body(task: &Task) -> Result<(), EnvError> {
    let Some(body) = &task.body else { return Ok(()) };
    match body.kind.as_str() {
        guess::KIND => {
            let number = task.field::<u64>("number");
            number.map(drop).map_err(|err| EnvError::Task(err.to_string()))
        }
        solver::KIND => solver::Problem::of(task).map(drop),
        phaser::KIND => phaser::check_body(task),
        PROGRAM => Err(EnvError::Task("a task for programs has `tests` and no `body`".to_owned())),
        other => {
            let known: Vec<&str> = ENVIRONMENTS.iter().map(|known| known.kind).collect();
            let known = known.join(", ");
            Err(EnvError::Task(format!(
                "there is no environment `{other}`, expected one of {known}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let line = format!(r#"{{"id":"a","statement":"s","body":{body}}}"#);
        let task = Task::from_object(serde_json::from_str(&line).unwrap()).unwrap();
        let said = check_body(&task).map_or_else(|err| err.to_string(), |()| "ok".to_owned());
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn a_body_is_read_by_the_environment_of_its_kind() {
        check(r#"{"kind":"guess","number":7}"#, "ok");
        check(r#"{"kind":"guess","number":"7"}"#, "field `number`: invalid type");
        check(r#"{"kind":"solver"}"#, "it has no `broken`");
        check(r#"{"kind":"phaser"}"#, "field `checks` is missing");
        check(r#"{"kind":"program"}"#, "a task for programs has `tests` and no `body`");
        check(
            r#"{"kind":"chess"}"#,
            "there is no environment `chess`, expected one of program, guess, solver, phaser",
        );
    }
}
