//! `[reward]`: what a judged program is worth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a judged program is worth: a weighted sum of syntax, function and quality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewardConfig {
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
