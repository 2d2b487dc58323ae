//! Everything a user can set, one struct for each section of the file.
//!
//! The struct is the documentation: a field's doc comment is its entry in
//! `docs/reference/config.md`, its bounds stand beside it, and its default is what a config with
//! no key set means. An unknown key is an error, so a typo can never train a model. Bounds of one
//! key are in its schema attribute; what two keys must be together is in [`Config::problems`].
//!
//! One mark in the attributes is ours: `x-aliases` lists other names under which a key is
//! accepted, those of the tools people come from; one with a dot is a whole path, of another section.
//!
//! Not here: reading files, layers and `--set` (`cli` assembles a config), and sections whose
//! reader does not exist yet: a section arrives with the code that reads it.

mod algorithm;
mod around;
mod dpo;
mod grpo;
mod model;
mod ppo;
mod preset;
mod prm;
mod prompt;
mod reward;
mod rm;
mod sampling;
mod teacher;
mod training;
mod unusual;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use algorithm::{Algorithm, RatioOf};
pub use around::{
    DeviceChoice, EnvConfig, EvalConfig, HeldOutConfig, QuickstartConfig, RunConfig, SandboxConfig,
    Sanitize,
};
pub use dpo::{DpoConfig, PreferenceLoss};
pub use grpo::{
    AdvantageBy, AdvantageOf, Curriculum, DeadGroups, GrpoConfig, KlEstimator, KlIn, NormaliserBy,
};
pub use model::{Dtype, LoraConfig, Module, StudentConfig};
pub use ppo::{Critic, DiscountBy, PpoConfig};
pub use preset::Preset;
pub use prm::PrmConfig;
pub use prompt::{AUTO, PromptConfig, PromptLanguage, ThinkingMode};
pub use reward::{Composite, QualityWeights, RewardConfig, TestsWorth};
pub use rm::RmConfig;
pub use sampling::Sampling;
pub use teacher::{TeacherApi, TeacherConfig};
pub use training::{DualSourceConfig, LrScheduler, Trained, TrainingConfig};

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The seed of all random numbers in a run. The same seed gives the same bits.
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// The folder of runs, and the device that models run on.
    pub run: RunConfig,
    /// The prompt around a problem.
    pub prompt: PromptConfig,
    /// The server that writes reasoning traces for the student to learn from.
    pub teacher: TeacherConfig,
    /// The model that is trained.
    #[schemars(extend("x-aliases" = ["model"]))]
    pub student: StudentConfig,
    /// The LoRA adapter that is trained instead of the student's own weights.
    pub lora: LoraConfig,
    /// The environment in which replies are judged.
    pub env: EnvConfig,
    /// The sandbox that programs run in.
    pub sandbox: SandboxConfig,
    /// How a judged program is rewarded.
    pub reward: RewardConfig,
    /// The policy-gradient loss on groups of rollouts.
    pub grpo: GrpoConfig,
    /// The policy-gradient loss with a critic.
    pub ppo: PpoConfig,
    /// Weights of the four learning signals.
    pub dual_source: DualSourceConfig,
    /// The training of a reward model on preference pairs.
    pub rm: RmConfig,
    /// The training of a process reward model on the transitions of episodes.
    pub prm: PrmConfig,
    /// The training of the student on preference pairs.
    pub dpo: DpoConfig,
    /// The optimizer, its schedule and its batches.
    pub training: TrainingConfig,
    /// How `whet eval` samples and reports.
    pub eval: EvalConfig,
    /// Evaluation during training, on the held-out tasks that the command names, or on a few of its own.
    pub held_out: HeldOutConfig,
    /// The tasks that `whet quickstart` generates.
    pub quickstart: QuickstartConfig,
}

/// A conflict between keys that are each valid on their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key to change, e.g. `eval.k`.
    pub key: &'static str,
    /// The problem.
    pub message: String,
    /// How to fix it.
    pub hint: &'static str,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 42,
            run: RunConfig::default(),
            prompt: PromptConfig::default(),
            teacher: TeacherConfig::default(),
            student: StudentConfig::default(),
            lora: LoraConfig::default(),
            env: EnvConfig::default(),
            sandbox: SandboxConfig::default(),
            reward: RewardConfig::default(),
            grpo: GrpoConfig::default(),
            ppo: PpoConfig::default(),
            dual_source: DualSourceConfig::default(),
            rm: RmConfig::default(),
            prm: PrmConfig::default(),
            dpo: DpoConfig::default(),
            training: TrainingConfig::default(),
            eval: EvalConfig::default(),
            held_out: HeldOutConfig::default(),
            quickstart: QuickstartConfig::default(),
        }
    }
}

