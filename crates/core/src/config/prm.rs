//! `[prm]`: the training of a process reward model on the transitions of episodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The training of a process reward model on the transitions of episodes (`whet train prm`). Its
/// micro-batches, schedule and checkpoints are those of `training.*`, its adapter that of `lora.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrmConfig {
    /// Peak learning rate, of the adapter and the score head.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub learning_rate: f64,
    /// Passes over the transitions. `training.max_steps` overrides it.
    #[schemars(range(min = 1))]
    pub epochs: u32,
    /// Transitions in an optimizer step. They are computed `training.per_device_train_batch_size` at
    /// a time, which does not change the update.
    #[schemars(range(min = 1, max = 65536))]
    pub batch_size: u32,
    /// Fraction of the transitions that is held out where no `--held-out` files are named: all
    /// transitions of a task are on one side.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 0.5))]
    pub held_out_fraction: f64,
    /// Steps between measurements on held-out transitions; the last step is always followed by one. 0
    /// measures only then.
    pub eval_steps: u32,
    /// Maximum number of held-out transitions of a measurement during training, chosen by the seed;
    /// at the end all are measured.
    #[schemars(range(min = 1))]
    pub eval_transitions: u32,
}

impl Default for PrmConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-4,
            epochs: 1,
            batch_size: 32,
            held_out_fraction: 0.1,
            eval_steps: 20,
            eval_transitions: 500,
        }
    }
}
