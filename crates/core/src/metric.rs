//! The metrics of a training step: names, units, meanings.
//!
//! This is the one place where a metric gets its name. Events, CSV and TensorBoard files carry these
//! names; the report's catalogue (`assets/report/catalogue.js`), alarms and pages refer to them. Product
//! code names a metric by its constant, and pages may only name metrics of this table.
//! The terms of a reward are the environment's, so their metrics are not listed: [`reward_term`]. Neither are
//! numbers that an environment states of a rollout, which are named after its kind.

// size: one table of every metric.

#![expect(missing_docs, reason = "a constant has its meaning beside its name")]

/// A number that is measured at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name in events, and so in every file that is made of them.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// One line for a reader who sees the name alone.
    pub meaning: &'static str,
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// In units of the reward.
    Reward,
    /// A part of something, from 0 to 1.
    Fraction,
    /// In nats.
    Nats,
    /// In units of the loss.
    Loss,
    /// A count.
    Count,
    /// A number without a unit.
    Number,
    /// In seconds.
    Seconds,
    /// Per second.
    PerSecond,
}

/// The prefix of the metrics of a reward's terms.
pub const REWARD_TERMS: &str = "reward/";

/// The prefix of what the terms of a reward pay to rollouts that do not pass.
pub const REWARD_TERMS_OF_FAILING: &str = "reward_failing/";

/// The name of the metric of a reward's term among the rollouts that do not pass: what it adds to their reward on
/// average, weight included.
pub fn reward_term_of_failing(term: &str) -> String {
    format!("{REWARD_TERMS_OF_FAILING}{term}")
}

/// The name of the metric of a reward's term: what it adds to the reward on average, weight included.
pub fn reward_term(term: &str) -> String {
    format!("{REWARD_TERMS}{term}")
}

/// The metric with this name.
pub fn find(name: &str) -> Option<Metric> {
    ALL.iter().copied().find(|metric| metric.name == name)
}

impl Unit {
    /// Its name in the reference.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reward => "reward",
            Self::Fraction => "fraction",
            Self::Nats => "nats",
            Self::Loss => "loss",
            Self::Count => "count",
            Self::Number => "number",
            Self::Seconds => "seconds",
            Self::PerSecond => "per second",
        }
    }
}

const fn metric(name: &'static str, unit: Unit, meaning: &'static str) -> Metric {
    Metric { name, unit, meaning }
}

pub const GRPO_MEAN_REWARD: Metric =
    metric("grpo/mean_reward", Unit::Reward, "mean reward of the step's rollouts");
pub const GRPO_REWARD_STD: Metric = metric(
    "grpo/reward_std",
    Unit::Reward,
    "standard deviation of the rewards of the step's rollouts",
);
pub const GRPO_PASS_RATE: Metric = metric(
    "grpo/pass_rate",
    Unit::Fraction,
    "rollouts that pass all tests, of those that were run against tests",
);
pub const GRPO_POLICY_LOSS: Metric = metric(
    "grpo/policy_loss",
    Unit::Loss,
    "policy loss without its weight, mean over the updates of the last pass",
);
pub const GRPO_KL_LOSS: Metric =
    metric("grpo/kl_loss", Unit::Loss, "KL term of the loss, coefficient included");
pub const GRPO_KL_DIVERGENCE: Metric =
    metric("grpo/kl_divergence", Unit::Nats, "KL divergence from the reference model, a token");
pub const GRPO_KL_CHARGE: Metric = metric(
    "grpo/kl_charge",
    Unit::Reward,
    "mean deduction from a rollout's reward for its KL divergence",
);
pub const GRPO_UPDATE_KL: Metric = metric(
    "grpo/update_kl",
    Unit::Nats,
    "KL divergence of the policy after the step from the policy before it, a token",
);
pub const GRPO_STALENESS_KL: Metric = metric(
    "grpo/staleness_kl",
    Unit::Nats,
    "KL divergence of the student from the policy that sampled a file of rollouts, a token",
);
pub const GRPO_CLAMPED: Metric =
    metric("grpo/clamped", Unit::Count, "ratios and KL estimates that were clamped");
pub const GRPO_CLAMPED_FRACTION: Metric = metric(
    "grpo/clamped_fraction",
    Unit::Fraction,
    "ratios and KL estimates that were clamped, of the trained tokens",
);
pub const GRPO_IMPORTANCE_MEAN: Metric =
    metric("grpo/importance_mean", Unit::Number, "mean importance weight of a token");
