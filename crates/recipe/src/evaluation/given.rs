//! Evaluation of existing completions.
//!
//! They are scored as by `whet score`, so that verdicts in the file are ignored and a killed
//! evaluation resumes; then they are counted.

use std::path::Path;
use std::time::Duration;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::AdvantageBy;
use whetstone_env::environment::Setup;
use whetstone_env::judge;
use whetstone_env::python::Rules;
use whetstone_eval::{Evaluated, RESULTS, ROLLOUTS, Results, Times, make_room};
use whetstone_rollout::score::{BadLines, How, Report, Runtime, Scoring, score};

use super::Measure;
use crate::environment;
use crate::failure::Failure;
use crate::scoring::judged;
use crate::text::many;

/// Judges the samples in a file, and counts them.
pub(super) fn measure(measure: &Measure<'_>, samples: &Path) -> Result<Evaluated, Failure> {
    make_room(&measure.request.out, measure.earlier())?;
    let output = measure.request.out.join(ROLLOUTS);
    let (report, took) = judge(measure, samples, &output)?;
    let file = samples.display().to_string();
    let name = measure.request.model.clone().unwrap_or_else(|| file.clone());
    let about = measure.about(name, vec![("--samples", file)]);
    let mut results = Results::count(&about, measure.tasks, &output)?;
    results.rejected = report.rejected;
    results.write(&measure.request.out.join(RESULTS))?;
    let times = Times { judging: took, ..Times::default() };
    Ok(Evaluated { results, times })
}

/// Judges the samples; how long their lines took.
fn judge(
    measure: &Measure<'_>,
    samples: &Path,
    output: &Path,
) -> Result<(Report, Duration), Failure> {
    let config = measure.config;
    let environment = environment::for_tasks(config, measure.tasks)?;
    // Without a task that asks for a program nothing is run, and no judge was started.
    let programs = environment.programs().map(|_| judged(&environment)).transpose()?;
    if let Some((programs, _)) = programs.as_ref().filter(|_| measure.request.dry_run) {
        judge::warm_up(programs.judge.as_ref(), config);
    }
    let how = programs.as_ref().map_or(How::Static, |(programs, identity)| {
        let (judge, limits) = (programs.judge.as_ref(), programs.limits);
        How::Run(Runtime { judge, identity, limits, cache: None })
    });
    let by_settings = Rules::new(config.reward.clone());
    let rules = programs.as_ref().map_or(&by_settings, |(programs, _)| &programs.rules);
    let progress = measure.observer.progress("sample");
    let report = score(&Scoring {
        rollouts: samples,
        tasks: &measure.request.tasks,
        output,
        rules,
        setup: Setup { config, start_judge: &|| judge::start(config) },
        how,
        advantage: GroupRule { how: AdvantageBy::Mean, floor: config.alive_floor() },
        workers: judge::callers(config),
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
        measure.observer.note(&format_args!("{}:{}: {}", samples.display(), bad.line, bad.reason));
    }
    if report.rejected > 0 {
        let lines = many(report.rejected, "line");
        measure.observer.note(&format_args!("{lines} set aside: not samples of these tasks"));
    }
    Ok((report, progress.spent()))
}
