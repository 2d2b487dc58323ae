//! Scoring: rollouts in, the same lines with verdict, reward and advantage out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::{AdvantageBy, Composite, Config};
use whetstone_env::judge;
use whetstone_record::atomic;
use whetstone_record::batch::path_beside;
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::cache::{Bounds, Cache};
use whetstone_rollout::score::{
    BadLines, Earlier, ScoreError, ScoreSummary, Scoring, rejected_path, score,
};

use crate::dry_run::{DryRun, Outcome, on_cores};
use crate::environment::{self, RunPrograms};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::sample_lines::lines_of_one_task;
use crate::scratch::Scratch;
use crate::text::counted;

/// Rollouts to score.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ScoreRequest {
    /// The file of rollouts.
    pub rollouts: PathBuf,
    /// The file of their tasks.
    pub tasks: PathBuf,
    /// The scored lines; beside the rollouts if absent.
    pub out: Option<PathBuf>,
    /// The report; beside the scored lines if absent.
    pub report: Option<PathBuf>,
    /// The cache of verdicts.
    pub cache: Option<PathBuf>,
    /// The advantage of a reward within its group.
    pub advantage: AdvantageBy,
    /// Scores nothing if a line is invalid.
    pub strict: bool,
    /// Runs no programs.
    pub skip_runtime: bool,
    /// Discards an interrupted run.
    pub fresh: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
}

/// A file that was scored.
#[derive(Debug)]
pub struct ScoredFile {
    /// The figures.
    pub report: ScoreSummary,
    /// The file of scored lines.
    pub output: PathBuf,
    /// The file of the report.
    pub report_file: PathBuf,
}

/// Scores a file of rollouts.
///
/// # Errors
///
/// If files cannot be read or written, or programs cannot be judged.
pub fn run(
    request: &ScoreRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Outcome<ScoredFile>, Failure> {
    let output = request.out.clone().unwrap_or_else(|| default_output(&request.rollouts));
    let report_file = request.report.clone().unwrap_or_else(|| default_report(&output));
    let file = ScoreFile { request, config, output: &output, observer };
    if request.dry_run {
        return Ok(Outcome::plan(plan(file, &report_file)?));
    }
    let report = score_into(file)?.report;
    if report.untested > 0 && !request.skip_runtime && config.reward.composite == Composite::Tests {
        observer.note(
            &"lines without tests have a reward of 0: `reward.composite = \"tests\"` pays passed tests \
              alone\n  hint: `--set reward.composite=weighted_sum` pays form",
        );
    }
    write_report(&report_file, &report)?;
    Ok(Outcome::Done(ScoredFile { report, output, report_file }))
}

/// The plan: the lines of one task, scored into a folder that is thrown away.
fn plan(file: ScoreFile<'_>, report_file: &Path) -> Result<DryRun, Failure> {
    let ScoreFile { request, config, output, observer } = file;
    let scratch = Scratch::new()?;
    let found = lines_of_one_task(&request.rollouts, &scratch.path().join("rollouts.jsonl"))?;
    let mut whole = DryRun::of("whet score");
    whole.reads(format!("{}: {}", request.rollouts.display(), counted(found.all, "line")));
    whole.reads(format!("{}: the tasks", request.tasks.display()));
    whole.does(if request.skip_runtime { "reads every reply" } else { "judges every program" });
    whole.count("lines", found.all as u64);
    let rejected = rejected_path(output);
    whole.writes(format!("{}, and bad lines in {}", output.display(), rejected.display()));
    whole.writes(report_file.display().to_string());
    if path_beside(output).exists() && !request.fresh {
        whole.note("an interrupted run exists: its verdicts are reused");
    }
    let lines = counted(found.taken, "line");
    let probe = ScoreRequest { rollouts: found.path, cache: None, fresh: true, ..request.clone() };
    let output = &scratch.path().join("scored.jsonl");
    let scored = score_into(ScoreFile { request: &probe, config, output, observer })?;
    let (seconds, cores) = (scored.took.as_secs_f64(), judge::workers(config));
    let estimate = on_cores(seconds, found.taken as u64, found.all as u64, cores);
    whole.probed(format!("one task, {lines}"), seconds, estimate);
    Ok(whole)
}

/// The report of a file, and its timings.
struct Scored {
    report: ScoreSummary,
    took: Duration,
}

/// A file to score.
#[derive(Clone, Copy)]
struct ScoreFile<'a> {
    request: &'a ScoreRequest,
    config: &'a Config,
    output: &'a Path,
    observer: &'a dyn Observer,
}

