//! `whet score`: rollouts in, the same lines with verdict, reward and advantage out.

mod args;
mod dry_run;
mod summary;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::{Composite, Config};
use whetstone_record::atomic;
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::cache::{Bounds, Cache};
use whetstone_rollout::score::{BadLines, Earlier, Report, ScoreError, Scoring, score};

pub use self::args::{AdvantageArg, ScoreArgs};
use crate::config_command::load;
use crate::environment::{self, RunPrograms};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Progress;

/// Scores a file.
pub(crate) fn run(args: &ScoreArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    if args.dry_run {
        return dry_run::run(args, &config, printer);
    }
    let output = args.out.clone().unwrap_or_else(|| default_output(&args.rollouts));
    let report = score_into(ScoreFile { args, config: &config, output: &output, printer })?.report;
    if report.untested > 0 && !args.skip_runtime && config.reward.composite == Composite::Tests {
        printer.note(
            "lines without tests have a reward of 0: `reward.composite = \"tests\"` pays passed tests \
             alone\n  hint: `--set reward.composite=weighted_sum` pays form",
        );
    }
    let beside = args.report.clone().unwrap_or_else(|| default_report(&output));
    write_report(&beside, &report)?;
    if args.json {
        printer.json(&report)?;
    } else {
        summary::print(&report, &output, &beside, printer)?;
    }
    Ok(ending(&report))
}

/// The report of a file, and its timings.
struct Scored {
    report: Report,
    took: Duration,
}

/// A file to score.
#[derive(Clone, Copy)]
struct ScoreFile<'a> {
    args: &'a ScoreArgs,
    config: &'a Config,
    output: &'a Path,
    printer: Printer,
}

const WITHOUT_JUDGE: &str = "`whet doctor` checks everything the judge needs; `--skip-runtime` scores static \
                             properties of the replies only";

fn score_into(file: ScoreFile<'_>) -> Result<Scored, Failure> {
    let ScoreFile { args, config, output, printer } = file;
    if args.skip_runtime {
        note_skipped(args, config, printer);
    }
    let cache = args.cache.as_deref().filter(|_| !args.skip_runtime);
    let cache = cache.map(|path| Cache::open(path, Bounds::default()));
    let cache = cache.transpose().map_err(Failure::Cache)?;
    let run = if args.skip_runtime { RunPrograms::No } else { RunPrograms::probing(args.dry_run) };
    let progress = Progress::new(printer, "line");
    let report = score(&Scoring {
        rollouts: &args.rollouts,
        tasks: &args.prompts,
        output,
        config,
        environments: EnvironmentSource::Build(&|tasks| environment::scoring(config, tasks, run)),
        cache: cache.as_ref(),
        advantage: GroupRule { how: args.advantage.into(), floor: config.alive_floor() },
        workers: crate::judge::callers(config),
        bad_lines: if args.strict { BadLines::Refuse } else { BadLines::Reject },
        earlier: if args.fresh { Earlier::Forget } else { Earlier::Resume },
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
fn note_skipped(args: &ScoreArgs, config: &Config, printer: Printer) {
    if let Some(path) = &args.cache {
        printer.note(format_args!(
            "`--cache {}` is not used: nothing is run, so there are no verdicts to keep",
            path.display()
        ));
    }
    if config.reward.composite == Composite::Tests {
        printer.note(format_args!(
            "every reward will be 0: nothing is run, and `reward.composite = \"tests\"` \
             rewards passed tests only\n  hint: `--set reward.composite=weighted_sum` \
             rewards form"
        ));
    }
}

/// The exit code: 1 if a line could not be judged.
fn ending(report: &Report) -> Exit {
    let nothing = report.lines > 0 && report.scored == 0;
    if report.failed > 0 || nothing { Exit::No } else { Exit::Done }
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

fn write_report(path: &Path, report: &Report) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(report).context("cannot write the report as JSON")?;
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
    fn a_line_that_could_not_be_judged_is_an_answer_of_no() {
        let report = |scored, failed, rejected| {
            let lines = scored + failed + rejected;
            ending(&Report { lines, scored, failed, rejected, ..Report::default() })
        };
        assert_eq!(report(3, 0, 0), Exit::Done);
        assert_eq!(report(3, 0, 2), Exit::Done, "set aside, as asked");
        assert_eq!(report(3, 1, 0), Exit::No);
        assert_eq!(report(0, 0, 2), Exit::No);
        assert_eq!(report(0, 0, 0), Exit::Done);
    }

    #[test]
    fn limits_come_from_the_settings() {
        let found = whetstone_env::python::limits(&Config::default());
        assert_eq!((found.cpu.as_secs(), found.memory), (5, 512 << 20));
    }
}
