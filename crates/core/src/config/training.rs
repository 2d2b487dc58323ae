//! `[dual_source]` and `[training]`: what is learnt from, and the optimizer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Passing rollouts of a step that the student learns by heart: those of groups in which some
    /// failed first, then the best by reward. Of equal programs one is taken.
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
    /// Where the learning rate begins to rise, as a part of its peak. Other tools begin at 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup_start: f64,
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
    /// Learn the thinking of an answer too, of the teacher's and of the student's own best. `false` makes
    /// rows of the code block alone; where the chat template opens the thinking, it is closed empty.
    pub include_thinking: bool,
    /// Compute a layer's inner numbers again in the backward pass instead of keeping them: about a third
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

impl Default for DualSourceConfig {
    fn default() -> Self {
        Self {
            grpo_weight: 1.0,
            teacher_sft_weight: 0.3,
            self_sft_weight: 0.2,
            teacher_traces_per_task: 1,
            self_sft_top_k: 4,
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
            warmup_start: 0.1,
            adam_beta1: 0.9,
            adam_beta2: 0.999,
            weight_decay: 0.0,
            max_grad_norm: 1.0,
            train: Trained::Lora,
            max_length: 2048,
            include_thinking: true,
            gradient_checkpointing: false,
            save_steps: 50,
            save_total_limit: 3,
            watchdog_seconds: 300,
        }
    }
}
