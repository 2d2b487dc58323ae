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
//! down, and exact times are in the [`ScoreSummary`].
//!
//! Memory does not grow with the texts: of every line a few numbers are kept, and results are out
//! of order by a bounded number of lines. Only after failed lines were tried again by a later run
//! are results held for longer, until their turn comes.
//!
//! Replies become outcomes in `scorer`, whatever their environment is. A reply to a task of another environment than
//! that of programs is told to an episode of it, with the replies of the turns before it (`turns`).
//!
//! A line that is no rollout of a known task is *rejected*: counted, named, and kept with its
//! number and reason in a file beside the output. A line that could not be judged is *failed*: it
//! stands in the output with the error, has no reward, and does not count in its group.

mod candidate;
mod error;
mod judging;
mod records;
mod report;
mod results;
mod sampled;
mod table;
mod turns;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::Config;
pub use whetstone_record::batch::Earlier;
use whetstone_record::batch::{Head, Input, InputDigest, check_outputs};

use self::candidate::Bad;
pub use self::error::ScoreError;
use self::judging::FirstPass;
pub use self::report::{
    BadLine, CODE_GATE, CacheReport, GateCount, Level, ScoreSummary, Slow, Spread,
};
use self::results::Results;
pub use self::sampled::Sampled;
use self::table::EntryState;
use self::write::Second;
use crate::cache::Cache;
use crate::scorer::{EnvironmentSource, Scorer, ScorerParts};
use crate::tasks::Tasks;

/// Bad lines that a strict run names.
const NAMED: usize = 20;

/// What limits that differ are called.
const LIMITS: &str = "the limits of programs";

/// A file to score, and how.
pub struct Scoring<'a> {
    /// The rollouts, one JSON object a line.
    pub rollouts: &'a Path,
    /// The tasks they answer.
    pub tasks: &'a Path,
    /// Where the scored lines go. Beside it, the journal and the rejected lines.
    pub output: &'a Path,
    /// The settings: the seed, the rewards of programs that are not run, the kind of tasks that name none.
    pub config: &'a Config,
    /// The environments of the tasks. Without one of programs nothing is run: only static terms count,
    /// and no verdict is claimed of a program.
    pub environments: EnvironmentSource<'a>,
    /// Verdicts that are known already.
    pub cache: Option<&'a Cache>,
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

/// What to do with bad lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadLines {
    /// Set them aside and count them.
    #[default]
    Reject,
    /// Score nothing if there is one.
    Refuse,
}

/// Scores a file.
pub fn score(scoring: &Scoring<'_>) -> Result<ScoreSummary, ScoreError> {
    let start = Instant::now();
    check_outputs([scoring.rollouts, scoring.tasks], [scoring.output])?;
    let tasks = read_tasks(scoring.tasks)?;
    let files = [scoring.rollouts.to_owned()];
    let input = input(&files);
    let digest = input.digest()?;
    if scoring.bad_lines == BadLines::Refuse {
        refuse_bad_lines(scoring, &input, &tasks)?;
    }
    let mut built = None;
    let environments = scoring.environments.for_tasks(&tasks, &mut built);
    let environments = environments.map_err(ScoreError::Environment)?;
    let &Scoring { config, cache, workers, .. } = scoring;
    let scorer = Scorer::new(&ScorerParts { config, tasks: &tasks, environments, cache, workers });
    let results = Results::open(scoring, &head(scoring, &digest, &scorer)?)?;
    let resumed = results.table.count(EntryState::Scored);
    (scoring.on_start)(digest.lines);
    let results = Mutex::new(results);
    let first = FirstPass { scoring, tasks: &tasks, scorer: &scorer, results };
    let mut results = first.run()?;
    if let Some(cache) = cache {
        cache.flush();
    }
    results.ledger.sync()?;
    let mut report = ScoreSummary::new();
    report.sampled = results.sampled;
    let groups = results.table.weigh(scoring.advantage);
    (report.groups, report.dead_groups) = (groups.groups, groups.dead);
    report.unjudged_groups = groups.unjudged;
    let is_untested = |task: u32| tasks.get(task).tests.is_absent() && scorer.is_program(task);
    report.untested = results.table.count_scored(is_untested);
    (report.bad_tasks, report.bad_task_lines) = (tasks.bad_count, tasks.bad.clone());
    let second = Second { input, digest: &digest, tasks: &tasks, results: &results };
    second.rejected(&rejected_path(scoring.output), &mut report)?;
    second.scored(scoring.output, &mut report)?;
    if let Some(phaser) = &mut report.phaser {
        phaser.list_names();
    }
    results.ledger.remove()?;
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

#[expect(clippy::cast_precision_loss, reason = "lines of a file are far below 2^53")]
fn finish(report: &mut ScoreSummary, scoring: &Scoring<'_>, start: Instant) {
    report.cache = scoring.cache.map(|cache| {
        let stats = cache.stats();
        CacheReport { hit_rate: stats.hit_rate(), stats }
    });
    report.wall_seconds = start.elapsed().as_secs_f64();
    let fresh = report.lines.saturating_sub(report.resumed);
    report.lines_per_second = fresh as f64 / report.wall_seconds.max(1e-9);
}

/// The rollouts.
fn input(files: &[PathBuf]) -> Input<'_> {
    Input { noun: "rollouts", files }
}