pub const GRPO_IMPORTANCE_TRUNCATED: Metric = metric(
    "grpo/importance_truncated",
    Unit::Fraction,
    "tokens whose importance weight was truncated to its cap",
);
pub const GRPO_EFFECTIVE_SAMPLE_SIZE: Metric = metric(
    "grpo/effective_sample_size",
    Unit::Fraction,
    "effective sample size of a file's rollouts, (Σw)² / Σw² of the tokens' weights, of the trained tokens",
);
pub const GRPO_ENTROPY: Metric =
    metric("grpo/entropy", Unit::Nats, "mean entropy of the prediction of a token");
pub const GRPO_RATIO_MEAN: Metric =
    metric("grpo/ratio_mean", Unit::Number, "mean probability ratio");
pub const GRPO_RATIO_STD: Metric =
    metric("grpo/ratio_std", Unit::Number, "standard deviation of the probability ratios");
pub const GRPO_CLIP_FRACTION: Metric =
    metric("grpo/clip_fraction", Unit::Fraction, "trained tokens whose ratio was clipped");
pub const GRPO_GRAD_NORM: Metric =
    metric("grpo/grad_norm", Unit::Number, "norm of the gradient of the rollouts, weight included");
pub const GRPO_SAMPLER_GAP: Metric = metric(
    "grpo/sampler_gap",
    Unit::Nats,
    "largest difference between a log-probability as sampled and as trained",
);
pub const GRPO_DEAD_GROUPS: Metric =
    metric("grpo/dead_groups", Unit::Count, "groups without a difference to learn from");
pub const GRPO_SOLVED_GROUPS: Metric =
    metric("grpo/solved_groups", Unit::Count, "dead groups in which every rollout passes");
pub const GRPO_UNSOLVED_GROUPS: Metric =
    metric("grpo/unsolved_groups", Unit::Count, "dead groups in which no rollout passes");
pub const GRPO_MASKED: Metric = metric(
    "grpo/masked",
    Unit::Count,
    "completions that the token limit cut off and that are not learnt from",
);
pub const PPO_MEAN_REWARD: Metric =
    metric("ppo/mean_reward", Unit::Reward, "mean reward of the step's completions");
pub const PPO_REWARD_STD: Metric = metric(
    "ppo/reward_std",
    Unit::Reward,
    "standard deviation of the rewards of the step's completions",
);
pub const PPO_PASS_RATE: Metric = metric(
    "ppo/pass_rate",
    Unit::Fraction,
    "completions that pass all tests, of those that were run against tests",
);
pub const PPO_POLICY_LOSS: Metric =
    metric("ppo/policy_loss", Unit::Loss, "clipped policy loss, mean over the step's updates");
pub const PPO_ENTROPY: Metric =
    metric("ppo/entropy", Unit::Nats, "mean entropy of the prediction of a token");
pub const PPO_KL_DIVERGENCE: Metric = metric(
    "ppo/kl_divergence",
    Unit::Nats,
    "KL(old ‖ new) of the policy after the step's updates from the one that sampled, a token",
);
pub const PPO_RATIO_MEAN: Metric =
    metric("ppo/ratio_mean", Unit::Number, "mean probability ratio over the step's updates");
pub const PPO_RATIO_STD: Metric =
    metric("ppo/ratio_std", Unit::Number, "standard deviation of the probability ratios");
pub const PPO_CLIP_FRACTION: Metric =
    metric("ppo/clip_fraction", Unit::Fraction, "trained tokens whose ratio was clipped");
pub const PPO_VALUE_LOSS: Metric = metric(
    "ppo/value_loss",
    Unit::Loss,
    "mean squared error of the critic, mean over the step's updates",
);
pub const PPO_VALUE_PRED_MEAN: Metric = metric(
    "ppo/value_pred_mean",
    Unit::Reward,
    "mean value that the critic predicts as a baseline",
);
pub const PPO_EXPLAINED_VARIANCE: Metric = metric(
    "ppo/explained_variance",
    Unit::Number,
    "part of the variance of returns that the baseline predicts, before the step's updates",
);
pub const PPO_EXPLAINED_VARIANCE_TOKENS: Metric = metric(
    "ppo/explained_variance_tokens",
    Unit::Number,
    "the same of the values before all tokens, most of which have read a part of the completion",
);
pub const PPO_MEAN_ADVANTAGE: Metric =
    metric("ppo/mean_advantage", Unit::Reward, "mean advantage of a token, before whitening");
