//! `[grpo]`: how groups of rollouts become an update.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;
use super::algorithm::{self, Algorithm, RatioOf};

/// How groups of rollouts become an update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrpoConfig {
    /// An algorithm by its name: sets the keys below to its paper's values, for all of them that are
    /// not given. `custom` sets none. `docs/guides/algorithms.md` has the values.
    pub algorithm: Algorithm,
    /// Weight of the KL divergence from the reference, which is the student without its adapter.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["beta"]))]
    pub kl_coef: f64,
    /// How that divergence is estimated: `k1`, `k2` or `k3`. `k1` is of use in the reward only: the
    /// gradient of its mean is 0.
    pub kl_estimator: KlEstimator,
    /// Where the divergence is charged: as a term of the `loss`, or as a deduction from the `reward`
    /// of a rollout, before advantages are computed.
    pub kl_in: KlIn,
    /// The probability ratio is clipped to `1 ± clip_range`. 1 leaves out the lower bound.
    #[schemars(
        extend("exclusiveMinimum" = 0.0, "x-aliases" = ["epsilon"]),
        range(max = 1.0)
    )]
    pub clip_range: f64,
    /// Another upper bound, `1 + clip_range_high`; 0 takes `clip_range` for both.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["epsilon_high"]))]
    pub clip_range_high: f64,
    /// The loss of a token with a negative advantage stops growing at this ratio (dual clip; 3 in its
    /// paper, arXiv:1912.09729). 0 sets no bound.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["delta"]))]
    pub dual_clip: f64,
    /// The most that a token is weighted by `p_trainer / p_sampler` where log-probabilities come from
    /// another sampler (truncated importance sampling; 2 is usual). 0 does not weight.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["tis_imp_ratio_cap"]))]
    pub importance_cap: f64,
    /// Which probability ratio is clipped, and what clipping does.
    pub ratio: RatioOf,
    /// What a rollout is worth against its group: its `standard_score`, its distance from the
    /// `mean`, or from the mean of the others (`leave_one_out`).
    pub advantage: AdvantageBy,
    /// What losses are divided by: all trained tokens of the step (`token_mean`), each rollout's
    /// own length (`sequence_mean`), or the longest possible completion (`constant_length`).
    pub normaliser: NormaliserBy,
    /// What becomes of rollouts whose group is dead: `keep` counts them in the normaliser and charges
    /// their divergence from the reference, `leave_out` ignores them.
    pub dead_groups: DeadGroups,
    /// How far rewards of a group must be apart for it to be alive, as a part of the reward's range.
    /// It counts for tasks without tests; with tests, a group is alive when its rollouts differ in
    /// the tests that they pass.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alive_spread: f64,
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
    /// Further rounds of tasks that a step may draw to replace dead groups; 0 takes the groups as
    /// they come.
    #[schemars(range(max = 100))]
    pub dynamic_sampling_rounds: u32,
    /// The order of tasks: shuffled anew in each epoch, from easy to hard by `difficulty` (tasks
    /// without one last), or by the student's own `pass_rate` so far, the half solved first.
    pub curriculum: Curriculum,
    /// Steps in a row in which every group is dead, or no rollout passes a test, after which the run
    /// stops; 0 never stops.
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

/// Where the KL divergence is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KlIn {
    /// As a term of the loss.
    Loss,
    /// As a deduction from the reward.
    Reward,
}

/// How a group's rewards become advantages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdvantageBy {
    /// Reward minus the group mean, divided by the standard deviation.
    StandardScore,
    /// Reward minus the group mean.
    Mean,
    /// Reward minus the mean of the others in the group.
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

/// What becomes of rollouts whose group is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadGroups {
    /// They count in the normaliser, with an advantage of 0, and keep their KL term.
    Keep,
    /// They are ignored.
    LeaveOut,
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

impl GrpoConfig {
    /// Whether the loss bounds how much a rollout pulls that the policy has moved away from: what using
    /// rollouts more than once needs. RLOO's paper has no bound, so that it is not RLOO then.
    pub fn clips(&self) -> bool {
        let is_bounded = self.ratio.is_weight() || self.clip_range < 1.0;
        is_bounded && self.algorithm != Algorithm::Rloo
    }
}

impl Default for GrpoConfig {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Custom,
            kl_coef: 0.05,
            kl_estimator: KlEstimator::K3,
            kl_in: KlIn::Loss,
            clip_range: 0.2,
            clip_range_high: 0.0,
            dual_clip: 0.0,
            importance_cap: 0.0,
            ratio: RatioOf::Token,
            advantage: AdvantageBy::StandardScore,
            normaliser: NormaliserBy::TokenMean,
            dead_groups: DeadGroups::Keep,
            alive_spread: 0.01,
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

impl GrpoConfig {
    /// What is wrong between keys of this section.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = algorithm::contradictions(self);
        if self.kl_coef > 0.0 && (self.kl_in, self.kl_estimator) == (KlIn::Loss, KlEstimator::K1) {
            problems.push(Problem {
                key: "grpo.kl_estimator",
                message: "`k1` in the loss holds nothing back: the gradient of its mean is 0"
                    .to_owned(),
                hint: "take `k3` or `k2`, or charge it with `grpo.kl_in = \"reward\"`",
            });
        }
        if self.dual_clip > 0.0 && self.dual_clip <= 1.0 + self.upper_clip_range() {
            problems.push(Problem {
                key: "grpo.dual_clip",
                message: format!(
                    "{} is not above the upper clip bound of {}",
                    self.dual_clip,
                    1.0 + self.upper_clip_range()
                ),
                hint: "3 is usual; 0 sets no bound",
            });
        }
        if self.dual_clip > 0.0 && self.ratio.is_weight() {
            problems.push(Problem {
                key: "grpo.dual_clip",
                message: "a ratio that is a `weight` is bounded whatever the advantage is"
                    .to_owned(),
                hint: "set it to 0, or clip the ratio of each `token`",
            });
        }
        problems
    }

    /// What can run and is unlikely to be meant.
    pub(super) fn warnings(&self) -> Vec<Problem> {
        let mut warnings = Vec::new();
        if self.ratio == RatioOf::Sequence && self.clip_range >= 0.01 {
            warnings.push(Problem {
                key: "grpo.clip_range",
                message: format!(
                    "the ratio of a sequence is a mean over its tokens and hardly ever moves by {}: \
                     nothing is clipped",
                    self.clip_range
                ),
                hint: "GSPO's paper has 3e-4 and 4e-4: `grpo.algorithm = \"gspo\"` sets them",
            });
        }
        if self.ratio.is_weight() && self.clip_range < 1.0 {
            warnings.push(Problem {
                key: "grpo.clip_range",
                message: format!(
                    "weights below {} are raised to it, and CISPO's paper has no lower bound",
                    1.0 - self.clip_range
                ),
                hint: "set it to 1: `grpo.algorithm = \"cispo\"` does",
            });
        }
        warnings
    }

    /// How far above 1 the ratio may rise.
    pub fn upper_clip_range(&self) -> f64 {
        if self.clip_range_high == 0.0 { self.clip_range } else { self.clip_range_high }
    }
}
