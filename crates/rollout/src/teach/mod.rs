//! Traces of teachers: each is asked for so many samples of every task, and each sample is judged.
//!
//! ```text
//! tasks ─► questions ─► teacher ─► journal ─► score ─► journal ─► teacher_traces.jsonl ─► rows
//! ```
//!
//! Answers are scored by the environment of their task, of whatever kind. A teacher is led through an episode of
//! several turns to its end, turn by turn, with the whole conversation (`episodes`); one of one turn is a
//! question like any other. Samples that solve their task in few turns become rows of SFT data (`kept`).
//!
//! An answer costs money or hours of a large machine, so it is kept before anything is made of it:
//! the journal beside the output has every answer as it came. A run that was killed goes on where
//! it was; it asks for nothing that is stored, judges what was not judged, and writes in the end
//! what it would have written in one go, byte for byte. The output is written only once it is whole,
//! and never in the place of traces that are not in the journal too, unless that was asked for.
//!
//! A question that fails is counted with its reason; the others go on, and the next run asks again.
//! Only a teacher that says so ends a run early.
//!
//! What was stored stays: a later run with more samples or more tasks adds to it, and one with fewer
//! asks for nothing more.

mod asked;
mod collector;
mod episodes;
mod error;
mod kept;
mod plan;
mod records;
mod report;
mod stored;
mod table;
mod teacher;
mod write;

use std::path::Path;
use std::time::Instant;

use whetstone_core::config::Config;
use whetstone_record::batch::check_outputs;

use self::asked::Asked;
use self::collector::{End, Left, TraceCollector};

pub use whetstone_core::trace::PROMPT_FIELD;

pub use self::error::TeachError;
pub use self::report::{FailureCount, TeachSummary, TeacherCounts, Tokens};
use self::stored::Stored;
pub use self::teacher::{
    AskExpert, Embedded, Failure, NamedTeacher, Question, References, Refusal, Teacher,
    TeacherAnswer,
};
use crate::score::BadLines;
use crate::scorer::{EnvironmentSource, Scorer, ScorerParts};
use crate::tasks::Tasks;

/// Bad lines that a strict run names.
const NAMED: usize = 20;

/// Samples of a task that are told apart: as many as can be asked for.
const MAX_SAMPLES: u32 = 10_000;

/// Traces to collect, and how.
pub struct Teaching<'a> {
    /// The tasks, one JSON object a line.
    pub tasks: &'a Path,
    /// Where the traces go. Beside it, the journal.
    pub output: &'a Path,
    /// Where the rows of kept samples go, if they are wanted.
    pub rows: Option<&'a Path>,
    /// Who is asked, each under another name.
    pub teachers: &'a [NamedTeacher<'a>],
    /// Every setting that decides an answer, with its value: only a run with the same may go on
    /// with the journal of another.
    pub settings: &'a [(String, String)],
    /// The settings: the seed of the samples, the language of prompts, the kind of tasks that name none.
    pub config: &'a Config,
    /// Samples that one question asks for.
    pub samples_per_request: u32,
    /// Questions at a time.
    pub in_flight: usize,
    /// Only the first so many tasks.
    pub max_tasks: Option<u32>,
    /// The environments of the tasks. Without one of programs nothing is run, and only their syntax is
    /// looked at.
    pub environments: EnvironmentSource<'a>,
    /// Threads that read programs and wait for the judge.
    pub judges: usize,
    /// What to do with bad lines among the tasks.
    pub bad_lines: BadLines,
    /// What to do with what is there already.
    pub earlier: Earlier,
    /// Called with the number of samples that are to be asked for or judged.
    pub on_start: &'a (dyn Fn(u64) + Sync),
    /// Called with the number of samples that a question was answered with, or was given up for.
    pub on_answer: &'a (dyn Fn(usize) + Sync),
    /// Called after each sample that is asked for and judged.
    pub on_sample: &'a (dyn Fn() + Sync),
}