pub const PPO_MEAN_RETURN: Metric =
    metric("ppo/mean_return", Unit::Reward, "mean return of a token, the target of the critic");
pub const PPO_REFERENCE_KL: Metric = metric(
    "ppo/reference_kl",
    Unit::Nats,
    "KL divergence of the policy from the reference, a token",
);
pub const PPO_KL_COEF: Metric =
    metric("ppo/kl_coef", Unit::Number, "coefficient of the divergence from the reference");
pub const PPO_UPDATES: Metric = metric("ppo/updates", Unit::Count, "updates of the step");
pub const PPO_SKIPPED_MINI_BATCHES: Metric = metric(
    "ppo/skipped_mini_batches",
    Unit::Count,
    "mini-batches left out, since the policy had moved further than the target",
);
pub const PPO_SAMPLER_GAP: Metric = metric(
    "ppo/sampler_gap",
    Unit::Nats,
    "largest difference between a log-probability as sampled and as trained",
);
pub const REWARD_MODEL_SCORE: Metric =
    metric("reward_model/score", Unit::Number, "mean normalised score of the reward model");
pub const REWARD_MODEL_LENGTH_CORRELATION: Metric = metric(
    "reward_model/length_correlation",
    Unit::Number,
    "correlation of the reward model's scores with the lengths of completions",
);
pub const PROCESS_SOLVED: Metric = metric(
    "process/solved",
    Unit::Fraction,
    "mean probability of the transitions of solved episodes, by the process reward model",
);
pub const PROCESS_UNSOLVED: Metric = metric(
    "process/unsolved",
    Unit::Fraction,
    "mean probability of the transitions of unsolved episodes, by the process reward model",
);
pub const PROCESS_TRANSITIONS: Metric =
    metric("process/transitions", Unit::Count, "transitions that the process reward model scored");
pub const CODE_SYNTAX_SUCCESS_RATE: Metric =
    metric("code/syntax_success_rate", Unit::Fraction, "rollouts with a program that parses");
pub const CODE_AVG_TEST_PASS_RATE: Metric = metric(
    "code/avg_test_pass_rate",
    Unit::Fraction,
    "tests that a rollout passes, averaged over rollouts",
);
pub const CODE_TIMEOUTS: Metric =
    metric("code/timeouts", Unit::Fraction, "programs that ran out of time");
pub const CODE_QUALITY_SCORE: Metric =
    metric("code/quality_score", Unit::Fraction, "mean quality of programs that parse");
pub const CODE_NO_CODE: Metric =
    metric("code/no_code", Unit::Fraction, "completions without a program outside their thinking");
pub const CODE_IN_THINKING: Metric = metric(
    "code/in_thinking",
    Unit::Fraction,
    "completions whose only code stands in their thinking",
);
pub const CODE_OWN_TEST_FAILED: Metric = metric(
    "code/own_test_failed",
    Unit::Fraction,
    "programs that an assertion of their own ended before the first hidden test",
);
pub const ROLLOUT_MEAN_TOKENS: Metric =
    metric("rollout/mean_tokens", Unit::Count, "mean sampled tokens of a rollout");
pub const ROLLOUT_TOKENS_PASSING: Metric = metric(
    "rollout/tokens_passing",
    Unit::Count,
    "mean sampled tokens of the rollouts that pass all tests",
);
pub const ROLLOUT_TOKENS_FAILING: Metric = metric(
    "rollout/tokens_failing",
    Unit::Count,
    "mean sampled tokens of the rollouts that do not pass",
);
pub const ROLLOUT_REPETITION: Metric = metric(
    "rollout/repetition",
    Unit::Fraction,
    "rollouts that end in an n-gram that is repeated at least three times in a row",
);
pub const ROLLOUT_TRUNCATED: Metric =
    metric("rollout/truncated", Unit::Fraction, "rollouts that the token limit cut off");
pub const ROLLOUT_DROPPED: Metric =
    metric("rollout/dropped", Unit::Count, "rollouts that could not be judged");
pub const ROLLOUT_JUDGED: Metric =
    metric("rollout/judged", Unit::Count, "rollouts that were judged");
pub const ROLLOUT_TASKS: Metric = metric("rollout/tasks", Unit::Count, "tasks that the step took");
pub const ROLLOUT_JUDGED_WHILE_SAMPLING: Metric = metric(
    "rollout/judged_while_sampling",
    Unit::Fraction,
    "rollouts that were judged while others were sampled",
);
pub const TEACHER_SFT_LOSS: Metric =
    metric("teacher_sft/loss", Unit::Nats, "cross-entropy on the teacher's traces, a token");
