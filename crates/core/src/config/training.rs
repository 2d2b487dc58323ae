//! `[grpo]`, `[dual_source]` and `[training]`: how rollouts and traces become updates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How groups of rollouts become an update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrpoConfig {
    /// Weight of the KL divergence from the reference, which is the student without its adapter.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["beta"]))]
    pub kl_coef: f64,
    /// How that divergence is estimated: `k1`, `k2` or `k3`.
    pub kl_estimator: KlEstimator,
    /// The probability ratio is clipped to `1 ± clip_range`.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0, "x-aliases" = ["epsilon"]))]
    pub clip_range: f64,
    /// Another upper bound, `1 + clip_range_high`; 0 takes `clip_range` for both.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["epsilon_high"]))]
    pub clip_range_high: f64,
    /// Whose ratio is clipped: that of each `token`, of the whole `sequence` (GSPO), or as a
    /// constant `weight` of each token (CISPO).
    pub ratio: RatioOf,
    /// What a rollout is worth against its group: its `standard_score`, its distance from the
    /// `mean`, or from the mean of the others (`leave_one_out`).
    pub advantage: AdvantageBy,
    /// What losses are divided by: all trained tokens of the step (`token_mean`), each rollout's
    /// own length (`sequence_mean`), or the longest possible completion (`constant_length`).
    pub normaliser: NormaliserBy,
    /// Rollouts in a group. A group of one has no baseline and teaches nothing.
    #[schemars(range(min = 2, max = 10_000), extend("x-aliases" = ["num_generations"]))]
    pub num_samples_per_prompt: u32,
    /// Tokens of a completion at most.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-aliases" = ["max_new_tokens"]))]
    pub max_completion_length: u32,
    /// Sampling temperature of rollouts; log-probabilities are those at this temperature.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 10.0))]
    pub temperature: f64,
    /// Updates made from the same rollouts. More than one reuses them, and clipping takes hold.
    #[schemars(range(min = 1, max = 100))]
    pub num_iterations: u32,
    /// Leave rollouts that the length limit cut off out of the loss.
    pub mask_truncated_completions: bool,
    /// Further rounds of tasks that a step may draw to replace groups without variance; 0 takes the
    /// groups as they come.
    #[schemars(range(max = 100))]
    pub dynamic_sampling_rounds: u32,
    /// The order of tasks: shuffled anew in each epoch, from easy to hard by `difficulty`, or by the
    /// student's own `pass_rate` so far, the half solved first.
    pub curriculum: Curriculum,
    /// Steps in a row in which no group has different rewards, or no rollout passes a test, after
    /// which the run stops; 0 never stops.
    pub patience_steps: u32,
}

/// An estimator of the KL divergence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// The difference of log-probabilities.
    K1,
    /// Half its square.
    K2,
    /// The ratio less 1 less its logarithm.
    K3,
}

/// Whose ratio is clipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatioOf {
    /// Each token's.
    Token,
    /// The sequence's (GSPO).
    Sequence,
    /// Each token's, as a constant weight (CISPO).
    Weight,
}

/// How a group's rewards become advantages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdvantageBy {
    /// Less the mean, divided by the standard deviation.
    StandardScore,
    /// Less the mean.
    Mean,
    /// Less the mean of the others.
    LeaveOneOut,
}

/// What a loss is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NormaliserBy {
    /// The trained tokens of the step.
    TokenMean,
    /// The length of each rollout, then their number.
    SequenceMean,
    /// `max_completion_length`, then the number of rollouts.
    ConstantLength,
}

/// The order of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Curriculum {
    /// Shuffled anew in each epoch.
    Shuffled,
    /// From easy to hard, as the tasks say.
    Difficulty,
    /// Those that the student solves half of the time first.
    PassRate,
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
    /// Passing traces of the teacher for each task of a step.
    #[schemars(range(min = 1, max = 1024))]
    pub teacher_traces_per_task: u32,
    /// Passing rollouts of a group, the best first, that the student learns by heart.
    #[schemars(range(min = 1, max = 1024))]
    pub self_sft_top_k: u32,
    /// Divergence from the reference, in nats a token, beyond which the two cross-entropies are
    /// held back: their weights are multiplied by `kl_budget / divergence`. 0 never holds back.
    #[schemars(range(min = 0.0))]
    pub kl_budget: f64,
}

