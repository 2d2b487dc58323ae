//! Evaluation of existing completions.
//!
//! They are scored as by `whet score`, so that verdicts in the file are ignored and a killed
//! evaluation resumes; then they are counted.

use std::path::Path;
use std::time::Duration;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::AdvantageBy;
use whetstone_env::judge;
use whetstone_eval::{Evaluated, RESULTS, ROLLOUTS, Results, Times, make_room};
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::score::{BadLines, ScoreError, ScoreSummary, Scoring, score};

use super::Measure;
use crate::environment::{RunPrograms, failure, scoring};
use crate::failure::Failure;
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
) -> Result<(ScoreSummary, Duration), Failure> {
    let config = measure.config;
    let run = RunPrograms::probing(measure.request.dry_run);
    let progress = measure.observer.progress("sample");
    let report = score(&Scoring {
        rollouts: samples,
        tasks: &measure.request.tasks,
        output,
        config,
        environments: EnvironmentSource::Build(&|tasks| scoring(config, tasks, run)),
        cache: None,
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
    let report = report.map_err(|err| match err {
        ScoreError::Environment(err) => failure(err),
        err => err.into(),
    })?;
    for bad in report.rejected_lines.iter().take(3) {
        measure.observer.note(&format_args!("{}:{}: {}", samples.display(), bad.line, bad.reason));
    }
    if report.rejected > 0 {
        let lines = many(report.rejected, "line");
        measure.observer.note(&format_args!("{lines} set aside: not samples of these tasks"));
    }
    Ok((report, progress.spent()))
}