pub const TEACHER_SFT_GRAD_NORM: Metric = metric(
    "teacher_sft/grad_norm",
    Unit::Number,
    "norm of the gradient of the teacher's traces, weight included",
);
pub const TEACHER_SFT_COSINE: Metric = metric(
    "teacher_sft/cosine",
    Unit::Number,
    "cosine between the gradients of the teacher's traces and of the rollouts",
);
pub const TEACHER_SFT_WEIGHT: Metric =
    metric("teacher_sft/weight", Unit::Number, "weight of the teacher's traces in the update");
pub const SELF_SFT_LOSS: Metric = metric(
    "self_sft/loss",
    Unit::Nats,
    "cross-entropy on the student's own best rollouts, a token",
);
pub const SELF_SFT_GRAD_NORM: Metric = metric(
    "self_sft/grad_norm",
    Unit::Number,
    "norm of the gradient of the student's own best rollouts, weight included",
);
pub const SELF_SFT_COSINE: Metric = metric(
    "self_sft/cosine",
    Unit::Number,
    "cosine between the gradients of the student's own best rollouts and of all rollouts",
);
pub const SELF_SFT_WEIGHT: Metric = metric(
    "self_sft/weight",
    Unit::Number,
    "weight of the student's own best rollouts in the update",
);
pub const SELF_SFT_REPLAYED: Metric =
    metric("self_sft/replayed", Unit::Count, "replayed successes of tasks that no rollout solved");
pub const SELF_SFT_REPLAY_TASKS: Metric =
    metric("self_sft/replay_tasks", Unit::Count, "tasks with a success that is kept for replay");
pub const DISTILL_KL: Metric = metric(
    "distill/kl",
    Unit::Nats,
    "reverse KL divergence of the student from the teacher on sampled tokens, a token",
);
pub const DISTILL_GRAD_NORM: Metric = metric(
    "distill/grad_norm",
    Unit::Number,
    "norm of the gradient of distillation, weight included",
);
pub const DISTILL_COSINE: Metric = metric(
    "distill/cosine",
    Unit::Number,
    "cosine between the gradients of distillation and of the rollouts",
);
pub const DISTILL_WEIGHT: Metric =
    metric("distill/weight", Unit::Number, "weight of distillation in the update");
pub const DISTILL_TOKENS: Metric =
    metric("distill/tokens", Unit::Count, "sampled tokens that the teacher scored");
pub const DISTILL_FAILED: Metric = metric(
    "distill/failed",
    Unit::Count,
    "sequences that the teacher failed to score, and that distillation left out",
);
pub const TIME_TEACHER_S: Metric =
    metric("time/teacher_s", Unit::Seconds, "time in which the teacher scored sampled tokens");
pub const HELD_OUT_PASS_RATE: Metric = metric(
    "held_out/pass_rate",
    Unit::Fraction,
    "samples on held-out tasks that pass, averaged over tasks",
);
pub const HELD_OUT_PASS_AT_N: Metric = metric(
    "held_out/pass_at_n",
    Unit::Fraction,
    "held-out tasks of which at least one of the `held_out.num_samples` samples passes",
);
pub const HELD_OUT_FINAL_PASS_RATE: Metric = metric(
    "held_out/final_pass_rate",
    Unit::Fraction,
    "the pass rate after the last step, where the others are those before their step",
);
pub const HELD_OUT_GAIN: Metric = metric(
    "held_out/gain",
    Unit::Number,
    "mean over held-out tasks of the newest pass rate less that of the first measurement",
);
pub const HELD_OUT_GAIN_ERROR: Metric =
    metric("held_out/gain_error", Unit::Number, "standard error of `held_out/gain` over tasks");
pub const HELD_OUT_NO_CODE: Metric = metric(
    "held_out/no_code",
    Unit::Fraction,
    "samples on held-out tasks without a program, averaged over tasks",
);
pub const HELD_OUT_TASKS: Metric =
    metric("held_out/tasks", Unit::Count, "held-out tasks of which a sample could be judged");
pub const TRAIN_GRAD_NORM: Metric =
    metric("train/grad_norm", Unit::Number, "norm of the whole gradient before clipping");
