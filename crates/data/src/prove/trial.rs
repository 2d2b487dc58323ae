//! The programs that are judged to prove a task: its reference, several times, and answers that
//! solve nothing and must fail.
//!
//! Pure: nothing is run here.

use whetstone_core::program::{Language, Program};
use whetstone_core::task::Task;
use whetstone_core::tests::Tests;
use whetstone_core::with_causes;
use whetstone_sandbox::plan::{Plan, PlanError, plan};

use super::finding::{Dropped, Reason};
use super::streams::{self, of_streams};
use super::trivial::Trivial;
use super::{javascript, python};

/// One program to judge, and its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Its role.
    pub role: Role,
    /// The program.
    pub program: Program,
}

/// The role of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The reference, which must pass.
    Reference {
        /// Index of the run: each has a hash seed of its own.
        run: u32,
    },
    /// A program that gives the expected answers: the task's checker must accept them.
    Expected,
    /// An answer that must fail, with its description: `the constant 0`.
    Trivial(String),
}

/// The trials of a task in their order, the reference `runs` times before all trivial answers.
///
/// Whatever can be said without running a program is the error.
pub fn trials(task: &Task, runs: u32) -> Result<Vec<Trial>, Dropped> {
    let Some(reference) = &task.reference else {
        return Err(Dropped::new(Reason::NoReference, "the task has no field `reference`"));
    };
    let plan = plan(&task.tests, &task.setup, task.language).map_err(|error| broken(&error))?;
    let trivials = trivials(task, reference, &plan);
    let references = (0..runs.max(1)).map(|run| (Role::Reference { run }, reference.clone()));
    let expected = expected_program(task, reference, &plan).map(|source| (Role::Expected, source));
    let trivials = trivials.into_iter().map(|(what, source)| (Role::Trivial(what), source));
    let language = task.language;
    let program = |source| Program { language, source, truncated: false };
    let all = references.chain(expected).chain(trivials);
    Ok(all.map(|(role, source)| Trial { role, program: program(source) }).collect())
}

fn trivials(task: &Task, reference: &str, plan: &Plan) -> Vec<Trivial> {
    let empty = ("the empty program".to_owned(), String::new());
    let functions = match (&task.tests, task.language) {
        (Tests::Stdio(_), language) => return of_streams(language, plan),
        (Tests::Calls { entry_point, suite }, Language::Javascript) => {
            javascript::of_calls(entry_point, suite.hidden.for_the_judge())
        }
        (tests, _) => python::of_functions(tests, &task.setup, reference, plan),
    };
    std::iter::once(empty).chain(functions).collect()
}

/// The program with which a checker is tried on the expected answers, where the task has one.
fn expected_program(task: &Task, reference: &str, plan: &Plan) -> Option<String> {
    plan.checker.as_ref()?;
    match (&task.tests, task.language) {
        (_, Language::Javascript) => None,
        (Tests::Stdio(_), Language::Python) => streams::expected_program(&plan.steps),
        (tests, Language::Python) => python::expected_program(tests, reference, plan),
    }
}

fn broken(error: &PlanError) -> Dropped {
    Dropped::new(Reason::BrokenTests, with_causes(error))
}
