//! Traces of a teacher: every task is asked for so many samples, and each is judged.
//!
//! ```text
//! tasks ─► questions ─► teacher ─► journal ─► code ─► judge ─► journal ─► teacher_traces.jsonl
//! ```
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

mod collector;
mod error;
mod judging;
mod ledger;
mod plan;
mod records;
mod report;
mod table;
mod teacher;
mod write;

use std::fs;
use std::path::Path;
use std::time::Instant;

use whetstone_core::config::PromptLanguage;
use whetstone_core::prompt::Prompt;
use whetstone_core::seed::Seed;
use whetstone_core::task::TaskId;
use whetstone_env::python::Rules;
use whetstone_sandbox::job::{Judging, Limits};

use self::collector::{End, Left, TraceCollector};
pub use self::error::TeachError;
use self::ledger::{Ledger, MAX_SAMPLES};
use self::plan::Extent;
pub use self::report::{FailureCount, Report, Tokens};
use self::table::SampleId;
pub use self::teacher::{Answer, Embedded, Failure, Question, References, Refusal, Teacher};
use crate::score::BadLines;
use crate::tasks::Tasks;

/// Bad lines that a strict run names.
const NAMED: usize = 20;

/// Traces to collect, and how.
pub struct Teaching<'a> {
    /// The tasks, one JSON object a line.
    pub tasks: &'a Path,
    /// Where the traces go. Beside it, the journal.
    pub output: &'a Path,
    /// Who is asked.
    pub teacher: &'a dyn Teacher,
    /// Every setting that decides an answer, with its value: only a run with the same may go on
    /// with the journal of another.
    pub settings: &'a [(String, String)],
    /// The language of the prompt.
    pub language: PromptLanguage,
    /// Where the seeds of the samples come from.
    pub seed: Seed,
    /// Samples of each task.
    pub samples: u32,
    /// Samples that one question asks for.
    pub samples_per_request: u32,
    /// Questions at a time.
    pub in_flight: usize,
    /// Only the first so many tasks.
    pub max_tasks: Option<u32>,
    /// How programs are read.
    pub rules: &'a Rules,
    /// Who runs programs; if nobody does, only their syntax is looked at.
    pub judge: Option<Runtime<'a>>,
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

/// Who runs programs.
#[derive(Clone, Copy)]
pub struct Runtime<'a> {
    /// The judge.
    pub judge: &'a dyn Judging,
    /// What a program may use.
    pub limits: Limits,
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

/// What is asked for, with the prompts it is asked in.
pub(crate) struct Asked<'a> {
    tasks: &'a Tasks,
    language: PromptLanguage,
    extent: Extent,
    /// One for each task.
    digests: Vec<String>,
}

/// Collects traces.
pub fn teach(teaching: &Teaching<'_>) -> Result<Report, TeachError> {
    let start = Instant::now();
    let tasks = read_tasks(teaching)?;
    check_names(teaching)?;
    let asked = Asked::new(teaching, &tasks);
    let ledger = Ledger::open(teaching.output, teaching.settings, &asked, teaching.earlier)?;
    let report = first_counts(&tasks, &asked, &ledger);
    (teaching.on_start)(work(&asked, &ledger));
    let Left { ledger, mut report, end, asking_seconds } =
        TraceCollector::new(teaching, &asked, ledger, report).work()?;
    ledger.sync()?;
    match end {
        None => {}
        Some(End::Trouble(err)) => return Err(err),
        Some(End::Stopped { message, hint }) => {
            let stored = ledger.table.stored().count() as u64;
            let journal = ledger.path().to_owned();
            return Err(TeachError::Stopped { message, hint, stored, journal });
        }
    }
    write::traces(teaching.output, &asked, &ledger, &mut report)?;
    if !report.is_incomplete() {
        ledger.remove()?;
    }
    report.wall_seconds = start.elapsed().as_secs_f64();
    report.requests_per_second = rate(report.requests, asking_seconds);
    Ok(report)
}

impl<'a> Asked<'a> {
    fn new(teaching: &Teaching<'_>, tasks: &'a Tasks) -> Self {
        let count = u32::try_from(tasks.all().len()).unwrap_or(u32::MAX);
        let extent = Extent {
            tasks: teaching.max_tasks.map_or(count, |most| most.min(count)),
            samples: teaching.samples.min(MAX_SAMPLES),
            per_request: teaching.samples_per_request.max(1),
        };
        let language = teaching.language;
        let prompts = tasks.all().iter().map(|task| Prompt::new(task.view(), language));
        Self { tasks, language, extent, digests: ledger::digests(prompts) }
    }

    fn prompt(&self, task: u32) -> Prompt {
        Prompt::new(self.tasks.get(task).view(), self.language)
    }

    /// Where a stored sample belongs, if `same` says that its prompt is still the same.
    fn place(
        &self,
        id: &TaskId,
        sample: u32,
        same: impl Fn(u32) -> bool,
    ) -> Result<SampleId, String> {
        let Some(task) = self.tasks.find(id) else {
            return Err(format!("`{id}` is no task of `{}`", self.tasks.file().display()));
        };
        if !same(task) {
            return Err(format!("the prompt of task `{id}` is another one now"));
        }
        if sample >= MAX_SAMPLES {
            return Err(format!("sample {sample} is not below {MAX_SAMPLES}"));
        }
        Ok(SampleId { task, sample })
    }
}

/// The output must not take the place of the tasks, and needs a folder to stand in.
fn check_names(teaching: &Teaching<'_>) -> Result<(), TeachError> {
    let same = |a: &Path, b: &Path| matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
    if same(teaching.output, teaching.tasks) {
        return Err(TeachError::OutputIsInput { path: teaching.output.to_owned() });
    }
    let folder = teaching.output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(TeachError::NoFolder { path: teaching.output.to_owned() });
    }
    Ok(())
}

fn read_tasks(teaching: &Teaching<'_>) -> Result<Tasks, TeachError> {
    let path = teaching.tasks.to_owned();
    let tasks = Tasks::read_tested(&path).map_err(TeachError::Tasks)?;
    if tasks.all().is_empty() {
        return Err(TeachError::NoTasks { path, first: tasks.bad.first().cloned() });
    }
    if teaching.bad_lines == BadLines::Refuse && tasks.bad_count > 0 {
        let first = tasks.bad.iter().take(NAMED).cloned().collect();
        return Err(TeachError::BadTasks { path, count: tasks.bad_count, first });
    }
    Ok(tasks)
}

fn first_counts(tasks: &Tasks, asked: &Asked<'_>, ledger: &Ledger) -> Report {
    let mut report = Report::new();
    report.tasks = u64::from(asked.extent.tasks);
    (report.bad_tasks, report.bad_task_lines) = (tasks.bad_count, tasks.bad.clone());
    report.resumed = ledger.table.stored().count() as u64;
    report
}

/// Samples that are to be asked for or judged.
fn work(asked: &Asked<'_>, ledger: &Ledger) -> u64 {
    let unjudged = ledger.table.stored().filter(|(_, slot)| slot.verdict.is_none()).count();
    asked.extent.open(&ledger.table) + unjudged as u64
}

#[expect(clippy::cast_precision_loss, reason = "requests of a run are far below 2^53")]
fn rate(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(1e-9)
}