impl Config {
    /// All conflicts between keys; empty if the settings can run.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        problems.extend(self.dual_source.problems());
        problems.extend(self.prompt.problem());
        problems.extend(self.bad_api_url());
        problems.extend(self.bad_teachers());
        problems.extend(self.bad_device());
        problems.extend(self.eval_problems());
        problems.extend(self.adapter_problems());
        problems.extend(preset::contradictions(&self.grpo));
        problems.extend(self.grpo.problems());
        problems.extend(self.ppo.problems());
        problems.extend(self.reward.problems());
        problems.extend(self.training.problem());
        problems.extend(self.dpo.problems());
        problems
    }

    fn bad_api_url(&self) -> Option<Problem> {
        let url = &self.teacher.api_url;
        let is_http = url.starts_with("http://") || url.starts_with("https://");
        (!is_http).then(|| Problem {
            key: "teacher.api_url",
            message: format!("`{url}` is not an http address"),
            hint: "write the whole address, e.g. `http://localhost:8129/v1/chat/completions`",
        })
    }

    fn bad_teachers(&self) -> Option<Problem> {
        let models = &self.teacher.models;
        let empty = models.iter().any(|name| name.trim().is_empty());
        (empty || has_repeats(models)).then(|| Problem {
            key: "teacher.models",
            message: "a model stands twice, or has no name".to_owned(),
            hint: "list each model once, e.g. `[\"gpt-5.2-chat\", \"o4-mini\"]`",
        })
    }

    fn bad_device(&self) -> Option<Problem> {
        let message = self.run.device().err()?;
        Some(Problem {
            key: "run.device",
            message: format!("`{}` is no device: {message}", self.run.device),
            hint: "write `cpu`, or `cuda:0` for the first GPU; `whet doctor` says what there is",
        })
    }

    fn eval_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if has_repeats(&self.eval.k) {
            problems.push(Problem {
                key: "eval.k",
                message: "a value stands twice".to_owned(),
                hint: "list each k once",
            });
        }
        let samples = self.eval.num_samples;
        if let Some(k) = self.eval.k.iter().find(|&&k| k > samples) {
            problems.push(Problem {
                key: "eval.k",
                message: format!("pass@{k} needs {k} samples, and `eval.num_samples` is {samples}"),
                hint: "raise `eval.num_samples`, or list smaller values of k",
            });
        }
        problems
    }

    fn adapter_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if has_repeats(&self.lora.target_modules) {
            problems.push(Problem {
                key: "lora.target_modules",
                message: "a module stands twice".to_owned(),
                hint: "list each module once",
            });
        }
        if self.student.load_in_8bit && self.training.train == Trained::Full {
            problems.push(Problem {
                key: "student.load_in_8bit",
                message:
                    "8-bit weights are frozen, and `training.train = \"full\"` trains every weight"
                        .to_owned(),
                hint: "leave it out, or set `training.train = \"lora\"`",
            });
        }
        problems
    }

    /// The minimum spread of rewards in a live group without tests.
    pub fn alive_floor(&self) -> f64 {
        self.grpo.alive_spread * self.reward.range()
    }

    /// Settings that can run but are unlikely to be intended; empty if there are none.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut warnings = self.grpo.warnings();
        if self.student.dtype != Dtype::Bf16 {
            warnings.push(Problem {
                key: "student.dtype",
                message: "has no effect so far: the CPU computes in f32 and a GPU in bf16"
                    .to_owned(),
                hint: "leave it out",
            });
        }
        warnings.extend(unusual::warnings(self));
        let stub = self.reward.paid_to_a_stub();
        if stub > 0.0 {
            let full = stub + self.reward.function_weight.max(0.0);
            warnings.push(Problem {
                key: "reward.form_needs_pass",
                message: format!(
                    "a stub that parses and solves nothing is paid up to {stub:.2} of {full:.2}"
                ),
                hint: "set it to true, or use `reward.composite = \"tests\"`",
            });
        }
        warnings
    }

    /// Conflicts that only `whet train grpo` refuses: `whet train sft` does not read these keys.
    pub fn refused_by_grpo(&self) -> Vec<Problem> {
        let mut refused = Vec::new();
        let (training, samples) = (&self.training, self.grpo.num_samples_per_prompt);
        let (batch, pieces) =
            (training.per_device_train_batch_size, training.gradient_accumulation_steps);
        let sequences = u64::from(batch) * u64::from(pieces);
        if !sequences.is_multiple_of(u64::from(samples.max(1))) {
            refused.push(Problem {
                key: "grpo.num_samples_per_prompt",
                message: format!(
                    "`whet train grpo` refuses this: a step has {batch} × {pieces} = {sequences} \
                     sequences, which are no whole groups of {samples}"
                ),
                hint: "make `training.per_device_train_batch_size` × \
                       `training.gradient_accumulation_steps` a multiple of `grpo.num_samples_per_prompt`",
            });
        }
        let (completion, all) = (self.grpo.max_completion_length, training.max_length);
        if completion >= all {
            refused.push(Problem {
                key: "grpo.max_completion_length",
                message: format!(
                    "`whet train grpo` refuses this: {completion} tokens of a completion leave no room \
                     for a prompt in {all} (`training.max_length`)"
                ),
                hint: "lower it, or raise `training.max_length`",
            });
        }
        refused
    }
}

