//! `[dual_source]` and `[training]`: the learning signals and the optimizer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;

/// Weights of the three learning signals.
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
    /// Passing rollouts of a step that the student is fine-tuned on: the best of each task, from the task
    /// with the lowest pass rate on, then the second of each. Equal programs of a task count once.
    #[schemars(range(min = 1, max = 1024))]
    pub self_sft_top_k: u32,
    /// KL divergence from the reference, in nats per token, above which the weights of the two
    /// cross-entropies are multiplied by `kl_budget / divergence`, and an alarm rings, which is all that
    /// it does in PPO. 0 means no budget.
    #[schemars(range(min = 0.0))]
    pub kl_budget: f64,
}

/// The optimizer, its schedule and its batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingConfig {
    /// Passes over the training tasks.
    #[schemars(range(min = 1), extend("x-aliases" = ["epochs"]))]
    pub num_train_epochs: u32,
    /// Number of optimizer steps; overrides `num_train_epochs`. 0 means no override.
    #[schemars(extend("x-aliases" = ["total_steps"]))]
    pub max_steps: u32,
    /// Sequences in a micro-batch. Affects memory and speed, but not the update.
    #[schemars(range(min = 1), extend("x-aliases" = ["per_device_batch_size", "batch_size"]))]
    pub per_device_train_batch_size: u32,
    /// Micro-batches in an optimizer step.
    #[schemars(range(min = 1), extend("x-aliases" = ["gradient_accumulation"]))]
    pub gradient_accumulation_steps: u32,
    /// Peak learning rate.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub learning_rate: f64,
    /// Learning rate after the warm-up: `constant`, or a `linear` or `cosine` decay to 0.
    pub lr_scheduler_type: LrScheduler,
    /// Fraction of all steps used for warm-up.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup_ratio: f64,
    /// Learning rate at the start of the warm-up, as a fraction of its peak. Other tools start at
    /// 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup_start: f64,
    /// Adam beta1: decay rate of the first-moment estimate.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub adam_beta1: f64,
    /// Adam beta2: decay rate of the second-moment estimate. For short runs from random weights,
    /// 0.95 learns faster.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub adam_beta2: f64,
    /// Decoupled weight decay (AdamW), multiplied by the learning rate at each step.
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// Gradients are clipped to this global norm; 0 does not clip.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Gradients are clipped to this multiple of the running median of their norms over the last 50 updates,
    /// beside `max_grad_norm`, from the eleventh update on; 0 does not. The norm of a run is rarely near a
    /// bound that is set before it, and Adam makes a full step of an outlier. In PPO the policy and the
    /// critic have a median each.
    #[schemars(range(min = 0.0))]
    pub clip_to_median: f64,
    /// Parameters to train: a LoRA adapter (`lora`), or all weights (`full`).
    pub train: Trained,
    /// Maximum tokens in a sequence, including its prompt. Longer sequences are left out and
    /// counted.
    #[schemars(range(min = 2, max = 1_000_000), extend("x-aliases" = ["max_seq_length"]))]
    pub max_length: u32,
    /// Include the thinking when fine-tuning on the teacher's traces and on the student's own best
    /// rollouts. With `false`, a row holds the code block only; where the chat template opens the
    /// thinking, the thinking is empty.
    pub include_thinking: bool,
    /// Recompute a layer's activations in the backward pass instead of saving them: about a third
    /// slower, with a fraction of the memory.
    pub gradient_checkpointing: bool,
    /// Steps between checkpoints; 0 writes only the last one.
    pub save_steps: u32,
    /// Number of newest checkpoints to keep; 0 keeps all.
    pub save_total_limit: u32,
    /// Seconds without progress (a sample, a micro-batch or a step) after which training reports
    /// where it hangs; 0 turns the watchdog off.
    pub watchdog_seconds: u32,
}

/// The learning rate after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LrScheduler {
    /// The peak learning rate throughout.
    Constant,
    /// Linear decay to 0.
    Linear,
    /// Cosine decay to 0.
    Cosine,
}

/// The parameters to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trained {
    /// A LoRA adapter.
    Lora,
    /// All weights.
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
            clip_to_median: 3.0,
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

impl TrainingConfig {
    /// A bound below the median, which would clip most updates.
    pub(super) fn problem(&self) -> Option<Problem> {
        let multiple = self.clip_to_median;
        (multiple > 0.0 && multiple < 1.0).then(|| Problem {
            key: "training.clip_to_median",
            message: format!(
                "{multiple} times the median of the norms clips more than half of the updates"
            ),
            hint: "3 clips outliers alone; 0 turns it off",
        })
    }
}
