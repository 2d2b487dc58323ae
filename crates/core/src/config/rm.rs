//! `[rm]`: the training of a reward model on preference pairs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The training of a reward model on preference pairs (`whet train rm`). Its micro-batches, schedule
/// and checkpoints are those of `training.*`, its adapter that of `lora.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RmConfig {
    /// Peak learning rate, of the adapter and the score head.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub learning_rate: f64,
    /// Passes over the pairs. Reward models overfit in the second one (those of Llama 2 make
    /// one). `training.max_steps` overrides it.
    #[schemars(range(min = 1))]
    pub epochs: u32,
    /// Pairs in an optimizer step. They are computed `training.per_device_train_batch_size` pairs at a
    /// time, which does not change the update.
    #[schemars(range(min = 1, max = 65536))]
    pub batch_size: u32,
    /// Factor of the pairs' `margin` in the loss `softplus(margin - (chosen - rejected))`; 0 ignores
    /// margins.
    #[schemars(range(min = 0.0))]
    pub margin_scale: f64,
    /// Weight of the penalty `(chosen + rejected)²`, which keeps the scores of different prompts
    /// comparable; 0 is none.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["center_rewards_coefficient"]))]
    pub center_coefficient: f64,
    /// Fraction of the pairs that is held out where no `--held-out-pairs` are named: all pairs of a
    /// task, or of a prompt, are on one side.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 0.5))]
    pub held_out_fraction: f64,
    /// Steps between measurements on held-out pairs; the last step is always followed by one. 0
    /// measures only then.
    pub eval_steps: u32,
    /// Maximum number of held-out pairs of a measurement during training, chosen by the seed; at the
    /// end all are measured.
    #[schemars(range(min = 1))]
    pub eval_pairs: u32,
}

impl Default for RmConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-4,
            epochs: 1,
            batch_size: 16,
            margin_scale: 1.0,
            center_coefficient: 0.01,
            held_out_fraction: 0.1,
            eval_steps: 10,
            eval_pairs: 200,
        }
    }
}
