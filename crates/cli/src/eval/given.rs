//! Evaluation of existing completions.
//!
//! They are scored as by `whet score`, so that verdicts in the file are ignored and a killed
//! evaluation resumes; then they are counted.

use std::path::Path;
use std::time::Duration;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::AdvantageBy;
use whetstone_env::environment::Setup;
use whetstone_env::python::Rules;
use whetstone_eval::{Evaluated, RESULTS, ROLLOUTS, Results, Times, make_room};
use whetstone_rollout::score::{BadLines, How, Report, Runtime, Scoring, score};

use super::Measure;
use crate::failure::{Failure, counted};
use crate::progress::Progress;
use crate::score::judge::start_judge;

/// Judges the samples in a file, and counts them.
pub(super) fn measure(measure: &Measure<'_>, samples: &Path) -> Result<Evaluated, Failure> {
    make_room(&measure.args.out, measure.earlier())?;
    let output = measure.args.out.join(ROLLOUTS);
    let (report, took) = judge(measure, samples, &output)?;
    let file = samples.display().to_string();
    let name = measure.args.model.clone().unwrap_or_else(|| file.clone());
    let about = measure.about(name, vec![("--samples", file)]);
    let mut results = Results::count(&about, measure.tasks, &output)?;
    results.rejected = report.rejected;
    results.write(&measure.args.out.join(RESULTS))?;
    let times = Times { judging: took, ..Times::default() };
    Ok(Evaluated { results, times })
}

/// Judges the samples; how long their lines took.
fn judge(
    measure: &Measure<'_>,
    samples: &Path,
    output: &Path,
) -> Result<(Report, Duration), Failure> {
    let started = start_judge(measure.config)?;
    if measure.args.dry_run {
        crate::judge::warm_up(&started.judge, measure.config);
    }
    let [_, minor, _] = started.judge.about().python_version;
    let rules = Rules::new(measure.config.reward.clone());
    let progress = Progress::new(measure.printer, "sample");
    let report = score(&Scoring {
        rollouts: samples,
        tasks: &measure.args.tasks,
        output,
        rules: &rules.for_python(u8::try_from(minor).unwrap_or(u8::MAX)),
        setup: Setup {
            config: measure.config,
            start_judge: &|| crate::judge::start(measure.config),
        },
        how: How::Run(Runtime {
            judge: &started.judge,
            identity: &started.identity,
            limits: whetstone_env::python::limits(measure.config),
            cache: None,
        }),
        advantage: GroupRule { how: AdvantageBy::Mean, floor: measure.config.alive_floor() },
        workers: crate::judge::callers(measure.config),
        bad_lines: BadLines::Reject,
        earlier: measure.earlier(),
        on_start: &|lines| {
            progress.phase("judging", 0, 0);
            progress.reach(0, lines);
        },
        on_line: &|| progress.add_one(),
    });
    progress.finish();
    let report = report?;
    for bad in report.rejected_lines.iter().take(3) {
        measure.printer.note(format_args!("{}:{}: {}", samples.display(), bad.line, bad.reason));
    }
    if report.rejected > 0 {
        let lines = counted(usize::try_from(report.rejected).unwrap_or(usize::MAX), "line");
        measure.printer.note(format_args!("{lines} set aside: not samples of these tasks"));
    }
    Ok((report, progress.spent()))
}
