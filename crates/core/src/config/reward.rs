//! `[reward]`: what a judged program is worth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a judged program is worth: a weighted sum of syntax, function and quality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewardConfig {
    /// How the parts make a total: `weighted_sum` adds the three weights below;
    /// `pass_times_quality` pays `tests · (0.85 + 0.15 · quality)`, so that nothing is earned
    /// without passing tests.
    pub composite: Composite,
    /// What the hidden tests are worth: the `fraction` that passed, or `all` or nothing.
    pub tests: TestsWorth,
    /// Weight of a program that parses.
    #[schemars(range(min = 0.0))]
    pub syntax_weight: f64,
    /// Weight of the hidden tests.
    #[schemars(range(min = 0.0))]
    pub function_weight: f64,
    /// Weight of the quality score.
    #[schemars(range(min = 0.0))]
    pub quality_weight: f64,
    /// What the quality score is made of.
    pub quality: QualityWeights,
}

/// How the parts of a reward make a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Composite {
    /// Syntax, function and quality, each with its weight.
    WeightedSum,
    /// `tests · (0.85 + 0.15 · quality)`.
    PassTimesQuality,
}

/// What the hidden tests are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsWorth {
    /// The fraction of them that passed.
    Fraction,
    /// 1 if all passed, else 0.
    All,
}

/// What the quality score is made of.
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
            composite: Composite::WeightedSum,
            tests: TestsWorth::Fraction,
            syntax_weight: 0.3,
            function_weight: 0.5,
            quality_weight: 0.2,
            quality: QualityWeights::default(),
        }
    }
}

impl Default for QualityWeights {
    fn default() -> Self {
        Self { complexity: 0.4, readability: 0.3, documentation: 0.3 }
    }
}
