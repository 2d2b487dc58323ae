//! `[grpo]`: the policy-gradient loss on groups of rollouts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;
use super::algorithm::{Algorithm, RatioOf};

/// The policy-gradient loss on groups of rollouts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrpoConfig {
    /// A named algorithm: every key below that is not given takes the value of the algorithm's
    /// paper, and `dual_source.teacher_sft_weight` and `dual_source.self_sft_weight` are 0 unless they are
    /// given. `custom` sets no keys. `docs/guides/algorithms.md` lists the values.
    pub algorithm: Algorithm,
    /// Weight of the KL divergence from the reference model, which is the student without its
    /// adapter.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["beta"]))]
    pub kl_coef: f64,
    /// Estimator of the KL divergence. `k1` works in the reward only: in the loss, the gradient of
    /// its mean is 0.
    pub kl_estimator: KlEstimator,
    /// Where the KL divergence is applied: as a term of the `loss`, or as a penalty on the `reward`
    /// of a rollout before advantages are computed.
    pub kl_in: KlIn,
    /// The probability ratio is clipped to `1 ± clip_range`. 1 removes the lower bound.
    #[schemars(
        extend("exclusiveMinimum" = 0.0, "x-aliases" = ["epsilon"]),
        range(max = 1.0)
    )]
    pub clip_range: f64,
    /// A separate upper bound of `1 + clip_range_high` (clip higher); 0 uses `clip_range` for both
    /// bounds.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["epsilon_high"]))]
    pub clip_range_high: f64,
    /// Dual clip: the ratio at which the loss of a token with a negative advantage stops growing (3
    /// in its paper, arXiv:1912.09729). 0 turns it off.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["delta"]))]
    pub dual_clip: f64,
    /// Truncated importance sampling: upper bound of a token's weight `p_trainer / p_sampler` where
    /// log-probabilities come from another sampler (2 is usual). 0 turns it off.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["tis_imp_ratio_cap"]))]
    pub importance_cap: f64,
    /// The probability ratio that is clipped, and the effect of clipping.
    pub ratio: RatioOf,
    /// Advantage of a rollout in its group: its `standard_score`, or its difference from the
    /// group's `mean` or from the mean of the others (`leave_one_out`).
    pub advantage: AdvantageBy,
    /// Whose advantages are computed: one of each `episode`, or one of each turn (`step`), from the
    /// episode's reward and the process rewards of the turns to come. The process reward of a turn is
    /// the probability of `reward.process`, or without one the environment's own label. An
    /// environment that records no transitions has one advantage an episode.
    pub advantage_by: AdvantageOf,
    /// Denominator of the loss: all trained tokens of the step (`token_mean`), each rollout's own
    /// length (`sequence_mean`), or the maximum completion length (`constant_length`).
    pub normaliser: NormaliserBy,
    /// Rollouts of dead groups: `keep` counts them in the denominator and keeps their KL term,
    /// `leave_out` ignores them.
    pub dead_groups: DeadGroups,
    /// Minimum spread of rewards in a live group, as a fraction of the reward's range. Applies to
    /// tasks without tests; with tests, a group is alive when its rollouts pass different tests.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alive_spread: f64,
    /// Rollouts in a group.
    #[schemars(range(min = 2, max = 10_000), extend("x-aliases" = ["num_generations", "group_size"]))]
    pub num_samples_per_prompt: u32,
    /// Maximum tokens of a completion.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-aliases" = ["max_new_tokens"]))]
    pub max_completion_length: u32,
    /// Sampling temperature of rollouts; log-probabilities are computed at this temperature.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 10.0))]
    pub temperature: f64,
    /// Passes over the rollouts of a step, each of which makes an update of every mini-batch.
    #[schemars(range(min = 1, max = 100))]
    pub num_iterations: u32,
    /// Mini-batches that a step's groups are split into at random, each an update of its own; at most one
    /// for each group, since a group is never split. Clipping has an effect from the second update of a
    /// step on.
    #[schemars(range(min = 1, max = 1000))]
    pub mini_batches: u32,
    /// Exclude rollouts that reached the length limit from the loss.
    pub mask_truncated_completions: bool,
    /// Dynamic sampling: additional rounds of tasks that a step may sample to replace dead groups;
    /// 0 turns it off.
    #[schemars(range(max = 100))]
    pub dynamic_sampling_rounds: u32,
    /// Order of tasks: `shuffled` in each epoch, from easy to hard by `difficulty` (tasks without
    /// one come last), or by the student's `pass_rate` so far, closest to one half first. With
    /// `pass_rate` a task that every rollout of its last two visits solved, or none did (at least 8
    /// rollouts), is left out; a tenth of these is looked at again in each epoch, as at most a tenth of
    /// it. Nothing is known in the first epoch, which is shuffled.
    pub curriculum: Curriculum,
    /// Consecutive steps in which every group is dead, or in which no rollout passes a test, after
    /// which the run stops; 0 never stops. While other tasks can be learnt from, steps do not count
    /// that met hopeless tasks alone: tasks that were always or never solved in their last visit
    /// (`curriculum = "pass_rate"`), or that are harder than all that were ever solved (`"difficulty"`).
    pub patience_steps: u32,
}

