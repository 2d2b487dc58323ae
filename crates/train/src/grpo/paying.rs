//! The models that pay beside the judge: a reward model, and a process reward model.

use whetstone_core::config::Config;

use super::Grpo;
use super::metrics::Measured;
use crate::error::TrainError;
use crate::rollouts::paid::RewardAdapter;
use crate::rollouts::process::ProcessAdapter;
use crate::rollouts::tasks::StepRollouts;
use crate::student::Student;

/// The models that pay, as adapters on the student's base.
pub(super) struct PayingModels {
    reward: Option<RewardAdapter>,
    process: Option<ProcessAdapter>,
}

impl PayingModels {
    pub(super) fn open(student: &mut Student, grpo: &Grpo<'_>) -> Result<Self, TrainError> {
        let Grpo { config, reward_model, process_model, checkpoint, .. } = *grpo;
        let reward = RewardAdapter::open(student, config, reward_model, checkpoint)?;
        let process = ProcessAdapter::open(student, config, process_model, checkpoint)?;
        Ok(Self { reward, process })
    }

    /// Adds what they pay to the rewards of a step.
    pub(super) fn pay(
        &self,
        student: &mut Student,
        config: &Config,
        step_rollouts: &mut StepRollouts,
        measured: &mut Measured,
    ) -> Result<(), TrainError> {
        if let Some(model) = &self.reward {
            measured.paid = Some(model.pay(student, config, step_rollouts)?);
        }
        if let Some(model) = &self.process {
            measured.process = Some(model.pay(student, config, step_rollouts)?);
        }
        Ok(())
    }
}
