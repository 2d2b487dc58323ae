//! `[grpo]`, `[dual_source]` and `[training]`: how rollouts and traces become updates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How groups of rollouts become an update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrpoConfig {
    /// Weight of the KL divergence from the reference, which is the student without its adapter.
    #[schemars(range(min = 0.0))]
    pub kl_coef: f64,
    /// The probability ratio is clipped to `1 ± clip_range`.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub clip_range: f64,
    /// Rollouts in a group. A group of one has no baseline and teaches nothing.
    #[schemars(range(min = 2, max = 10_000))]
    pub num_samples_per_prompt: u32,
}

/// How much each of the three learning signals counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualSourceConfig {
    /// Weight of the policy-gradient loss on judged rollouts.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["grpo"]))]
    pub grpo_weight: f64,
    /// Weight of the cross-entropy on the teacher's traces.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["teacher_sft"]))]
    pub teacher_sft_weight: f64,
    /// Weight of the cross-entropy on the student's own best passing rollouts.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["self_sft"]))]
    pub self_sft_weight: f64,
}

/// The optimizer and its batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingConfig {
    /// Passes over the training tasks.
    #[schemars(range(min = 1))]
    pub num_train_epochs: u32,
    /// Sequences in a micro-batch. Changes memory and speed, never the update.
    #[schemars(range(min = 1))]
    pub per_device_train_batch_size: u32,
    /// Micro-batches in an optimizer step.
    #[schemars(range(min = 1))]
    pub gradient_accumulation_steps: u32,
    /// Peak learning rate.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub learning_rate: f64,
}

impl Default for GrpoConfig {
    fn default() -> Self {
        Self { kl_coef: 0.05, clip_range: 0.2, num_samples_per_prompt: 4 }
    }
}

impl Default for DualSourceConfig {
    fn default() -> Self {
        Self { grpo_weight: 1.0, teacher_sft_weight: 0.3, self_sft_weight: 0.2 }
    }
}

impl Default for TrainingConfig {
    fn default() -> Self {
        Self {
            num_train_epochs: 3,
            per_device_train_batch_size: 2,
            gradient_accumulation_steps: 8,
            learning_rate: 5e-5,
        }
    }
}
