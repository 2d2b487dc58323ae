//! Preference pairs: judged rollouts, traces and files of pairs in, one file of pairs out.

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_core::jsonl::read_tasks;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::{Seed, Task};
use whetstone_data::pairs::{GivenFile, HeldOut, PairSummary, Pairing, pair};

use crate::dry_run::{DryRun, Outcome};
use crate::failure::Failure;
use crate::observer::Observer;

/// The tasks that rollouts are taken to answer if none are named.
pub(crate) const TASKS: &str = "data/train.jsonl";

/// The files of rollouts in a run, and in the directory of an evaluation.
const ROLLOUTS: [&str; 2] = ["rollouts/rollouts.jsonl", "rollouts.jsonl"];

/// Lines between two reports of progress.
const SHOWN_EVERY: u64 = 256;

/// The part of the tasks that is held out, unless another is given.
pub const DEFAULT_VAL_FRACTION: f64 = 0.1;
/// By how much rewards differ at least, unless another number is given.
pub const DEFAULT_MIN_GAP: f64 = 0.1;
/// How far apart two programs are at least, unless another number is given.
pub const DEFAULT_MIN_DISTANCE: f64 = 0.02;
/// Pairs of one task at most, unless another number is given.
pub const DEFAULT_PER_TASK: usize = 8;

/// Pairs to make.
#[derive(Debug, Clone)]
pub struct PairsRequest {
    /// Files of scored rollouts, runs, or directories of evaluations.
    pub rollouts: Vec<PathBuf>,
    /// Files of traces.
    pub traces: Vec<PathBuf>,
    /// Files of pairs.
    pub pairs: Vec<GivenFile>,
    /// Files of the tasks that rollouts answer; `data/train.jsonl` if there are none and it exists.
    pub tasks: Vec<PathBuf>,
    /// Where pairs go.
    pub out: PathBuf,
    /// Where the pairs of held-out tasks go.
    pub out_val: Option<PathBuf>,
    /// The part of the tasks that is held out.
    pub val_fraction: f64,
    /// By how much rewards differ at least.
    pub min_gap: f64,
    /// How far apart two programs are at least.
    pub min_distance: f64,
    /// Pairs of one task at most.
    pub per_task: usize,
    /// Refuses bad lines.
    pub strict: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
}

/// Makes pairs.
///
/// # Errors
///
/// If files cannot be read or written, or there is no pair.
pub fn run(
    request: &PairsRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Outcome<PairSummary>, Failure> {
    let rollouts: Vec<PathBuf> = request.rollouts.iter().map(|path| file_of(path)).collect();
    let task_files = task_files(request, &rollouts);
    if request.dry_run {
        return Ok(Outcome::plan(plan(request, &rollouts, &task_files)?));
    }
    let mut tasks: Vec<Task> = Vec::new();
    for path in &task_files {
        tasks.extend(read_tasks(path)?);
    }
    let progress = observer.progress("task");
    let summary = pair(&Pairing {
        rollouts: &rollouts,
        traces: &request.traces,
        given: &request.pairs,
        tasks: &tasks,
        prompt: &PromptTemplate::of(&config.prompt)?,
        seed: Seed::new(config.seed),
        min_gap: request.min_gap,
        min_distance: request.min_distance,
        per_task: request.per_task,
        out: &request.out,
        held_out: request
            .out_val
            .as_deref()
            .map(|out| HeldOut { out, fraction: request.val_fraction }),
        strict: request.strict,
        on_progress: &|phase, done, all| {
            if all > 0 {
                progress.phase(phase, 0, 0);
                progress.reach(done, all);
            } else if done % SHOWN_EVERY == 1 {
                progress.phase(phase, usize::try_from(done).unwrap_or(usize::MAX), 0);
            }
        },
    });
    progress.finish();
    let summary = summary?;
    for sentence in summary.warnings() {
        observer.warning(&sentence);
    }
    Ok(Outcome::Done(summary))
}

/// The rollouts of a path: the file itself, or that of a run or an evaluation.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    let inside = ROLLOUTS.iter().map(|name| path.join(name)).find(|file| file.is_file());
    inside.unwrap_or_else(|| path.to_owned())
}

/// The files of tasks that are read.
fn task_files(request: &PairsRequest, rollouts: &[PathBuf]) -> Vec<PathBuf> {
    let usual = Path::new(TASKS);
    if request.tasks.is_empty() && !rollouts.is_empty() && usual.is_file() {
        return vec![usual.to_owned()];
    }
    request.tasks.clone()
}

fn plan(
    request: &PairsRequest,
    rollouts: &[PathBuf],
    tasks: &[PathBuf],
) -> Result<DryRun, Failure> {
    let mut whole = DryRun::of("whet data pairs");
    let given: Vec<PathBuf> = request.pairs.iter().map(|file| file.path.clone()).collect();
    let mut bytes = 0;
    for (what, paths) in [
        ("scored rollouts", rollouts),
        ("traces", &request.traces),
        ("pairs", &given),
        ("the tasks of the rollouts", tasks),
    ] {
        for path in paths {
            let unread =
                |err| Failure::io(format!("cannot read the {what} `{}`", path.display()), err);
            let length = fs::metadata(path).map_err(unread)?.len();
            whole.reads(format!("{}: {what}, {} KiB", path.display(), length.div_ceil(1024)));
            bytes += length;
        }
    }
    whole.count("bytes", bytes);
    whole.does(format!(
        "chooses at most {} pairs of each task, by verdict and by rewards that differ by {} or more",
        request.per_task, request.min_gap
    ));
    whole.writes(request.out.display().to_string());
    if let Some(out) = &request.out_val {
        let part = 100.0 * request.val_fraction;
        whole.writes(format!("{}: the pairs of {part:.0} % of the tasks", out.display()));
    }
    Ok(whole)
}