pub const TRAIN_LR: Metric = metric("train/lr", Unit::Number, "learning rate of the last update");
pub const TRAIN_SKIPPED_UPDATES: Metric = metric(
    "train/skipped_updates",
    Unit::Count,
    "updates that were not made because there was no gradient",
);
pub const TRAIN_CLIPPED_UPDATES: Metric = metric(
    "train/clipped_updates",
    Unit::Count,
    "updates whose gradient was clipped, by its norm or by the running median of norms",
);
pub const SFT_LOSS: Metric = metric("sft/loss", Unit::Nats, "cross-entropy on the traces, a token");
pub const SFT_GRAD_NORM: Metric =
    metric("sft/grad_norm", Unit::Number, "norm of the gradient before clipping");
pub const SFT_LR: Metric = metric("sft/lr", Unit::Number, "learning rate of the update");
pub const SFT_TOKENS: Metric =
    metric("sft/tokens", Unit::Count, "tokens of the step, prompts included");
pub const SFT_TRAINED_TOKENS: Metric =
    metric("sft/trained_tokens", Unit::Count, "tokens of the step that carry a label");
pub const RM_LOSS: Metric =
    metric("rm/loss", Unit::Loss, "Bradley-Terry loss of the step's pairs, penalty included");
pub const RM_ACCURACY: Metric = metric(
    "rm/accuracy",
    Unit::Fraction,
    "pairs of the step whose chosen reply scores higher, before the update",
);
pub const RM_MARGIN: Metric =
    metric("rm/margin", Unit::Number, "mean lead of the chosen reply's score, before the update");
pub const RM_SCORE_MEAN: Metric =
    metric("rm/score_mean", Unit::Number, "mean score of the step's replies");
pub const RM_GRAD_NORM: Metric =
    metric("rm/grad_norm", Unit::Number, "norm of the gradient of the pairs before clipping");
pub const RM_LR: Metric = metric("rm/lr", Unit::Number, "learning rate of the reward model");
pub const RM_PAIRS: Metric = metric("rm/pairs", Unit::Count, "pairs of the step");
pub const RM_TOKENS: Metric =
    metric("rm/tokens", Unit::Count, "tokens of the step's pairs, prompts included");
pub const RM_HELD_OUT_ACCURACY: Metric = metric(
    "rm/held_out_accuracy",
    Unit::Fraction,
    "held-out pairs whose chosen reply scores higher",
);
pub const RM_HELD_OUT_ACCURACY_LOW: Metric = metric(
    "rm/held_out_accuracy_low",
    Unit::Fraction,
    "lower end of the 95 % interval of `rm/held_out_accuracy`",
);
pub const RM_HELD_OUT_ACCURACY_HIGH: Metric = metric(
    "rm/held_out_accuracy_high",
    Unit::Fraction,
    "upper end of the 95 % interval of `rm/held_out_accuracy`",
);
pub const RM_HELD_OUT_MARGIN: Metric = metric(
    "rm/held_out_margin",
    Unit::Number,
    "mean lead of the chosen reply's score on held-out pairs",
);
pub const RM_HELD_OUT_CALIBRATION_ERROR: Metric = metric(
    "rm/held_out_calibration_error",
    Unit::Fraction,
    "expected calibration error of the score differences of held-out pairs",
);
pub const RM_HELD_OUT_BRIER: Metric =
    metric("rm/held_out_brier", Unit::Number, "Brier score of held-out pairs");
pub const RM_HELD_OUT_PAIRS: Metric =
    metric("rm/held_out_pairs", Unit::Count, "held-out pairs that were measured");
pub const RM_LENGTH_CORRELATION: Metric = metric(
    "rm/length_correlation",
    Unit::Number,
    "correlation of the score difference of held-out pairs with the difference of their lengths",
);
pub const RM_LABEL_LENGTH_CORRELATION: Metric = metric(
    "rm/label_length_correlation",
    Unit::Number,
    "correlation of the labels of held-out pairs with the difference of their lengths",
);
pub const RM_ACCURACY_CHOSEN_LONGER: Metric = metric(
    "rm/accuracy_chosen_longer",
    Unit::Fraction,
    "accuracy on held-out pairs whose chosen reply is the longer one",
);
pub const RM_ACCURACY_CHOSEN_SHORTER: Metric = metric(
    "rm/accuracy_chosen_shorter",
    Unit::Fraction,
    "accuracy on held-out pairs whose chosen reply is the shorter one",
);
pub const RM_CHOSEN_SHORTER_PAIRS: Metric = metric(
    "rm/chosen_shorter_pairs",
    Unit::Count,
    "measured held-out pairs whose chosen reply is the shorter one",
);
pub const DPO_LOSS: Metric =
    metric("dpo/loss", Unit::Loss, "loss of the step's pairs, before the update");