/// What to do with what is there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Go on with an unfinished run; leave finished traces alone.
    #[default]
    Resume,
    /// The same, and complete finished traces.
    Complete,
    /// Replace both.
    Forget,
}

/// Collects traces.
pub fn teach(teaching: &Teaching<'_>) -> Result<TeachSummary, TeachError> {
    let start = Instant::now();
    let tasks = read_tasks(teaching)?;
    check_names(teaching)?;
    let mut built = None;
    let environments = teaching.environments.for_tasks(&tasks, &mut built);
    let environments = environments.map_err(TeachError::Environment)?;
    let asked = Asked::new(teaching, &tasks, environments)?;
    let &Teaching { config, judges: workers, .. } = teaching;
    let parts = ScorerParts { config, tasks: &tasks, environments, cache: None, workers };
    let scorer = Scorer::new(&parts);
    let stored = Stored::open(teaching, &asked)?;
    let report = first_counts(&tasks, &asked, &stored);
    (teaching.on_start)(work(&asked, &stored));
    let Left { stored, mut report, end } =
        TraceCollector::new(&asked, &scorer, stored, report).work();
    stored.ledger.sync()?;
    match end {
        None => {}
        Some(End::Trouble(err)) => return Err(err),
        Some(End::Stopped { message, hint }) => {
            let journal = stored.ledger.path().to_owned();
            let stored = stored.table.complete().count() as u64;
            return Err(TeachError::Stopped { message, hint, stored, journal });
        }
    }
    write::traces(teaching.output, &asked, &stored, &mut report)?;
    if let Some(rows) = teaching.rows {
        write::rows(rows, &asked, &stored, &mut report)?;
    }
    if !report.is_incomplete() {
        stored.ledger.remove()?;
    }
    report.wall_seconds = start.elapsed().as_secs_f64();
    report.requests_per_second = rate(report.requests, report.wall_seconds);
    Ok(report)
}

/// Outputs must not take the place of the tasks, and need a folder to stand in.
fn check_names(teaching: &Teaching<'_>) -> Result<(), TeachError> {
    let outputs = [Some(teaching.output), teaching.rows].into_iter().flatten();
    check_outputs([teaching.tasks], outputs.clone())?;
    for output in outputs {
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(TeachError::NoFolder { path: output.to_owned() });
        }
    }
    Ok(())
}

fn read_tasks(teaching: &Teaching<'_>) -> Result<Tasks, TeachError> {
    let path = teaching.tasks.to_owned();
    let tasks = Tasks::read_judged(&path, &teaching.config.env.kind).map_err(TeachError::Tasks)?;
    if tasks.all().is_empty() {
        return Err(TeachError::NoTasks { path, first: tasks.bad.first().cloned() });
    }
    if teaching.bad_lines == BadLines::Refuse && tasks.bad_count > 0 {
        let first = tasks.bad.iter().take(NAMED).cloned().collect();
        return Err(TeachError::BadTasks { path, count: tasks.bad_count, first });
    }
    Ok(tasks)
}

fn first_counts(tasks: &Tasks, asked: &Asked<'_>, stored: &Stored) -> TeachSummary {
    let mut report = TeachSummary::new();
    report.tasks = u64::from(asked.extent.tasks);
    (report.bad_tasks, report.bad_task_lines) = (tasks.bad_count, tasks.bad.clone());
    report.resumed = stored.table.complete().count() as u64;
    for one in asked.teaching.teachers {
        report.teachers.insert(one.name.to_owned(), TeacherCounts::default());
    }
    report
}

/// Samples that are to be asked for or judged.
fn work(asked: &Asked<'_>, stored: &Stored) -> u64 {
    let unjudged = stored.table.complete().filter(|(_, slot)| slot.verdict.is_none()).count();
    asked.extent.open(&stored.table) + unjudged as u64
}

#[expect(clippy::cast_precision_loss, reason = "requests of a run are far below 2^53")]
fn rate(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(1e-9)
}
