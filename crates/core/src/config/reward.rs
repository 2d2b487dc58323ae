//! `[reward]`: rewards of judged programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;

/// How a judged program is rewarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewardConfig {
    /// How terms are combined: `tests` rewards the hidden tests only; `weighted_sum` adds three
    /// weighted terms; `pass_times_quality` is `tests · (0.85 + 0.15 · quality)`. Every term is
    /// recorded with each reward, whether it counts or not.
    pub composite: Composite,
    /// Value of the hidden tests: the `fraction` that passed, or 1 only if `all` passed. With few
    /// tests and `fraction`, a small model learns to return constants that pass one of them.
    pub tests: TestsWorth,
    /// Whether syntax and quality count only for programs that pass at least one hidden test. With
    /// `false`, a stub that solves nothing is rewarded for its form; `whet config check` shows how
    /// much. Without test runs (`--skip-runtime`) this setting has no effect.
    pub form_needs_pass: bool,
    /// Weight of a program that parses; used by `weighted_sum` only.
    #[schemars(range(min = 0.0))]
    pub syntax_weight: f64,
    /// Weight of the hidden tests; used by `weighted_sum` only.
    #[schemars(range(min = 0.0))]
    pub function_weight: f64,
    /// Weight of the quality score; used by `weighted_sum` only.
    #[schemars(range(min = 0.0))]
    pub quality_weight: f64,
    /// Weights within the quality score.
    pub quality: QualityWeights,
    /// The directory of a reward model, which pays beside the terms above (`whet train rm` makes one);
    /// empty for none. Its normalised score is paid through the logistic function, from 0 to 1.
    pub model: String,
    /// Whether a reward model may pay whose order of held-out pairs was not clearly better than chance
    /// (`--accept-weak-reward-model`). Its rewards are close to noise, so without this it is refused.
    pub accept_weak_model: bool,
    /// Weight of the reward model, against `composite_weight`. The total is divided by the sum of both.
    #[schemars(range(min = 0.0))]
    pub model_weight: f64,
    /// Weight of the terms above where a reward model pays too; 0 pays by the reward model alone. Gates
    /// cap the total in any case.
    #[schemars(range(min = 0.0))]
    pub composite_weight: f64,
    /// The directory of a process reward model (`whet train prm` makes one), which pays for the
    /// transitions of an episode beside its environment; empty for none. The term is the mean probability
    /// of its transitions; an episode that was not solved is never lifted above 0.19 by it.
    pub process: String,
    /// Weight of the process: it is added to what the environment pays. With `grpo.advantage_by =
    /// "step"` it is the weight of the turns to come. More than 0.2 would only reach the bound of
    /// unsolved episodes.
    #[schemars(range(min = 0.0, max = 0.2))]
    pub process_weight: f64,
}

/// How the terms of a reward are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Composite {
    /// The hidden tests only.
    Tests,
    /// The weighted sum of syntax, hidden tests and quality.
    WeightedSum,
    /// `tests · (0.85 + 0.15 · quality)`.
    PassTimesQuality,
}

/// The value of the hidden tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsWorth {
    /// `all` with `composite = "tests"`, `fraction` with the other composites.
    Auto,
    /// The fraction of tests that passed.
    Fraction,
    /// 1 if all passed, else 0.
    All,
}

/// Weights within the quality score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QualityWeights {
    /// Weight of low complexity.
    #[schemars(range(min = 0.0))]
    pub complexity: f64,
    /// Weight of readability.
    #[schemars(range(min = 0.0))]
    pub readability: f64,
    /// Weight of documentation.
    #[schemars(range(min = 0.0))]
    pub documentation: f64,
}

impl Default for RewardConfig {
    fn default() -> Self {
        Self {
            composite: Composite::Tests,
            tests: TestsWorth::Auto,
            form_needs_pass: true,
            syntax_weight: 0.3,
            function_weight: 0.5,
            quality_weight: 0.2,
            quality: QualityWeights::default(),
            model: String::new(),
            accept_weak_model: false,
            model_weight: 1.0,
            composite_weight: 1.0,
            process: String::new(),
            process_weight: 0.1,
        }
    }
}

impl RewardConfig {
    /// Combinations of this section's keys that cannot work.
    pub(super) fn problems(&self) -> Option<Problem> {
        (!self.model.is_empty() && !self.process.is_empty()).then(|| Problem {
            key: "reward.process",
            message:
                "a reward model changes what a solved episode is paid at least, which the bound \
                      of the process relies on"
                    .to_owned(),
            hint: "set `reward.model` or `reward.process`, and leave the other empty",
        })
    }

    /// Whether a program that fails a hidden test gets nothing for the others.
    pub fn needs_all_tests(&self) -> bool {
        match self.tests {
            TestsWorth::Auto => self.composite == Composite::Tests,
            TestsWorth::Fraction => false,
            TestsWorth::All => true,
        }
    }

    /// The maximum reward of a program; the minimum is 0.
    pub fn range(&self) -> f64 {
        match self.composite {
            Composite::Tests | Composite::PassTimesQuality => 1.0,
            Composite::WeightedSum => {
                self.syntax_weight.max(0.0)
                    + self.function_weight.max(0.0)
                    + self.quality_weight.max(0.0)
            }
        }
    }

    /// The maximum reward of a program that passes no test; 0 if form needs a pass.
    ///
    /// A stub earns it: it parses, defines the entry point, and has the maximum quality score.
    pub fn paid_to_a_stub(&self) -> f64 {
        if self.composite == Composite::WeightedSum && !self.form_needs_pass {
            self.syntax_weight.max(0.0) + self.quality_weight.max(0.0)
        } else {
            0.0
        }
    }
}

impl Default for QualityWeights {
    fn default() -> Self {
        Self { complexity: 0.4, readability: 0.3, documentation: 0.3 }
    }
}
