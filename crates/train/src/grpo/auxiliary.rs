//! The sources beside the rollouts: the teacher's rows, the student's own best, and distillation.
//!
//! Each has its own gradient, so that its length and its angle to that of the rollouts can be shown.

use whetstone_algo::Mean;
use whetstone_core::config::DualSourceConfig;
use whetstone_kernels::Device;
use whetstone_model::decoder::{Forward, Gradients};

use super::distill::{self, DistillSequence};
use super::learn_metrics::SourceMeasured;
use crate::error::TrainError;
use crate::example::Example;
use crate::pass::Pass;
use crate::sft_gradient::sft_gradient;
use crate::student::Student;
use crate::update;

/// The gradients of the sources beside the rollouts; none of a source without a weight.
pub(super) struct Auxiliary {
    teacher: Option<Gradients>,
    self_sft: Option<Gradients>,
    distill: Option<Gradients>,
}

/// Rows to learn from in an update, beside its rollouts.
#[derive(Clone, Copy)]
pub(super) struct SftRows<'r> {
    pub(super) of: SftSource,
    pub(super) rows: &'r [Example],
    pub(super) weight: f64,
}

/// Whose rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum SftSource {
    Teacher,
    SelfSft,
}

/// The gradient of the rollouts, which others are compared with.
#[derive(Clone, Copy)]
pub(super) struct RolloutGradient<'g> {
    pub(super) gradients: &'g Gradients,
    pub(super) norm: f64,
}

impl Auxiliary {
    pub(super) fn new(student: &Student, weights: &DualSourceConfig) -> Self {
        let new = || Gradients::new(student.decoder.device(), student.decoder.parameters());
        let of = |weight: f64| (weight > 0.0).then(new);
        Self {
            teacher: of(weights.teacher_sft_weight),
            self_sft: of(weights.self_sft_weight),
            distill: of(weights.distill_weight),
        }
    }

    /// The gradient of the cross-entropy on rows.
    pub(super) fn sft(
        &mut self,
        pass: Pass<'_>,
        rows: SftRows<'_>,
        rollouts: RolloutGradient<'_>,
    ) -> Result<Option<SourceMeasured>, TrainError> {
        let SftRows { of, rows, weight } = rows;
        let gradients = match of {
            SftSource::Teacher => self.teacher.as_mut(),
            SftSource::SelfSft => self.self_sft.as_mut(),
        };
        let forward = Forward { temperature: 1.0, ..pass.forward };
        let Some(gradients) = gradients else { return Ok(None) };
        gradients.clear(pass.decoder.device());
        if rows.is_empty() || weight == 0.0 {
            return Ok(None);
        }
        let rows: Vec<&Example> = rows.iter().collect();
        let loss = sft_gradient(Pass { forward, ..pass }, &rows, weight, gradients)?;
        Ok(Some(rollouts.compare(pass, gradients, loss)))
    }

    /// The gradient of distillation, at the temperature that the tokens were sampled with.
    pub(super) fn distill(
        &mut self,
        pass: Pass<'_>,
        sequences: &[&DistillSequence],
        settings: distill::LossSettings,
        rollouts: RolloutGradient<'_>,
    ) -> Result<Option<SourceMeasured>, TrainError> {
        let Some(gradients) = self.distill.as_mut() else { return Ok(None) };
        gradients.clear(pass.decoder.device());
        if sequences.is_empty() {
            return Ok(None);
        }
        let reverse_kl = distill::gradient(pass, sequences, settings, gradients)?;
        Ok(Some(rollouts.compare(pass, gradients, reverse_kl)))
    }

    /// Adds all of them to the gradient of the rollouts.
    pub(super) fn add_to(&self, device: &Device, gradients: &mut Gradients) {
        for other in [&self.teacher, &self.self_sft, &self.distill].into_iter().flatten() {
            gradients.add_scaled(device, 1.0, other);
        }
    }
}

impl RolloutGradient<'_> {
    /// The norm of another gradient, and its angle to this one.
    fn compare(self, pass: Pass<'_>, other: &Gradients, loss: Mean) -> SourceMeasured {
        let norm = update::norm(pass.decoder, other);
        let dot = other.dot(pass.decoder.device(), self.gradients);
        let cosine = (self.norm > 0.0 && norm > 0.0).then(|| dot / self.norm / norm);
        SourceMeasured { norm, cosine, loss }
    }
}
