//! `[ppo]`: the policy-gradient loss with a critic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, Curriculum, LrScheduler, Problem, Sampling};

/// The policy-gradient loss with a critic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PpoConfig {
    /// Peak learning rate.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub learning_rate: f64,
    /// Peak learning rate of the critic; 0 takes `learning_rate`. A critic has to be right before its
    /// advantages help, so it usually learns faster than the policy.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub critic_learning_rate: f64,
    /// Learning rate after the warm-up: `constant`, or a `linear` or `cosine` decay to 0.
    #[schemars(extend("x-aliases" = ["lr_scheduler"]))]
    pub lr_scheduler_type: LrScheduler,
    /// Fraction of all updates used for warm-up.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup_ratio: f64,
    /// Learning rate at the start of the warm-up, as a fraction of its peak.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup_start: f64,
    /// Completions that are sampled for one step.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub batch_size: u32,
    /// Completions of one update. `training.per_device_train_batch_size` of them are computed at a
    /// time, which affects memory and speed, but not the update.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub mini_batch_size: u32,
    /// Passes over the completions of a step.
    #[schemars(range(min = 1, max = 100), extend("x-aliases" = ["num_ppo_epochs"]))]
    pub ppo_epochs: u32,
    /// The probability ratio is clipped to `1 ± epsilon`.
    #[schemars(
        extend("exclusiveMinimum" = 0.0, "x-aliases" = ["clip_range", "cliprange"]),
        range(max = 1.0)
    )]
    pub epsilon: f64,
    /// Weight of the critic's mean squared error.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["vf_coef"]))]
    pub value_loss_coef: f64,
    /// A value moves at most this far from that at sampling within one step; 0 does not clip values.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["cliprange_value"]))]
    pub value_clip_range: f64,
    /// Weight of the entropy of the whole distribution, which is added to the objective.
    #[schemars(range(min = 0.0))]
    pub entropy_coef: f64,
    /// The gradient of the policy and that of the critic are each clipped to this norm; 0 does not clip.
    /// Clipped together, a critic that is far off would slow the policy down.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Mean KL(old ‖ new) of a mini-batch, in nats per token, above which the rest of the step's
    /// mini-batches is left out; 0 never leaves any out.
    #[schemars(range(min = 0.0))]
    pub target_kl: f64,
    /// Steps in a row whose KL stays above `target_kl`, although mini-batches were left out, after
    /// which the run ends with "KL divergence too large"; 0 never ends it.
    pub kl_patience: u32,
    /// Discount factor.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma: f64,
    /// Lambda of generalised advantage estimation: from one step of the critic (0) to the whole
    /// return (1).
    #[schemars(range(min = 0.0, max = 1.0), extend("x-aliases" = ["lam"]))]
    pub gae_lambda: f64,
    /// The unit of `gamma` and `gae_lambda`: a `response` is one step, as in an episode of turns, or
    /// each `token` is. With 0.99 and 0.95 a token, 5 % of a reward is left 50 tokens earlier.
    pub discount_by: DiscountBy,
    /// Exclude completions that reached the length limit from the losses of policy and critic. With `false`
    /// they are worth what the judge pays for them, as every other.
    pub mask_truncated_completions: bool,
    /// Deducted from the reward of a completion that reached the length limit.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["missing_eos_penalty"]))]
    pub truncation_penalty: f64,
    /// Advantages are shifted and scaled to a mean of 0 and a standard deviation of 1 in each step. A
    /// deviation below 0.01 is not scaled up: it is noise.
    pub whiten_advantages: bool,
    /// What the critic is: an `adapter` of its own with a value head, or a value `head` on the
    /// policy's adapter, which takes half the computation and lets the two disturb each other.
    pub critic: Critic,
    /// Coefficient of the KL divergence from the reference, which is deducted from the reward of
    /// each token.
    #[schemars(range(min = 0.0))]
    pub kl_coef: f64,
    /// KL divergence from the reference, in nats per completion, that an adaptive coefficient aims
    /// at; 0 keeps the coefficient fixed.
    #[schemars(range(min = 0.0))]
    pub kl_target: f64,
    /// Completions over which an adaptive coefficient changes.
    #[schemars(range(min = 1))]
    pub kl_horizon: u32,
    /// Completions of each task in a step.
    #[schemars(range(min = 1, max = 10_000))]
    pub num_samples_per_prompt: u32,
    /// Maximum tokens of a completion.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-aliases" = ["max_new_tokens", "max_length"]))]
    pub max_completion_length: u32,
    /// Sampling temperature; log-probabilities are computed at this temperature.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 10.0))]
    pub temperature: f64,
    /// Order of tasks, as `grpo.curriculum`.
    pub curriculum: Curriculum,
    /// The run ends with "Reward improvement too small" once at least 40 steps are done and the mean
    /// reward of the last 20 less that of the 20 before is below this, by two standard errors. Take a value
    /// above the noise of a step's mean reward; 0 or less never ends the run.
    pub min_improvement: f64,
    /// Passes over the tasks, after which the run ends with "Maximum epochs reached".
    #[schemars(range(min = 1))]
    pub max_epochs: u32,
}