pub const DPO_ACCURACY: Metric = metric(
    "dpo/accuracy",
    Unit::Fraction,
    "pairs of the step whose chosen reply has the higher implicit reward, before the update",
);
pub const DPO_MARGIN: Metric = metric(
    "dpo/margin",
    Unit::Number,
    "mean lead of the chosen reply's implicit reward, before the update",
);
pub const DPO_CHOSEN_REWARD: Metric =
    metric("dpo/chosen_reward", Unit::Number, "mean implicit reward of the step's chosen replies");
pub const DPO_REJECTED_REWARD: Metric = metric(
    "dpo/rejected_reward",
    Unit::Number,
    "mean implicit reward of the step's rejected replies",
);
pub const DPO_CHOSEN_LOGP: Metric = metric(
    "dpo/chosen_logp",
    Unit::Nats,
    "log-probability of a chosen reply, summed over its tokens",
);
pub const DPO_REJECTED_LOGP: Metric = metric(
    "dpo/rejected_logp",
    Unit::Nats,
    "log-probability of a rejected reply, summed over its tokens",
);
pub const DPO_GRAD_NORM: Metric =
    metric("dpo/grad_norm", Unit::Number, "norm of the gradient of the pairs before clipping");
pub const DPO_LR: Metric = metric("dpo/lr", Unit::Number, "learning rate of the update");
pub const DPO_PAIRS: Metric = metric("dpo/pairs", Unit::Count, "pairs of the step");
pub const DPO_TOKENS: Metric =
    metric("dpo/tokens", Unit::Count, "tokens of the step's pairs, prompts included");
pub const DPO_HELD_OUT_ACCURACY: Metric = metric(
    "dpo/held_out_accuracy",
    Unit::Fraction,
    "held-out pairs whose chosen reply has the higher implicit reward",
);
pub const DPO_HELD_OUT_ACCURACY_LOW: Metric = metric(
    "dpo/held_out_accuracy_low",
    Unit::Fraction,
    "lower end of the 95 % interval of `dpo/held_out_accuracy`",
);
pub const DPO_HELD_OUT_ACCURACY_HIGH: Metric = metric(
    "dpo/held_out_accuracy_high",
    Unit::Fraction,
    "upper end of the 95 % interval of `dpo/held_out_accuracy`",
);
pub const DPO_HELD_OUT_MARGIN: Metric = metric(
    "dpo/held_out_margin",
    Unit::Number,
    "mean lead of the chosen reply's implicit reward on held-out pairs",
);
pub const DPO_HELD_OUT_PAIRS: Metric =
    metric("dpo/held_out_pairs", Unit::Count, "held-out pairs that were measured");
pub const PRM_LOSS: Metric =
    metric("prm/loss", Unit::Loss, "binary cross-entropy of the step's transitions");
pub const PRM_ACCURACY: Metric = metric(
    "prm/accuracy",
    Unit::Fraction,
    "transitions of the step on the right side of one half, before the update",
);
pub const PRM_POSITIVES: Metric =
    metric("prm/positives", Unit::Fraction, "transitions of the step with a positive label");
pub const PRM_PROBABILITY_MEAN: Metric = metric(
    "prm/probability_mean",
    Unit::Fraction,
    "mean probability of the step's transitions, before the update",
);
pub const PRM_GRAD_NORM: Metric = metric(
    "prm/grad_norm",
    Unit::Number,
    "norm of the gradient of the transitions before clipping",
);
pub const PRM_LR: Metric =
    metric("prm/lr", Unit::Number, "learning rate of the process reward model");
pub const PRM_TRANSITIONS: Metric =
    metric("prm/transitions", Unit::Count, "transitions of the step");
pub const PRM_TOKENS: Metric =
    metric("prm/tokens", Unit::Count, "tokens of the step's transitions");
