//! Validation: tasks in, those that are proven out, and why the others are not.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use whetstone_core::config::Config;
use whetstone_core::survivors::Survivors;
use whetstone_data::prove::{Earlier, ProofSummary, ProveError, Proving, prove};
use whetstone_env::judge;
use whetstone_sandbox::job::Judging;
use whetstone_sandbox::{JUDGE_VERSION, Judge};

use crate::dry_run::{DryRun, Outcome, on_cores};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::text::{counted, plain};

/// Judges with hash seeds of their own, at most: each has an interpreter for every core.
const MAX_JUDGES: u32 = 4;

/// Runs of each reference, unless another number is given.
pub const DEFAULT_REPEATS: u32 = 2;
/// The share of the CPU time that a reference may need, unless another is given.
pub const DEFAULT_MAX_CPU_SHARE: f64 = 0.5;

/// Tasks to prove.
#[derive(Debug, Clone)]
pub struct ValidateRequest {
    /// The files of tasks.
    pub tasks: Vec<PathBuf>,
    /// The file of proven tasks.
    pub out: Option<PathBuf>,
    /// The file of the others.
    pub dropped: Option<PathBuf>,
    /// Runs of each reference.
    pub repeats: u32,
    /// The share of the CPU time that a reference may need.
    pub max_cpu_share: f64,
    /// Only so many of the first tasks.
    pub limit: Option<u64>,
    /// Discards an interrupted run.
    pub fresh: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
}

/// Proves the tasks of some files.
///
/// # Errors
///
/// If files cannot be read or written, or programs cannot be judged.
pub fn run(
    request: &ValidateRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Outcome<ProofSummary>, Failure> {
    if request.dry_run {
        return Ok(Outcome::plan(plan(request, config, observer)?));
    }
    let judges = start_judges(config, request.repeats.min(MAX_JUDGES))?;
    let extent = Extent {
        out: request.out.as_deref(),
        dropped: request.dropped.as_deref(),
        limit: request.limit,
        judges: &judges,
    };
    let report = validate(request, config, &extent, observer)?.report;
    for sentence in lost(&report) {
        observer.warning(&sentence);
    }
    Ok(Outcome::Done(report))
}

/// Number of tasks, the judge, and the outputs; a probe writes none.
struct Extent<'a> {
    out: Option<&'a Path>,
    dropped: Option<&'a Path>,
    limit: Option<u64>,
    judges: &'a [Judge],
}

/// The report of a validation, and its timings.
struct Validated {
    report: ProofSummary,
    took: Duration,
}

fn validate(
    request: &ValidateRequest,
    config: &Config,
    extent: &Extent<'_>,
    observer: &dyn Observer,
) -> Result<Validated, Failure> {
    let judges = extent.judges;
    let asked: Vec<&dyn Judging> = judges.iter().map(|judge| judge as &dyn Judging).collect();
    let identity = judges.first().map(identity).unwrap_or_default();
    let limits = whetstone_env::python::limits(config);
    let progress = observer.progress("task");
    let report = prove(&Proving {
        files: &request.tasks,
        out: extent.out,
        dropped: extent.dropped,
        judges: &asked,
        identity: &identity,
        limits,
        slow: limits.cpu.mul_f64(request.max_cpu_share),
        runs: request.repeats,
        limit: extent.limit,
        workers: judge::callers(config),
        earlier: if request.fresh { Earlier::Forget } else { Earlier::Resume },
        on_start: &|tasks| {
            progress.phase("judging references and trivial answers", 0, 0);
            progress.reach(0, tasks);
        },
        on_task: &|| progress.add_one(),
    });
    progress.finish();
    Ok(Validated { report: report?, took: progress.spent() })
}

