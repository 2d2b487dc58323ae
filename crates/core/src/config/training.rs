//! `[dual_source]` and `[training]`: the learning signals and the optimizer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;

/// Weights of the four learning signals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Past successes of each task that are kept, at most; 0 turns replay off. When no rollout of a group passes
    /// and the task was solved before, its kept successes join the self-SFT rows of the step, behind the
    /// step's own best. The newest two million tokens of all tasks are kept: 8 MiB, and in a checkpoint up
    /// to 16 MiB.
    #[schemars(range(max = 64))]
    pub replay: u32,
    /// Weight of on-policy distillation: the reverse KL divergence from a teacher on the tokens that the student
    /// sampled. Every judged rollout counts, whatever it is worth. With `grpo_weight = 0` it is distillation
    /// alone: rewards are judged and shown, and not learnt from. `whet train grpo` alone reads it.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["distill"]))]
    pub distill_weight: f64,
    /// The teacher of distillation as a model on this machine, named as `student.model_name` is, or a run. It must
    /// have the student's vocabulary, is loaded beside the student and never trained. Its
    /// log-probabilities are those at temperature 1, the distribution that it was trained to have; the
    /// student's are those at `grpo.temperature`, with which it sampled.
    pub distill_teacher: String,
    /// The teacher of distillation as a server: the base address of an OpenAI-compatible server with vLLM's
    /// `prompt_logprobs`, such as `http://localhost:8000/v1`. The first model that it lists is asked. The API
    /// key, timeout, number of attempts and concurrent requests are those of `[teacher]`.
    pub distill_server: String,
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

impl DualSourceConfig {
    /// Conflicts between its keys.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let Self { distill_weight, distill_teacher, distill_server, .. } = self;
        let mut problems = Vec::new();
        let mut problem =
            |key, message: String, hint| problems.push(Problem { key, message, hint });
        let weights =
            [self.grpo_weight, self.teacher_sft_weight, self.self_sft_weight, *distill_weight];
        if weights.iter().sum::<f64>() <= 0.0 {
            let message = "all four weights are 0: there is nothing to learn from".to_owned();
            problem("dual_source", message, "give at least one of them a weight above 0");
        }
        let (has_teacher, has_server) = (!distill_teacher.is_empty(), !distill_server.is_empty());
        if *distill_weight > 0.0 && !has_teacher && !has_server {
            problem(
                "dual_source.distill_weight",
                format!("is {distill_weight}, and no teacher is named"),
                "set `dual_source.distill_teacher` to a model on this machine, or \
                 `dual_source.distill_server` to the address of a server",
            );
        }
        if has_teacher && has_server {
            problem(
                "dual_source.distill_server",
                format!("there is one teacher: `{distill_server}` or `{distill_teacher}`"),
                "leave out `dual_source.distill_teacher` or `dual_source.distill_server`",
            );
        }
        let is_http =
            distill_server.starts_with("http://") || distill_server.starts_with("https://");
        if has_server && !is_http {
            problem(
                "dual_source.distill_server",
                format!("`{distill_server}` is not an http address"),
                "write the whole base address, e.g. `http://localhost:8000/v1`",
            );
        }
        if self.replay > 0 && self.self_sft_weight <= 0.0 {
            problem(
                "dual_source.replay",
                "replayed successes are self-SFT rows, and `dual_source.self_sft_weight` is 0"
                    .to_owned(),
                "raise `dual_source.self_sft_weight`, or set `dual_source.replay = 0`",
            );
        }
        problems
    }
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
            replay: 0,
            distill_weight: 0.0,
            distill_teacher: String::new(),
            distill_server: String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(change: impl Fn(&mut DualSourceConfig)) -> Vec<&'static str> {
        let mut weights = DualSourceConfig::default();
        change(&mut weights);
        weights.problems().iter().map(|problem| problem.key).collect()
    }

    #[test]
    fn distillation_has_one_teacher() {
        let set = |weight: f64, teacher: &'static str, server: &'static str| {
            keys(move |weights| {
                weights.distill_weight = weight;
                weights.distill_teacher = teacher.to_owned();
                weights.distill_server = server.to_owned();
            })
        };
        assert_eq!(set(1.0, "", ""), ["dual_source.distill_weight"]);
        assert_eq!(set(1.0, "m", "http://h"), ["dual_source.distill_server"]);
        assert_eq!(set(1.0, "", "h:8000"), ["dual_source.distill_server"]);
        assert_eq!(set(1.0, "m", ""), [""; 0]);
        assert_eq!(set(1.0, "", "http://h"), [""; 0]);
        assert_eq!(set(0.0, "m", ""), [""; 0], "named for later");
    }

    #[test]
    fn distillation_alone_is_enough_to_learn_from() {
        let alone = |weight: f64| {
            keys(move |weights| {
                *weights = DualSourceConfig {
                    grpo_weight: 0.0,
                    teacher_sft_weight: 0.0,
                    self_sft_weight: 0.0,
                    distill_weight: weight,
                    distill_teacher: "m".to_owned(),
                    ..DualSourceConfig::default()
                };
            })
        };
        assert_eq!(alone(1.0), [""; 0]);
        assert_eq!(alone(0.0), ["dual_source"]);
    }

    #[test]
    fn replay_needs_the_source_that_it_joins() {
        let with = |self_sft_weight| {
            keys(move |weights| {
                weights.self_sft_weight = self_sft_weight;
                weights.replay = 1;
            })
        };
        assert_eq!(with(0.0), ["dual_source.replay"]);
        assert_eq!(with(0.1), [""; 0]);
    }
}
