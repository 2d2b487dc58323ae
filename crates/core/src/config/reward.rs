//! `[reward]`: what a judged program is worth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a judged program is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewardConfig {
    /// How the parts make a total: `tests` pays the hidden tests and nothing else;
    /// `weighted_sum` adds the three weights below; `pass_times_quality` pays
    /// `tests · (0.85 + 0.15 · quality)`. Every part is recorded with each reward, whether it pays
    /// or not.
    pub composite: Composite,
    /// What the hidden tests are worth: the `fraction` that passed, or `all` or nothing. Paid by the
    /// fraction of a few tests, a small model learns constants that pass one of them.
    pub tests: TestsWorth,
    /// Whether syntax and quality are paid only to programs that pass at least one hidden test.
    /// `false` gives the bare weighted sum, in which a stub that solves nothing is paid for its
    /// form; `whet config check` says how much. Where nothing is run (`--skip-runtime`) there are no
    /// tests to pass, and this setting has no effect.
    pub form_needs_pass: bool,
    /// Weight of a program that parses. Only `weighted_sum` pays it.
    #[schemars(range(min = 0.0))]
    pub syntax_weight: f64,
    /// Weight of the hidden tests in `weighted_sum`.
    #[schemars(range(min = 0.0))]
    pub function_weight: f64,
    /// Weight of the quality score. Only `weighted_sum` pays it.
    #[schemars(range(min = 0.0))]
    pub quality_weight: f64,
    /// What the quality score is made of.
    pub quality: QualityWeights,
}

/// How the parts of a reward make a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Composite {
    /// The hidden tests alone.
    Tests,
    /// Syntax, function and quality, each with its weight.
    WeightedSum,
    /// `tests · (0.85 + 0.15 · quality)`.
    PassTimesQuality,
}

/// What the hidden tests are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsWorth {
    /// `all` where the tests alone are paid (`composite = "tests"`), `fraction` in the other composites.
    Auto,
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
            composite: Composite::Tests,
            tests: TestsWorth::Auto,
            form_needs_pass: true,
            syntax_weight: 0.3,
            function_weight: 0.5,
            quality_weight: 0.2,
            quality: QualityWeights::default(),
        }
    }
}

impl RewardConfig {
    /// Whether a program that fails a hidden test is paid nothing for the others.
    pub fn needs_all_tests(&self) -> bool {
        match self.tests {
            TestsWorth::Auto => self.composite == Composite::Tests,
            TestsWorth::Fraction => false,
            TestsWorth::All => true,
        }
    }

    /// The most that a program is paid; the least is 0.
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

    /// The most that a program which passes no test is paid for its form; 0 where form needs a pass.
    ///
    /// A stub earns it: it parses, defines what the tests call, and has the best quality there is,
    /// because nothing is easier to read than a function that does nothing.
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