pub const PRM_HELD_OUT_AUC: Metric = metric(
    "prm/held_out_auc",
    Unit::Number,
    "chance that a positive held-out transition has the higher probability than a negative one",
);
pub const PRM_HELD_OUT_AUC_LOW: Metric = metric(
    "prm/held_out_auc_low",
    Unit::Number,
    "lower end of the 95 % interval of `prm/held_out_auc`",
);
pub const PRM_HELD_OUT_AUC_HIGH: Metric = metric(
    "prm/held_out_auc_high",
    Unit::Number,
    "upper end of the 95 % interval of `prm/held_out_auc`",
);
pub const PRM_HELD_OUT_CALIBRATION_ERROR: Metric = metric(
    "prm/held_out_calibration_error",
    Unit::Fraction,
    "expected calibration error of the probabilities of held-out transitions",
);
pub const PRM_HELD_OUT_BRIER: Metric =
    metric("prm/held_out_brier", Unit::Number, "Brier score of held-out transitions");
pub const PRM_HELD_OUT_TRANSITIONS: Metric =
    metric("prm/held_out_transitions", Unit::Count, "held-out transitions that were measured");
pub const TIME_STEP_S: Metric = metric("time/step_s", Unit::Seconds, "the whole step");
pub const TIME_HELD_OUT_S: Metric =
    metric("time/held_out_s", Unit::Seconds, "measuring on held-out tasks");
pub const TIME_SAMPLING_S: Metric =
    metric("time/sampling_s", Unit::Seconds, "sampling, with the judging that goes on meanwhile");
pub const TIME_JUDGING_AFTER_SAMPLING_S: Metric = metric(
    "time/judging_after_sampling_s",
    Unit::Seconds,
    "waiting for the judge after sampling has ended",
);
pub const TIME_REFERENCE_S: Metric =
    metric("time/reference_s", Unit::Seconds, "log-probabilities under the reference model");
pub const TIME_LEARNING_S: Metric =
    metric("time/learning_s", Unit::Seconds, "forward, backward and update");
pub const SPEED_SAMPLED_TOKENS_PER_S: Metric =
    metric("speed/sampled_tokens_per_s", Unit::PerSecond, "sampled tokens");
pub const SPEED_PROGRAMS_PER_S: Metric =
    metric("speed/programs_per_s", Unit::PerSecond, "judged programs");

