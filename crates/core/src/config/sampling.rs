//! How a training samples its rollouts, whichever section says so.

use super::{Config, Curriculum};

/// The settings of sampling in one training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Rollouts of a task.
    pub samples: usize,
    /// Maximum tokens of a completion.
    pub max_tokens: usize,
    /// Sampling temperature; log-probabilities are computed at it.
    pub temperature: f64,
    /// Order of tasks.
    pub curriculum: Curriculum,
    /// Additional rounds of tasks to replace dead groups.
    pub dynamic_rounds: usize,
}

impl Config {
    /// That of GRPO.
    pub fn grpo_sampling(&self) -> Sampling {
        let grpo = &self.grpo;
        Sampling {
            samples: grpo.num_samples_per_prompt as usize,
            max_tokens: grpo.max_completion_length as usize,
            temperature: grpo.temperature,
            curriculum: grpo.curriculum,
            dynamic_rounds: grpo.dynamic_sampling_rounds as usize,
        }
    }

    /// Tokens that a prompt may have, so that the longest completion has room behind it.
    pub fn max_prompt_tokens(&self, sampling: Sampling) -> usize {
        (self.training.max_length as usize).saturating_sub(sampling.max_tokens)
    }
}