fn read_tasks(path: &Path) -> Result<Tasks, ScoreError> {
    let tasks = Tasks::read(path).map_err(ScoreError::Tasks)?;
    if tasks.all().is_empty() {
        let first = tasks.bad.first().cloned();
        return Err(ScoreError::NoTasks { path: path.to_owned(), first });
    }
    Ok(tasks)
}

/// The first record of the journal. What decides the bytes of the output beside these settings (how
/// advantages are taken) is computed anew each time.
fn head(
    scoring: &Scoring<'_>,
    rollouts: &InputDigest,
    scorer: &Scorer<'_>,
) -> Result<Head, ScoreError> {
    let tasks = Input { noun: "tasks", files: &[scoring.tasks.to_owned()] }.digest()?;
    let hex = |digest: &InputDigest| blake3::Hash::from(digest.files[0]).to_hex().to_string();
    let (limits, judge) = (scorer.limits(), scorer.identity());
    let judge = serde_json::to_value(judge).unwrap_or_default();
    let head = Head::new("scoring", records::VERSION)
        .with("rollouts", "the rollouts", hex(rollouts))
        .with("tasks", "the tasks", hex(&tasks))
        .with("rules", "the rules of rewards", format!("{:?}", scorer.rules()))
        .with("cpu_us", LIMITS, u64::try_from(limits.cpu.as_micros()).unwrap_or(u64::MAX))
        .with("memory_bytes", LIMITS, limits.memory)
        .with("judge", "the judge, its interpreter or its isolation", judge)
        .or_absent("`--skip-runtime`")
        .with_entries("environments", &scorer.environments());
    // Where no program is asked for, nothing depends on how programs are judged.
    let of_programs = ["rules", "cpu_us", "memory_bytes", "judge"];
    Ok(if scorer.has_programs() { head } else { head.ignoring(&of_programs) })
}

/// Reads every line, and names those that cannot be scored.
fn refuse_bad_lines(
    scoring: &Scoring<'_>,
    input: &Input<'_>,
    tasks: &Tasks,
) -> Result<(), ScoreError> {
    let mut first: Vec<_> =
        tasks.bad.iter().map(|bad| (scoring.tasks.to_owned(), bad.clone())).collect();
    let mut count = tasks.bad_count;
    let mut lines = input.lines();
    while let Some(line) = lines.next()? {
        if let Err(Bad(reason)) = candidate::read(&line, tasks) {
            count += 1;
            first.push((scoring.rollouts.to_owned(), BadLine { line: line.at + 1, reason }));
            first.truncate(NAMED);
        }
    }
    first.truncate(NAMED);
    if count == 0 { Ok(()) } else { Err(ScoreError::BadLines { count, first }) }
}
