//! The offline scorer: a file of rollouts in, the same lines with their scores out.
//!
//! ```text
//! pass 1   rollouts ─► read ─► cache ─► judge ─► reward ─► journal      all cores, in any order
//! pass 2   rollouts + journal ─► advantages ─► output                   one core, in order
//! ```
//!
//! The journal stands beside the output until that is whole. A run that was killed finds it and
//! goes on; what it writes in the end is byte for byte what it would have written in one go. So
//! nothing measured goes into a scored line as measured: `cpu_ms` there is in whole seconds, rounded
//! down, and exact times are in the [`Report`].
//!
//! Memory does not grow with the texts: of every line a few numbers are kept, and results are out
//! of order by a bounded number of lines. Only after failed lines were tried again by a later run
//! are results held for longer, until their turn comes.
//!
//! A reply to a task of another environment than that of programs is told to an episode of it, with the replies of
//! the turns before it.
//!
//! A line that is no rollout of a known task is *rejected*: counted, named, and kept with its
//! number and reason in a file beside the output. A line that could not be judged is *failed*: it
//! stands in the output with the error, has no reward, and does not count in its group.

mod candidate;
pub(crate) mod catch_panic;
mod episode;
mod error;
mod header;
mod judging;
mod ledger;
mod lines;
mod parked;
mod queue;
mod records;
mod report;
mod table;
pub(crate) mod tasks;
mod tests_vary;
mod work;
mod write;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::jsonl::{LineError, LineProblem};
use whetstone_core::task::Task;
use whetstone_env::environment::Setup;
use whetstone_env::python::Rules;
use whetstone_env::registry::Environments;
pub use whetstone_record::journal::Earlier;
use whetstone_sandbox::job::{Judging, Limits};

pub use self::error::ScoreError;
use self::header::Header;
use self::ledger::Ledger;
use self::lines::{Lines, Survey, Took};
pub use self::report::{BadLine, CacheReport, GateCount, Level, Report, Slow, Spread};
use self::table::State;
use self::tasks::Tasks;
use self::write::Second;
use crate::cache::{Cache, Identity};

/// Bad lines that a strict run names.
const NAMED: usize = 20;

/// A file to score, and how.
pub struct Scoring<'a> {
    /// The rollouts, one JSON object a line.
    pub rollouts: &'a Path,
    /// The tasks they answer.
    pub tasks: &'a Path,
    /// Where the scored lines go. Beside it, the journal and the rejected lines.
    pub output: &'a Path,
    /// How replies to programs' tasks are read and paid.
    pub rules: &'a Rules,
    /// What the environments of other tasks are built from.
    pub setup: Setup<'a>,
    /// Whether programs are run, and by whom.
    pub how: How<'a>,
    /// How a group's rewards become advantages.
    pub advantage: GroupRule,
    /// Threads that read replies and wait for the judge. Two to four a core keep it busy.
    pub workers: usize,
    /// What to do with bad lines.
    pub bad_lines: BadLines,
    /// What to do with the journal of a run that was ended early.
    pub earlier: Earlier,
    /// Called as soon as the number of lines is known, with it.
    pub on_start: &'a (dyn Fn(u64) + Sync),
    /// Called after each line.
    pub on_line: &'a (dyn Fn() + Sync),
}

/// Whether programs are run.
#[derive(Clone, Copy)]
pub enum How<'a> {
    /// They are.
    Run(Runtime<'a>),
    /// Only static terms count; no verdict is claimed of a program.
    Static,
}

/// Who runs programs.
#[derive(Clone, Copy)]
pub struct Runtime<'a> {
    /// The judge.
    pub judge: &'a dyn Judging,
    /// What its verdicts depend on.
    pub identity: &'a Identity,
    /// What a program may use.
    pub limits: Limits,
    /// What is known already.
    pub cache: Option<&'a Cache>,
}

/// What to do with bad lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadLines {
    /// Set them aside and count them.
    #[default]
    Reject,
    /// Score nothing if there is one.
    Refuse,
}

impl How<'_> {
    /// What a program may use; where nothing is run, the usual.
    fn limits(&self) -> Limits {
        match self {
            How::Run(runtime) => runtime.limits,
            How::Static => Limits::default(),
        }
    }

    fn cache(&self) -> Option<&Cache> {
        match self {
            How::Run(runtime) => runtime.cache,
            How::Static => None,
        }
    }
}

impl Scoring<'_> {
    /// Whether a task asks for a program: these are judged here, with a cache.
    fn is_program(&self, task: &Task) -> bool {
        task.is_program(&self.setup.config.env.kind)
    }

    /// The environments of all other tasks.
    fn others(&self, tasks: &Tasks) -> Result<Environments, ScoreError> {
        let others = tasks.iter().filter(|task| !self.is_program(task));
        Environments::for_tasks(&self.setup, others).map_err(ScoreError::Environment)
    }
}