const WITHOUT_JUDGE: &str = "`whet doctor` checks everything the judge needs; `--skip-runtime` scores static \
                             properties of the replies only";

fn score_into(file: ScoreFile<'_>) -> Result<Scored, Failure> {
    let ScoreFile { request, config, output, observer } = file;
    let skip_runtime = request.skip_runtime;
    if skip_runtime {
        note_skipped(request, config, observer);
    }
    let cache = request.cache.as_deref().filter(|_| !skip_runtime);
    let cache = cache.map(|path| Cache::open(path, Bounds::default())).transpose()?;
    let run = if skip_runtime { RunPrograms::No } else { RunPrograms::probing(request.dry_run) };
    let progress = observer.progress("line");
    let report = score(&Scoring {
        rollouts: &request.rollouts,
        tasks: &request.tasks,
        output,
        config,
        environments: EnvironmentSource::Build(&|tasks| environment::scoring(config, tasks, run)),
        cache: cache.as_ref(),
        advantage: GroupRule { how: request.advantage, floor: config.alive_floor() },
        workers: judge::callers(config),
        bad_lines: if request.strict { BadLines::Refuse } else { BadLines::Reject },
        earlier: if request.fresh { Earlier::Forget } else { Earlier::Resume },
        on_start: &|lines| {
            progress.phase("judging", 0, 0);
            progress.reach(0, lines);
        },
        on_line: &|| progress.add_one(),
    });
    progress.finish();
    let report = report.map_err(|err| match err {
        ScoreError::Environment(err) => environment::failure_or(err, WITHOUT_JUDGE),
        err => err.into(),
    });
    Ok(Scored { report: report?, took: progress.spent() })
}

/// Says what `--skip-runtime` leaves without effect.
fn note_skipped(request: &ScoreRequest, config: &Config, observer: &dyn Observer) {
    if let Some(path) = &request.cache {
        observer.note(&format_args!(
            "`--cache {}` is not used: nothing is run, so there are no verdicts to keep",
            path.display()
        ));
    }
    if config.reward.composite == Composite::Tests {
        observer.note(
            &"every reward will be 0: nothing is run, and `reward.composite = \"tests\"` rewards passed tests \
              only\n  hint: `--set reward.composite=weighted_sum` rewards form",
        );
    }
}

/// `rollouts.jsonl` becomes `rollouts.scored.jsonl`.
fn default_output(rollouts: &Path) -> PathBuf {
    rollouts.with_extension("scored.jsonl")
}

/// The report of `rollouts.scored.jsonl` is `rollouts.report.json`.
fn default_report(output: &Path) -> PathBuf {
    let stem = output.with_extension("");
    let scored = stem.extension().is_some_and(|ending| ending == "scored");
    let stem = if scored { stem.with_extension("") } else { stem };
    let mut name = stem.into_os_string();
    name.push(".report.json");
    name.into()
}

fn write_report(path: &Path, report: &ScoreSummary) -> Result<(), Failure> {
    let not_json = |err: serde_json::Error| {
        Failure::io("cannot write the report as JSON".to_owned(), err.into())
    };
    let mut text = serde_json::to_vec_pretty(report).map_err(not_json)?;
    text.push(b'\n');
    Ok(atomic::replace(path, &text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_output_stands_beside_the_rollouts() {
        let name = |path: &str| default_output(Path::new(path)).display().to_string();
        assert_eq!(name("runs/rollouts.jsonl"), "runs/rollouts.scored.jsonl");
        assert_eq!(name("rollouts"), "rollouts.scored.jsonl");
    }

    #[test]
    fn the_report_stands_beside_the_scored_lines() {
        let name = |path: &str| default_report(Path::new(path)).display().to_string();
        assert_eq!(name("runs/rollouts.scored.jsonl"), "runs/rollouts.report.json");
        assert_eq!(name("out/a.b.jsonl"), "out/a.b.report.json");
        assert_eq!(name("scored"), "scored.report.json");
    }

    #[test]
    fn limits_come_from_the_settings() {
        let found = whetstone_env::python::limits(&Config::default());
        assert_eq!((found.cpu.as_secs(), found.memory), (5, 512 << 20));
    }
}