/// Every metric but those of rewards' terms.
pub const ALL: &[Metric] = &[
    GRPO_MEAN_REWARD,
    GRPO_REWARD_STD,
    GRPO_PASS_RATE,
    GRPO_POLICY_LOSS,
    GRPO_KL_LOSS,
    GRPO_KL_DIVERGENCE,
    GRPO_KL_CHARGE,
    GRPO_UPDATE_KL,
    GRPO_STALENESS_KL,
    GRPO_CLAMPED,
    GRPO_CLAMPED_FRACTION,
    GRPO_IMPORTANCE_MEAN,
    GRPO_IMPORTANCE_TRUNCATED,
    GRPO_EFFECTIVE_SAMPLE_SIZE,
    GRPO_ENTROPY,
    GRPO_RATIO_MEAN,
    GRPO_RATIO_STD,
    GRPO_CLIP_FRACTION,
    GRPO_GRAD_NORM,
    GRPO_SAMPLER_GAP,
    GRPO_DEAD_GROUPS,
    GRPO_SOLVED_GROUPS,
    GRPO_UNSOLVED_GROUPS,
    GRPO_MASKED,
    REWARD_MODEL_SCORE,
    REWARD_MODEL_LENGTH_CORRELATION,
    PROCESS_SOLVED,
    PROCESS_UNSOLVED,
    PROCESS_TRANSITIONS,
    PPO_MEAN_REWARD,
    PPO_REWARD_STD,
    PPO_PASS_RATE,
    PPO_POLICY_LOSS,
    PPO_ENTROPY,
    PPO_KL_DIVERGENCE,
    PPO_RATIO_MEAN,
    PPO_RATIO_STD,
    PPO_CLIP_FRACTION,
    PPO_VALUE_LOSS,
    PPO_VALUE_PRED_MEAN,
    PPO_EXPLAINED_VARIANCE,
    PPO_EXPLAINED_VARIANCE_TOKENS,
    PPO_MEAN_ADVANTAGE,
    PPO_MEAN_RETURN,
    PPO_REFERENCE_KL,
    PPO_KL_COEF,
    PPO_UPDATES,
    PPO_SKIPPED_MINI_BATCHES,
    PPO_SAMPLER_GAP,
    CODE_SYNTAX_SUCCESS_RATE,
    CODE_AVG_TEST_PASS_RATE,
    CODE_TIMEOUTS,
    CODE_QUALITY_SCORE,
    CODE_NO_CODE,
    CODE_IN_THINKING,
    CODE_OWN_TEST_FAILED,
    ROLLOUT_MEAN_TOKENS,
    ROLLOUT_TOKENS_PASSING,
    ROLLOUT_TOKENS_FAILING,
    ROLLOUT_REPETITION,
    ROLLOUT_TRUNCATED,
    ROLLOUT_DROPPED,
    ROLLOUT_JUDGED,
    ROLLOUT_TASKS,
    ROLLOUT_JUDGED_WHILE_SAMPLING,
    TEACHER_SFT_LOSS,
    TEACHER_SFT_GRAD_NORM,
    TEACHER_SFT_COSINE,
    TEACHER_SFT_WEIGHT,
    SELF_SFT_LOSS,
    SELF_SFT_GRAD_NORM,
    SELF_SFT_COSINE,
    SELF_SFT_WEIGHT,
    SELF_SFT_REPLAYED,
    SELF_SFT_REPLAY_TASKS,
    DISTILL_KL,
    DISTILL_GRAD_NORM,
    DISTILL_COSINE,
    DISTILL_WEIGHT,
    DISTILL_TOKENS,
    DISTILL_FAILED,
    TIME_TEACHER_S,
    HELD_OUT_PASS_RATE,
    HELD_OUT_PASS_AT_N,
    HELD_OUT_FINAL_PASS_RATE,
    HELD_OUT_GAIN,
    HELD_OUT_GAIN_ERROR,
    HELD_OUT_NO_CODE,
    HELD_OUT_TASKS,
    TRAIN_GRAD_NORM,
    TRAIN_LR,
    TRAIN_SKIPPED_UPDATES,
    TRAIN_CLIPPED_UPDATES,
    SFT_LOSS,
    SFT_GRAD_NORM,
    SFT_LR,
    SFT_TOKENS,
    SFT_TRAINED_TOKENS,
    RM_LOSS,
    RM_ACCURACY,
    RM_MARGIN,
    RM_SCORE_MEAN,
    RM_GRAD_NORM,
    RM_LR,
    RM_PAIRS,
    RM_TOKENS,
    RM_HELD_OUT_ACCURACY,
    RM_HELD_OUT_ACCURACY_LOW,
    RM_HELD_OUT_ACCURACY_HIGH,
    RM_HELD_OUT_MARGIN,
    RM_HELD_OUT_CALIBRATION_ERROR,
    RM_HELD_OUT_BRIER,
    RM_HELD_OUT_PAIRS,
    RM_LENGTH_CORRELATION,
    RM_LABEL_LENGTH_CORRELATION,
    RM_ACCURACY_CHOSEN_LONGER,
    RM_ACCURACY_CHOSEN_SHORTER,
    RM_CHOSEN_SHORTER_PAIRS,
    DPO_LOSS,
    DPO_ACCURACY,
    DPO_MARGIN,
    DPO_CHOSEN_REWARD,
    DPO_REJECTED_REWARD,
    DPO_CHOSEN_LOGP,
    DPO_REJECTED_LOGP,
    DPO_GRAD_NORM,
    DPO_LR,
    DPO_PAIRS,
    DPO_TOKENS,
    DPO_HELD_OUT_ACCURACY,
    DPO_HELD_OUT_ACCURACY_LOW,
    DPO_HELD_OUT_ACCURACY_HIGH,
    DPO_HELD_OUT_MARGIN,
    DPO_HELD_OUT_PAIRS,
    PRM_LOSS,
    PRM_ACCURACY,
    PRM_POSITIVES,
    PRM_PROBABILITY_MEAN,
    PRM_GRAD_NORM,
    PRM_LR,
    PRM_TRANSITIONS,
    PRM_TOKENS,
    PRM_HELD_OUT_AUC,
    PRM_HELD_OUT_AUC_LOW,
    PRM_HELD_OUT_AUC_HIGH,
    PRM_HELD_OUT_CALIBRATION_ERROR,
    PRM_HELD_OUT_BRIER,
    PRM_HELD_OUT_TRANSITIONS,
    TIME_STEP_S,
    TIME_HELD_OUT_S,
    TIME_SAMPLING_S,
    TIME_JUDGING_AFTER_SAMPLING_S,
    TIME_REFERENCE_S,
    TIME_LEARNING_S,
    SPEED_SAMPLED_TOKENS_PER_S,
    SPEED_PROGRAMS_PER_S,
];