/// Scores a file.
pub fn score(scoring: &Scoring<'_>) -> Result<Report, ScoreError> {
    let start = Instant::now();
    check_names(scoring)?;
    let (tasks, tasks_digest) = read_tasks(scoring.tasks)?;
    let survey = survey(scoring.rollouts)?;
    if scoring.bad_lines == BadLines::Refuse {
        refuse_bad_lines(scoring, &tasks)?;
    }
    let others = scoring.others(&tasks)?;
    let header = header(scoring, &survey, &tasks_digest);
    let ledger = Ledger::open(scoring.output, &header, scoring.earlier)?;
    let resumed = ledger.table.count(State::Scored);
    (scoring.on_start)(survey.lines);
    let mut ledger = judging::judge_all(scoring, &tasks, &others, ledger)?;
    if let Some(cache) = scoring.how.cache() {
        cache.flush();
    }
    ledger.sync()?;
    let mut report = Report::new();
    let groups = ledger.table.weigh(scoring.advantage);
    (report.groups, report.dead_groups) = (groups.groups, groups.dead);
    report.unjudged_groups = groups.unjudged;
    let is_untested = |task: u32| {
        let task = tasks.get(task);
        task.tests.is_absent() && scoring.is_program(task)
    };
    report.untested = ledger.table.count_scored(is_untested);
    (report.bad_tasks, report.bad_task_lines) = (tasks.bad_count, tasks.bad.clone());
    write_all(scoring, &survey, &tasks, &ledger, &mut report)?;
    ledger.remove()?;
    report.resumed = resumed;
    finish(&mut report, scoring, start);
    Ok(report)
}

/// Where the rejected lines of a scoring into `output` go.
pub fn rejected_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".rejected.jsonl");
    PathBuf::from(name)
}

fn write_all(
    scoring: &Scoring<'_>,
    survey: &Survey,
    tasks: &Tasks,
    ledger: &Ledger,
    report: &mut Report,
) -> Result<(), ScoreError> {
    let (rollouts, digest) = (scoring.rollouts, survey.digest);
    let second = Second { rollouts, digest, journal: ledger.path(), tasks, table: &ledger.table };
    second.rejected(&rejected_path(scoring.output), report)?;
    second.scored(scoring.output, report)
}

#[expect(clippy::cast_precision_loss, reason = "lines of a file are far below 2^53")]
fn finish(report: &mut Report, scoring: &Scoring<'_>, start: Instant) {
    report.cache = scoring.how.cache().map(|cache| {
        let stats = cache.stats();
        CacheReport { hit_rate: stats.hit_rate(), stats }
    });
    report.wall_seconds = start.elapsed().as_secs_f64();
    let fresh = report.lines.saturating_sub(report.resumed);
    report.lines_per_second = fresh as f64 / report.wall_seconds.max(1e-9);
}

/// The output must not take the place of an input, which is read again while it is written.
fn check_names(scoring: &Scoring<'_>) -> Result<(), ScoreError> {
    let same = |a: &Path, b: &Path| matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
    let output = scoring.output;
    if same(output, scoring.rollouts) || same(output, scoring.tasks) {
        return Err(ScoreError::OutputIsInput { path: output.to_owned() });
    }
    Ok(())
}

fn read_tasks(path: &Path) -> Result<(Tasks, String), ScoreError> {
    let tasks = Tasks::read(path).map_err(ScoreError::Tasks)?;
    if tasks.iter().next().is_none() {
        let first = tasks.bad.first().cloned();
        return Err(ScoreError::NoTasks { path: path.to_owned(), first });
    }
    let unreadable = |err| {
        let (file, problem) = (path.to_owned(), LineProblem::Io(err));
        ScoreError::Tasks(LineError { file, line: 0, problem })
    };
    let digest = lines::survey(path).map_err(unreadable)?.digest;
    Ok((tasks, digest.to_hex().to_string()))
}

fn survey(path: &Path) -> Result<Survey, ScoreError> {
    let unreadable = |source| ScoreError::Rollouts { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(ScoreError::NotAFile { path: path.to_owned() });
    }
    lines::survey(path).map_err(unreadable)
}

fn header(scoring: &Scoring<'_>, survey: &Survey, tasks: &str) -> Header {
    let limits = scoring.how.limits();
    let judge = match &scoring.how {
        How::Run(runtime) => Some(runtime.identity.clone()),
        How::Static => None,
    };
    Header {
        scoring: records::VERSION,
        rollouts: survey.digest.to_hex().to_string(),
        tasks: tasks.to_owned(),
        rules: format!("{:?}", scoring.rules),
        cpu_us: u64::try_from(limits.cpu.as_micros()).unwrap_or(u64::MAX),
        memory_bytes: limits.memory,
        judge,
    }
}

/// Reads every line, and names those that cannot be scored.
fn refuse_bad_lines(scoring: &Scoring<'_>, tasks: &Tasks) -> Result<(), ScoreError> {
    let path = scoring.rollouts;
    let unreadable = |source| ScoreError::Rollouts { path: path.to_owned(), source };
    let mut first: Vec<_> =
        tasks.bad.iter().map(|bad| (scoring.tasks.to_owned(), bad.clone())).collect();
    let mut count = tasks.bad_count;
    let mut lines = Lines::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    for at in 0.. {
        let took = lines.next_into(&mut bytes).map_err(unreadable)?;
        if took == Took::End {
            break;
        }
        if let Err(bad) = candidate::read(took, &bytes, at, tasks) {
            count += 1;
            first.push((path.to_owned(), BadLine { line: at + 1, reason: bad.0 }));
            first.truncate(NAMED);
        }
    }
    first.truncate(NAMED);
    if count == 0 { Ok(()) } else { Err(ScoreError::BadLines { count, first }) }
}
