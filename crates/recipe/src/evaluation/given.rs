//! Evaluation of existing completions.
//!
//! They are scored as by `whet score`, so that verdicts in the file are ignored and a killed
//! evaluation resumes; then they are counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use whetstone_algo::advantage::GroupRule;
use whetstone_core::Task;
use whetstone_core::config::AdvantageBy;
use whetstone_core::task::TaskId;
use whetstone_env::judge;
use whetstone_eval::{About, Evaluated, RESULTS, ROLLOUTS, Results, Times, make_room};
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::score::{BadLines, ScoreError, ScoreSummary, Scoring, score};

use super::{Measure, max_turns};
use crate::environment::{RunPrograms, ScoringSetup, failure, scoring_with};
use crate::failure::Failure;
use crate::text::many;

/// Judges the samples in a file, and counts them.
pub(super) fn measure(measure: &Measure<'_>, samples: &Path) -> Result<Evaluated, Failure> {
    make_room(&measure.request.out, measure.earlier())?;
    let output = measure.request.out.join(ROLLOUTS);
    let Judged { report, took, max_turns } = judge(measure, samples, &output)?;
    let file = samples.display().to_string();
    let name = measure.request.model.clone().unwrap_or_else(|| file.clone());
    let about = About { max_turns, ..measure.about(name, vec![("--samples", file)]) };
    let mut results = Results::count(&about, measure.tasks, &output)?;
    results.rejected = report.rejected;
    results.write(&measure.request.out.join(RESULTS))?;
    let times = Times { judging: took, ..Times::default() };
    Ok(Evaluated { results, times })
}

/// Samples that were judged.
struct Judged {
    report: ScoreSummary,
    took: Duration,
    /// Replies at most of the tasks whose episodes may have several.
    max_turns: BTreeMap<TaskId, u32>,
}

/// Judges the samples.
fn judge(measure: &Measure<'_>, samples: &Path, output: &Path) -> Result<Judged, Failure> {
    let config = measure.config;
    let turns = OnceLock::new();
    let build = |tasks: &[Task]| {
        let run = RunPrograms::probing(measure.request.dry_run);
        let setup = ScoringSetup { sanitize: config.eval.sanitize, ..ScoringSetup::new(run) };
        let built = scoring_with(config, tasks, &setup)?;
        turns.get_or_init(|| max_turns(&built, tasks));
        Ok(built)
    };
    let progress = measure.observer.progress("sample");
    let report = score(&Scoring {
        rollouts: samples,
        tasks: &measure.request.tasks,
        output,
        config,
        environments: EnvironmentSource::Build(&build),
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
    let max_turns = turns.into_inner().unwrap_or_default();
    Ok(Judged { report, took: progress.spent(), max_turns })
}