fn has_repeats<T: PartialEq>(list: &[T]) -> bool {
    list.iter().enumerate().any(|(at, item)| list[..at].contains(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_run() {
        assert_eq!(Config::default().problems(), []);
    }

    #[test]
    fn problems_between_keys_are_reported_all_at_once() {
        let mut config = Config::default();
        config.dual_source.grpo_weight = 0.0;
        config.dual_source.teacher_sft_weight = 0.0;
        config.dual_source.self_sft_weight = 0.0;
        config.teacher.api_url = "localhost:8129".to_owned();
        config.run.device = "gpu".to_owned();
        config.eval.k = vec![1, 5, 1];
        config.teacher.models = vec!["m".to_owned(), "m".to_owned()];
        config.lora.target_modules = vec![Module::QProj, Module::QProj];
        config.eval.num_samples = 4;
        config.student.load_in_8bit = true;
        config.training.train = Trained::Full;
        config.training.clip_to_median = 0.5;
        let keys: Vec<_> = config.problems().iter().map(|problem| problem.key).collect();
        let expected = [
            "dual_source",
            "teacher.api_url",
            "teacher.models",
            "run.device",
            "eval.k",
            "eval.k",
            "lora.target_modules",
            "student.load_in_8bit",
            "training.clip_to_median",
        ];
        assert_eq!(keys, expected);
        let said = &config.problems()[5].message;
        assert_eq!(said, "pass@5 needs 5 samples, and `eval.num_samples` is 4");
    }

    #[test]
    fn only_the_bare_weighted_sum_is_warned_of_and_the_figure_follows_the_weights() {
        let mut config = Config::default();
        assert_eq!(config.warnings(), []);
        config.reward.form_needs_pass = false;
        assert_eq!(config.warnings(), [], "`tests` pays no form");
        config.reward.composite = Composite::PassTimesQuality;
        assert_eq!(config.warnings(), []);
        config.reward.composite = Composite::WeightedSum;
        let said = |config: &Config| config.warnings()[0].message.clone();
        assert!(said(&config).ends_with("is paid up to 0.50 of 1.00"), "{}", said(&config));
        (config.reward.syntax_weight, config.reward.function_weight) = (0.1, 2.0);
        assert!(said(&config).ends_with("is paid up to 0.30 of 2.30"), "{}", said(&config));
        config.reward.form_needs_pass = true;
        assert_eq!(config.warnings(), []);
    }

    #[test]
    fn what_grpo_would_refuse_is_told_apart_from_problems_of_every_command() {
        let mut config = Config::default();
        assert_eq!(config.refused_by_grpo(), []);
        (config.grpo.num_samples_per_prompt, config.grpo.max_completion_length) = (6, 2048);
        let keys: Vec<_> = config.refused_by_grpo().iter().map(|refused| refused.key).collect();
        assert_eq!(keys, ["grpo.num_samples_per_prompt", "grpo.max_completion_length"]);
        let said = &config.refused_by_grpo()[0].message;
        assert!(said.ends_with("2 × 8 = 16 sequences, which are no whole groups of 6"), "{said}");
        assert_eq!(config.problems(), [], "`whet train sft` does not mind");
    }

    #[test]
    fn the_floor_of_a_live_group_follows_the_range_of_the_reward() {
        let mut config = Config::default();
        assert_eq!(config.alive_floor().to_bits(), 0.01_f64.to_bits());
        config.reward.composite = Composite::WeightedSum;
        (config.reward.syntax_weight, config.reward.function_weight) = (1.0, 2.5);
        config.reward.quality_weight = 0.5;
        config.grpo.alive_spread = 0.25;
        assert_eq!(config.alive_floor().to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn one_source_is_enough_to_learn_from() {
        let mut config = Config::default();
        config.dual_source.grpo_weight = 0.0;
        config.dual_source.self_sft_weight = 0.0;
        assert_eq!(config.problems(), []);
    }
}
