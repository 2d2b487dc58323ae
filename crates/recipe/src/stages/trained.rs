//! What stages that train share: where their files are, and their figures at the end.

use serde::Deserialize;
use whetstone_core::metric::Metric;
use whetstone_record::event::Event;
use whetstone_record::overview::each_event;
use whetstone_record::run_dir::RunDir;
use whetstone_record::stages::StageFigure;
use whetstone_train::TrainError;
use whetstone_train::watch::Ended;

use super::job::{Job, StageEnd, figure};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::number;
use crate::training::End;

/// What a training made, in its run.
pub(super) const FINAL: &str = "outputs/final_model";
/// The rollouts of a training, in its run.
pub(super) const ROLLOUTS: &str = "rollouts/rollouts.jsonl";

/// A kind that has settings alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoOptions {}

/// The end of a stage whose training ended, with the last values of some metrics.
pub(super) fn ended(
    job: &Job<'_>,
    outcome: Outcome<End>,
    shown: &[(Metric, &str)],
) -> Result<Outcome<StageEnd>, Failure> {
    let end = match outcome {
        Outcome::Planned(plan) => return Ok(Outcome::Planned(plan)),
        Outcome::Done(end) => end,
    };
    let steps = match end.ended {
        Ended::Done => end.steps,
        Ended::Because { step, reason } => {
            job.observer.note(&format_args!("ended after step {step} of {}: {reason}", end.steps));
            step
        }
        Ended::Stopped(_) => return Ok(Outcome::Done(None)),
    };
    let name = end.dir.file_name().unwrap_or_default().to_string_lossy();
    let view = RunDir::open_read_only(end.runs.as_ref(), &name).map_err(TrainError::from)?;
    let mut values: Vec<Option<f64>> = vec![None; shown.len()];
    each_event(&view, |event| {
        if let Event::Metrics { values: measured, .. } = event.event {
            for (value, (metric, _)) in values.iter_mut().zip(shown) {
                *value = measured.get(metric.name).copied().or(*value);
            }
        }
    })
    .map_err(TrainError::from)?;
    let measured = values.iter().zip(shown).filter_map(|(value, (_, label))| {
        let value = (*value).filter(|value| value.is_finite())?;
        Some(figure(label, value))
    });
    let steps = [figure("steps", number(steps))];
    Ok(Outcome::Done(Some(steps.into_iter().chain(measured).collect::<Vec<StageFigure>>())))
}