/// Sources without any proven task.
fn lost(report: &ProofSummary) -> Vec<String> {
    let mut found = Survivors::default();
    for (name, counts) in &report.by_source {
        let source = format!("the source `{}`", plain(name, 60));
        if counts.proven > 0 {
            found.keep(&source);
        }
        for (reason, count) in &counts.reasons {
            found.leave_out_many(&source, reason.name(), *count);
        }
        found.leave_out_many(&source, "that could not be judged", counts.failed);
    }
    found.lost("task")
}

/// Judges that differ in their hash seeds alone.
pub(crate) fn start_judges(config: &Config, count: u32) -> Result<Vec<Judge>, Failure> {
    let start = |seed| judge::start_with_hashes(config, seed);
    let judges: Result<Vec<Judge>, _> = (0..count.max(1)).map(start).collect();
    judges.map_err(|err| Failure::judge(&err))
}

/// Everything that a judge's verdicts depend on.
fn identity(judge: &Judge) -> String {
    let about = judge.about();
    let [major, minor, micro] = about.python_version;
    let isolation = about.isolation.name();
    format!("judge {JUDGE_VERSION}, CPython {major}.{minor}.{micro}, {isolation}")
}

/// The plan: one task is validated, and nothing is written.
fn plan(
    request: &ValidateRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<DryRun, Failure> {
    let mut whole = DryRun::of("whet data validate");
    let mut tasks = 0;
    for path in &request.tasks {
        let lines = count_lines(path)?;
        whole.reads(format!("{}: {}", path.display(), counted(lines, "task")));
        tasks += lines as u64;
    }
    let tasks = request.limit.map_or(tasks, |limit| tasks.min(limit));
    whole.count("tasks", tasks);
    whole.does(format!(
        "judges the reference of {tasks} tasks {} times, and trivial answers to each",
        request.repeats
    ));
    for path in [&request.out, &request.dropped].into_iter().flatten() {
        whole.writes(path.display().to_string());
    }
    if request.out.is_none() && request.dropped.is_none() {
        whole.writes("nothing: neither `--out` nor `--dropped` is given");
    }
    let judges = start_judges(config, request.repeats.min(MAX_JUDGES))?;
    for judge in &judges {
        judge::warm_up(judge, config);
    }
    let extent = Extent { out: None, dropped: None, limit: Some(1), judges: &judges };
    let probed = validate(request, config, &extent, observer)?;
    let (seconds, cores) = (probed.took.as_secs_f64(), judge::workers(config));
    let programs = probed.report.programs;
    whole.probed(
        format!("one task, {programs} programs"),
        seconds,
        on_cores(seconds, 1, tasks, cores),
    );
    Ok(whole)
}

/// Lines that are not blank.
fn count_lines(path: &Path) -> Result<usize, Failure> {
    let unread = |source| ProveError::Input { noun: "tasks", path: path.to_owned(), source };
    let file = File::open(path).map_err(unread)?;
    let mut count = 0;
    for line in BufReader::new(file).split(b'\n') {
        let unread =
            |source| Failure::io(format!("cannot read the tasks `{}`", path.display()), source);
        let line = line.map_err(unread)?;
        count += usize::from(!line.trim_ascii().is_empty());
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use whetstone_data::prove::{Counts, Reason};

    use super::*;

    #[test]
    fn a_source_without_a_proven_task_is_named_with_its_reasons() {
        let counts = |proven, reasons: &[(Reason, u64)]| Counts {
            proven,
            reasons: reasons.iter().copied().collect(),
            ..Counts::default()
        };
        let by_source = [
            ("mbpp".to_owned(), counts(3, &[(Reason::Flaky, 9)])),
            ("apps".to_owned(), counts(0, &[(Reason::Flaky, 1), (Reason::ReferenceFails, 7)])),
        ];
        let report = ProofSummary { by_source: by_source.into(), ..ProofSummary::default() };
        let said = "nothing is left of the source `apps`: 8 tasks, 7 reference_fails, 1 flaky";
        assert_eq!(lost(&report), [said]);
    }
}
