//! Scoring: rollouts in, the same lines with verdict, reward and advantage out.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::{AdvantageBy, Composite, Config};
use whetstone_core::jsonl::Records;
use whetstone_core::task::Task;
use whetstone_env::judge;
use whetstone_env::phaser::{OptionsError, PhaserOptions, installed};
use whetstone_env::results::ResultCache;
use whetstone_record::atomic;
use whetstone_record::batch::path_beside;
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::cache::{Bounds, Cache};
use whetstone_rollout::score::{
    BadLines, Earlier, ScoreError, ScoreSummary, Scoring, rejected_path, score,
};

use crate::dry_run::{DryRun, Outcome, on_cores};
use crate::environment::{self, RunPrograms, ScoringSetup, scoring_with};
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
    /// The cache of verdicts and results.
    pub cache: Option<PathBuf>,
    /// The index of Phaser's API, in place of the embedded one.
    pub api_index: Option<PathBuf>,
    /// The command that checks Phaser programs, in place of ours.
    pub validator: Option<String>,
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
    let phaser = phaser_options(request, observer)?;
    let file = ScoreFile { request, config, phaser: &phaser, output: &output, observer };
    if request.dry_run {
        return Ok(Outcome::plan(plan(file, &report_file)?));
    }
    for path in [Some(&output), Some(&report_file), request.cache.as_ref()].into_iter().flatten() {
        make_folder(path)?;
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
    let ScoreFile { request, output, .. } = file;
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
    let scored = score_into(ScoreFile { request: &probe, output, ..file })?;
    let (seconds, cores) = (scored.took.as_secs_f64(), judge::workers(file.config));
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
    phaser: &'a PhaserOptions,
    output: &'a Path,
    observer: &'a dyn Observer,
}

const WITHOUT_JUDGE: &str = "`whet doctor` checks everything the judge needs; `--skip-runtime` scores static \
                             properties of the replies only";

fn score_into(file: ScoreFile<'_>) -> Result<Scored, Failure> {
    let ScoreFile { request, config, phaser, output, observer } = file;
    let skip_runtime = request.skip_runtime;
    let kinds = TaskKinds::of(&request.tasks, &config.env.kind);
    if skip_runtime {
        note_skipped(request, config, kinds, observer);
    }
    let cache = request.cache.as_deref().filter(|_| !skip_runtime || kinds.others);
    let cache = cache.map(|path| Cache::open(path, Bounds::default())).transpose()?.map(Arc::new);
    let results = cache.clone().map(|cache| cache as Arc<dyn ResultCache>);
    let run = if skip_runtime { RunPrograms::No } else { RunPrograms::probing(request.dry_run) };
    let (results, phaser) = (results.as_ref(), Some(phaser));
    let setup = ScoringSetup { results, phaser, ..ScoringSetup::new(run) };
    let progress = observer.progress("line");
    let report = score(&Scoring {
        rollouts: &request.rollouts,
        tasks: &request.tasks,
        output,
        config,
        environments: EnvironmentSource::Build(&|tasks| scoring_with(config, tasks, &setup)),
        cache: cache.as_deref(),
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

/// What replaces parts of the Phaser environment.
fn phaser_options(
    request: &ScoreRequest,
    observer: &dyn Observer,
) -> Result<PhaserOptions, Failure> {
    let found = PhaserOptions::find(request.api_index.as_deref(), request.validator.as_deref());
    let phaser = found.map_err(|error| Failure::Phaser {
        problem: error.to_string(),
        hint: match error {
            OptionsError::Validator(_) => {
                "`--validator-cli` takes a program and its arguments, or a program for Node.js that ends in `.js`"
            }
            _ => "`whet env phaser index` makes an index of Phaser's declarations",
        },
    })?;
    // Where programs are run, it is an error.
    if request.skip_runtime
        && let Some(described) = phaser.index_version()
        && let Ok(Some(installed)) = installed()
        && installed.version().number() != described
    {
        observer.note(&format_args!(
            "the index of `--api-index` describes Phaser {described}, and Phaser {} is installed: programs cannot be run \
             with this index",
            installed.version().number()
        ));
    }
    Ok(phaser)
}

/// The kinds of tasks in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TaskKinds {
    /// Some ask for a program with tests.
    programs: bool,
    /// Some are of other environments.
    others: bool,
}

impl TaskKinds {
    /// Of the lines that are tasks; what is wrong with the others is said where they are scored.
    fn of(tasks: &Path, default_kind: &str) -> Self {
        let mut kinds = Self::default();
        for task in Records::<Task, _>::open(tasks).into_iter().flatten().flatten() {
            let is_program = task.record.is_program(default_kind);
            *(if is_program { &mut kinds.programs } else { &mut kinds.others }) = true;
            if kinds.programs && kinds.others {
                break;
            }
        }
        kinds
    }
}

/// Says what `--skip-runtime` leaves without effect.
fn note_skipped(
    request: &ScoreRequest,
    config: &Config,
    kinds: TaskKinds,
    observer: &dyn Observer,
) {
    if let Some(path) = request.cache.as_ref().filter(|_| !kinds.others) {
        observer.note(&format_args!(
            "`--cache {}` is not used: nothing is run, so there are no verdicts to keep",
            path.display()
        ));
    }
    if config.reward.composite == Composite::Tests && kinds.programs {
        observer.note(
            &"every reward will be 0: nothing is run, and `reward.composite = \"tests\"` rewards passed tests \
              only\n  hint: `--set reward.composite=weighted_sum` rewards form",
        );
    }
}

/// Makes the folder that a file goes into.
fn make_folder(file: &Path) -> Result<(), Failure> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    let failed =
        |source| Failure::io(format!("cannot make the folder `{}`", folder.display()), source);
    fs::create_dir_all(folder).map_err(failed)
}

/// `rollouts.jsonl` becomes `rollouts.scored.jsonl`.
fn default_output(rollouts: &Path) -> PathBuf {
    rollouts.with_extension("scored.jsonl")
}

/// The report of `rollouts.scored.jsonl` is `rollouts.report.json`, and that of `rollouts_scored.jsonl` is
/// `rollouts_report.json`.
fn default_report(output: &Path) -> PathBuf {
    let stem = output.with_extension("");
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    for separator in [".", "_"] {
        if let Some(base) = name.strip_suffix(&format!("{separator}scored")) {
            return stem.with_file_name(format!("{base}{separator}report.json"));
        }
    }
    stem.with_file_name(format!("{name}.report.json"))
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
        assert_eq!(name("rewards/mock_step0001_scored.jsonl"), "rewards/mock_step0001_report.json");
        assert_eq!(name("a.b_scored.jsonl"), "a.b_report.json");
    }

    #[test]
    fn limits_come_from_the_settings() {
        let found = whetstone_env::python::limits(&Config::default());
        assert_eq!((found.cpu.as_secs(), found.memory), (5, 512 << 20));
    }
}
