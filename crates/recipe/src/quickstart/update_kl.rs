//! How far the updates of PPO moved the policy.

use std::path::Path;

use serde::Serialize;
use whetstone_core::metric;
use whetstone_record::event::Event;
use whetstone_record::overview::each_event;
use whetstone_record::run_dir::RunDir;

use crate::failure::Failure;
use crate::number;

/// The KL divergence between the policy before and after the updates of a step, in nats per token.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct UpdateKl {
    /// Over all steps.
    pub mean: f64,
    /// The largest of a step.
    pub max: f64,
    /// Steps.
    pub steps: u64,
}

/// The KL of the updates of a PPO stage.
pub(super) fn update_kl(stages: &Path, stage: &str) -> Result<UpdateKl, Failure> {
    let view = RunDir::open_read_only(stages, stage)?;
    let mut values: Vec<f64> = Vec::new();
    each_event(&view, |event| {
        if let Event::Metrics { values: measured, .. } = event.event {
            values.extend(measured.get(metric::PPO_KL_DIVERGENCE.name));
        }
    })
    .map_err(whetstone_train::TrainError::from)?;
    let steps = values.len() as u64;
    let mean = values.iter().sum::<f64>() / number(steps.max(1));
    Ok(UpdateKl { mean, max: values.iter().copied().fold(0.0, f64::max), steps })
}
