//! `[run]`, `[prompt]`, `[sandbox]` and `[eval]`: the small sections around the pipeline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where runs are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// The folder with one directory for each run.
    #[schemars(length(min = 1))]
    pub dir: String,
}

/// What the model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptConfig {
    /// Language of the template around the problem; the problem itself stays as it is.
    pub language: PromptLanguage,
}

/// Language of the template around a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptLanguage {
    /// English.
    En,
    /// Chinese.
    Zh,
}

/// Where programs run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// The interpreter for Python programs: a command on the `PATH`, or a path.
    #[schemars(length(min = 1))]
    pub python: String,
}

/// How a model is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvalConfig {
    /// Values of k for which pass@k is reported.
    #[schemars(length(min = 1), inner(range(min = 1)))]
    pub k: Vec<u32>,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self { dir: "runs".to_owned() }
    }
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self { language: PromptLanguage::En }
    }
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { python: "python3".to_owned() }
    }
}

impl Default for EvalConfig {
    fn default() -> Self {
        Self { k: vec![1, 5, 10] }
    }
}
