//! Tests for tasks that have few or none: tasks in, the same tasks with generated tests out.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_core::jsonl::{Records, read_tasks};
use whetstone_core::task::TaskId;
use whetstone_core::trace::Trace;
use whetstone_core::{Seed, Task};
use whetstone_data::generated_tests::{GeneratedSummary, TestGeneration, generate_tests};
use whetstone_env::judge;
use whetstone_record::batch::check_outputs;

use crate::failure::Failure;
use crate::observer::Observer;
use crate::tasks;
use crate::validation::start_judges;

/// New tests of a task, unless another number is given.
pub const DEFAULT_PER_TASK: usize = 8;
/// Programs of a teacher that pass what is known, at least.
pub const DEFAULT_MIN_PROGRAMS: usize = 3;
/// The share of a teacher's programs that must answer alike.
pub const DEFAULT_SHARE: f64 = 0.6;

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswersFrom {
    /// The reference of each task.
    Reference,
    /// The programs of a teacher's traces, in this file.
    Teacher(PathBuf),
}

/// Tests to generate.
#[derive(Debug, Clone)]
pub struct GenerateTestsRequest {
    /// The tasks.
    pub tasks: PathBuf,
    /// Who answers.
    pub from: AnswersFrom,
    /// Where the tasks go.
    pub out: PathBuf,
    /// New tests of a task, at most.
    pub per_task: usize,
    /// Programs of a teacher that pass what is known, at least.
    pub min_programs: usize,
    /// The share of a teacher's programs that must answer alike.
    pub share: f64,
}

/// Generates tests.
///
/// # Errors
///
/// If a file cannot be read or written, or programs cannot be judged.
pub fn run(
    request: &GenerateTestsRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<GeneratedSummary, Failure> {
    let traces = match &request.from {
        AnswersFrom::Reference => None,
        AnswersFrom::Teacher(path) => Some(path.as_path()),
    };
    let inputs = [Some(request.tasks.as_path()), traces];
    check_outputs(inputs.into_iter().flatten(), [request.out.as_path()])?;
    let mut tasks = read_tasks(&request.tasks)?;
    let taught = traces.map(read_programs).transpose()?;
    let programs = |task: &Task| match &taught {
        Some(taught) => taught.get(&task.id).cloned().unwrap_or_default(),
        None => task.reference.iter().cloned().collect(),
    };
    let judges = start_judges(config, 2)?;
    let [first, second] = judges.as_slice() else {
        unreachable!("two judges were started");
    };
    let progress = observer.progress("task");
    progress.reach(0, tasks.len() as u64);
    let (from, min_programs, share) = match request.from {
        AnswersFrom::Reference => ("reference", 1, 1.0),
        AnswersFrom::Teacher(_) => ("teacher", request.min_programs, request.share),
    };
    let made = generate_tests(
        &mut tasks,
        &TestGeneration {
            programs: &programs,
            from,
            min_programs,
            share,
            per_task: request.per_task,
            judges: [first, second],
            limits: whetstone_env::python::limits(config),
            seed: Seed::new(config.seed),
            workers: judge::callers(config),
            on_task: &|| progress.add_one(),
        },
    );
    progress.finish();
    let summary = made.map_err(|problem| Failure::Judge {
        problem: problem.0,
        hint: "nothing was written; `whet doctor` checks everything the judge needs",
    })?;
    tasks::write(&request.out, &tasks)?;
    Ok(summary)
}

/// The programs of traces, by task; those that are known to fail are left out.
fn read_programs(path: &Path) -> Result<HashMap<TaskId, Vec<String>>, Failure> {
    let mut programs: HashMap<TaskId, Vec<String>> = HashMap::new();
    for record in Records::<Trace, _>::open(path).map_err(Failure::Traces)? {
        let trace = record.map_err(Failure::Traces)?.record;
        let fails = trace.verdict.is_some_and(|verdict| !verdict.is_pass());
        if let Some(code) = trace.code.filter(|_| !fails) {
            programs.entry(trace.task_id).or_default().push(code);
        }
    }
    Ok(programs)
}