/// The optimizer and its batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingConfig {
    /// Passes over the training tasks.
    #[schemars(range(min = 1))]
    pub num_train_epochs: u32,
    /// Optimizer steps, whatever the epochs say; 0 leaves it to them.
    pub max_steps: u32,
    /// Sequences in a micro-batch. Changes memory and speed, never the update.
    #[schemars(range(min = 1))]
    pub per_device_train_batch_size: u32,
    /// Micro-batches in an optimizer step.
    #[schemars(range(min = 1))]
    pub gradient_accumulation_steps: u32,
    /// Peak learning rate.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub learning_rate: f64,
    /// What follows the warm-up: `constant`, or down to 0 in a line (`linear`) or half a wave
    /// (`cosine`).
    pub lr_scheduler_type: LrScheduler,
    /// The part of all steps in which the learning rate rises.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup_ratio: f64,
    /// How slowly the optimizer's mean of gradients follows.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub adam_beta1: f64,
    /// How slowly its mean of squares follows. For short trainings from random weights 0.95 learns
    /// faster.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub adam_beta2: f64,
    /// How much of a weight goes away at a step, in units of the learning rate.
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// Gradients longer than this are cut to it; 0 never cuts.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// What is trained: a low-rank adapter (`lora`), or every weight (`full`).
    pub train: Trained,
    /// Tokens of a sequence at most, its prompt included. What is longer is left out and counted.
    #[schemars(range(min = 2, max = 1_000_000), extend("x-aliases" = ["max_seq_length"]))]
    pub max_length: u32,
    /// Compute a layer's inner numbers again on the way back instead of keeping them: about a third
    /// slower, a fraction of the memory.
    pub gradient_checkpointing: bool,
    /// Steps between checkpoints; 0 writes none but the last.
    pub save_steps: u32,
    /// Checkpoints that are kept, the newest; 0 keeps all.
    pub save_total_limit: u32,
    /// Seconds without a sample, a micro-batch or a step after which a training says where it hangs;
    /// 0 never does.
    pub watchdog_seconds: u32,
}

/// What follows the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LrScheduler {
    /// The peak.
    Constant,
    /// A line to 0.
    Linear,
    /// Half a wave to 0.
    Cosine,
}

/// What is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trained {
    /// A low-rank adapter.
    Lora,
    /// Every weight.
    Full,
}

impl Default for GrpoConfig {
    fn default() -> Self {
        Self {
            kl_coef: 0.05,
            kl_estimator: KlEstimator::K3,
            clip_range: 0.2,
            clip_range_high: 0.0,
            ratio: RatioOf::Token,
            advantage: AdvantageBy::StandardScore,
            normaliser: NormaliserBy::TokenMean,
            num_samples_per_prompt: 4,
            max_completion_length: 1024,
            temperature: 1.0,
            num_iterations: 1,
            mask_truncated_completions: false,
            dynamic_sampling_rounds: 0,
            curriculum: Curriculum::Shuffled,
            patience_steps: 50,
        }
    }
}

impl Default for DualSourceConfig {
    fn default() -> Self {
        Self {
            grpo_weight: 1.0,
            teacher_sft_weight: 0.3,
            self_sft_weight: 0.2,
            teacher_traces_per_task: 1,
            self_sft_top_k: 1,
            kl_budget: 0.0,
        }
    }
}

impl Default for TrainingConfig {
    fn default() -> Self {
        Self {
            num_train_epochs: 3,
            max_steps: 0,
            per_device_train_batch_size: 2,
            gradient_accumulation_steps: 8,
            learning_rate: 5e-5,
            lr_scheduler_type: LrScheduler::Cosine,
            warmup_ratio: 0.03,
            adam_beta1: 0.9,
            adam_beta2: 0.999,
            weight_decay: 0.0,
            max_grad_norm: 1.0,
            train: Trained::Lora,
            max_length: 2048,
            gradient_checkpointing: false,
            save_steps: 50,
            save_total_limit: 3,
            watchdog_seconds: 300,
        }
    }
}