/// An estimator of the KL divergence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// The difference of the log-probabilities.
    K1,
    /// Half its square.
    K2,
    /// The probability ratio minus 1 minus its logarithm.
    K3,
}

/// Where the KL divergence is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KlIn {
    /// As a term of the loss.
    Loss,
    /// As a penalty on the reward.
    Reward,
}

/// Advantages of the rollouts in a group.
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

/// Whose advantages are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdvantageOf {
    /// One advantage for all turns of an episode.
    Episode,
    /// One advantage for each turn of an episode.
    Step,
}

/// The denominator of a loss.
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

/// The handling of rollouts of dead groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadGroups {
    /// They count in the denominator with an advantage of 0, and keep their KL term.
    Keep,
    /// They are ignored.
    LeaveOut,
}

/// The order of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Curriculum {
    /// Shuffled in each epoch.
    Shuffled,
    /// From easy to hard, by the tasks' `difficulty`.
    Difficulty,
    /// By the student's pass rate so far, closest to one half first, without those that teach nothing.
    PassRate,
}

impl GrpoConfig {
    /// Whether the loss clips the probability ratio, which several updates on the rollouts of a step
    /// need. RLOO has no clipping.
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
            advantage_by: AdvantageOf::Episode,
            normaliser: NormaliserBy::TokenMean,
            dead_groups: DeadGroups::Keep,
            alive_spread: 0.01,
            num_samples_per_prompt: 4,
            max_completion_length: 1024,
            temperature: 1.0,
            num_iterations: 1,
            mini_batches: 1,
            mask_truncated_completions: false,
            dynamic_sampling_rounds: 0,
            curriculum: Curriculum::Shuffled,
            patience_steps: 50,
        }
    }
}

impl GrpoConfig {
    /// Combinations of this section's keys that cannot work, apart from [contradictions of a named
    /// algorithm](super::preset::contradictions).
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
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
        problems.extend(self.step_problem());
        problems
    }

    /// Why advantages cannot be those of turns.
    fn step_problem(&self) -> Option<Problem> {
        let problem = |message: &str, hint| Problem {
            key: "grpo.advantage_by",
            message: message.to_owned(),
            hint,
        };
        match self.advantage_by {
            AdvantageOf::Step if self.ratio == RatioOf::Sequence => Some(problem(
                "the ratio of a whole sequence has one advantage, and `step` has one for each turn",
                "take `grpo.ratio = \"token\"`, or `grpo.advantage_by = \"episode\"`",
            )),
            AdvantageOf::Step if self.kl_in == KlIn::Reward => Some(problem(
                "the divergence is charged to whole episodes, and `step` pays turns",
                "take `grpo.kl_in = \"loss\"`, or `grpo.advantage_by = \"episode\"`",
            )),
            AdvantageOf::Episode | AdvantageOf::Step => None,
        }
    }

    /// Settings that can run but are unlikely to be intended.
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

    /// The updates of a step, if it has as many groups as mini-batches.
    pub fn updates_per_step(&self) -> u64 {
        u64::from(self.num_iterations) * u64::from(self.mini_batches)
    }

    /// The upper clip range, relative to a ratio of 1.
    pub fn upper_clip_range(&self) -> f64 {
        if self.clip_range_high == 0.0 { self.clip_range } else { self.clip_range_high }
    }
}