/// The unit of discounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscountBy {
    /// Each token is a step.
    Token,
    /// Each response is a step: its tokens have one advantage.
    Response,
}

/// What a critic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Critic {
    /// An adapter of its own with a value head.
    Adapter,
    /// A value head on the policy's adapter.
    Head,
}

impl Default for PpoConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-5,
            critic_learning_rate: 0.0,
            lr_scheduler_type: LrScheduler::Cosine,
            warmup_ratio: 0.1,
            warmup_start: 0.1,
            batch_size: 256,
            mini_batch_size: 32,
            ppo_epochs: 4,
            epsilon: 0.2,
            value_loss_coef: 0.5,
            value_clip_range: 0.0,
            entropy_coef: 0.01,
            max_grad_norm: 0.5,
            target_kl: 0.01,
            kl_patience: 3,
            gamma: 0.99,
            gae_lambda: 0.95,
            discount_by: DiscountBy::Response,
            mask_truncated_completions: false,
            truncation_penalty: 0.0,
            whiten_advantages: true,
            critic: Critic::Adapter,
            kl_coef: 0.05,
            kl_target: 0.0,
            kl_horizon: 10_000,
            num_samples_per_prompt: 1,
            max_completion_length: 512,
            temperature: 1.0,
            curriculum: Curriculum::Shuffled,
            min_improvement: 0.0,
            max_epochs: 3,
        }
    }
}

impl PpoConfig {
    /// Updates of a step in which no mini-batch is left out.
    pub fn updates_per_step(&self) -> u64 {
        u64::from(self.batch_size.div_ceil(self.mini_batch_size.max(1)))
            * u64::from(self.ppo_epochs)
    }

    /// The critic's learning rate as a multiple of the policy's.
    pub fn critic_rate_factor(&self) -> f64 {
        if self.critic_learning_rate > 0.0 {
            self.critic_learning_rate / self.learning_rate
        } else {
            1.0
        }
    }

    /// Conflicts between its keys.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.batch_size.is_multiple_of(self.num_samples_per_prompt.max(1)) {
            problems.push(Problem {
                key: "ppo.batch_size",
                message: format!(
                    "{} completions are no whole groups of {} (`ppo.num_samples_per_prompt`)",
                    self.batch_size, self.num_samples_per_prompt
                ),
                hint: "make it a multiple",
            });
        }
        if self.mini_batch_size > self.batch_size {
            problems.push(Problem {
                key: "ppo.mini_batch_size",
                message: format!(
                    "a mini-batch of {} is larger than the batch of {}",
                    self.mini_batch_size, self.batch_size
                ),
                hint: "lower it, or raise `ppo.batch_size`",
            });
        }
        if self.mask_truncated_completions && self.truncation_penalty > 0.0 {
            problems.push(Problem {
                key: "ppo.truncation_penalty",
                message:
                    "completions that are left out (`ppo.mask_truncated_completions`) cannot be \
                          charged"
                        .to_owned(),
                hint: "set one of the two",
            });
        }
        problems
    }
}

impl Config {
    /// How PPO samples.
    pub fn ppo_sampling(&self) -> Sampling {
        let ppo = &self.ppo;
        Sampling {
            samples: ppo.num_samples_per_prompt as usize,
            max_tokens: ppo.max_completion_length as usize,
            temperature: ppo.temperature,
            curriculum: ppo.curriculum,
            dynamic_rounds: 0,
        }
    }
}
