//! Rows and KV cache of a training's rollouts, planned beside what the training itself holds.

use whetstone_core::config::Config;
use whetstone_infer::{Limits, SampledModel, SamplingJob};
use whetstone_model::memory::Plan as MemoryPlan;

use crate::plan::Plan;
use crate::student::Student;

/// The sequences that a training samples.
#[derive(Debug, Clone, Copy)]
pub struct SampledSequences {
    /// Rollouts of a step.
    pub rollouts: usize,
    /// Samples of a measurement on held-out tasks.
    pub held_out: usize,
}

impl SampledSequences {
    /// Those of a plan, and of a measurement on so many held-out tasks.
    pub fn new(plan: &Plan, config: &Config, held_out: usize) -> Self {
        let tasks = held_out.min(config.held_out.max_tasks as usize);
        let rollouts = plan.items_per_step.saturating_mul(plan.samples);
        Self {
            rollouts: usize::try_from(rollouts).unwrap_or(usize::MAX),
            held_out: tasks * config.held_out.num_samples as usize,
        }
    }

    fn most(self) -> usize {
        self.rollouts.max(self.held_out).max(1)
    }
}

impl Student {
    /// The limits of sampling for GRPO.
    pub fn grpo_limits(&self, config: &Config, sequences: SampledSequences) -> Limits {
        self.limits_beside(config, sequences, &self.grpo_memory(config, 1).0)
    }

    /// The limits of sampling for PPO.
    pub fn ppo_limits(&self, config: &Config, sequences: SampledSequences) -> Limits {
        self.limits_beside(config, sequences, &self.ppo_memory(config, 1).0)
    }

    fn limits_beside(
        &self,
        config: &Config,
        sequences: SampledSequences,
        training: &MemoryPlan,
    ) -> Limits {
        let sampled = SampledModel {
            config: &self.model.config,
            device: self.decoder.device(),
            eight_bit: config.student.load_in_8bit,
        };
        let tokens = config.training.max_length as usize;
        sampled.limits_beside(training, SamplingJob { sequences: sequences.most(), tokens })
    }
}
