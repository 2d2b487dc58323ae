//! `[prompt]`: the text around a problem, and where the student thinks.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;
use crate::prompt::PromptTemplate;

/// The prompt around a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptConfig {
    /// The text around the problem: `unified` asks for thinking in tags and then code, `plain` for
    /// code, `evalplus`, `qwen` and `mbpp` have the words of published figures, `completion` is the
    /// problem alone without a chat template; or the path of a template file. `auto` is the prompt that the
    /// student was trained with by whet, or else `plain`; for teachers, and for a student that
    /// learns from their traces, `unified`. A run keeps the text of a file, not its path.
    /// `docs/guides/prompts.md` describes templates.
    #[schemars(length(min = 1))]
    pub template: String,
    /// Standing instructions, as the system message. Empty: those of the template; if it has none,
    /// the model's own.
    pub system: String,
    /// Where the student thinks: in `tags` that the prompt asks for, as its chat template does
    /// (`native`, for models that know `enable_thinking`), or nowhere (`off`). `auto` is `native`
    /// for a model whose chat template can think, and `off` for any other.
    pub thinking: ThinkingMode,
    /// A text that the answer begins with, e.g. up to an opened code fence; the student continues
    /// it, and none of its tokens is trained. Empty: that of the template.
    pub prefill: String,
    /// Language of the prompt around the problem; the problem itself is not translated.
    pub language: PromptLanguage,
}

/// The value of `prompt.template` that is decided when the student is known.
pub const AUTO: &str = "auto";

/// Language of the prompt around a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptLanguage {
    /// English.
    En,
    /// Chinese.
    Zh,
}

/// Where a student thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingMode {
    /// Decided by the model's chat template.
    Auto,
    /// In `<think>` tags that the prompt asks for.
    Tags,
    /// As the model's own chat template has it.
    Native,
    /// Nowhere: the answer alone.
    Off,
}

impl fmt::Display for ThinkingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Tags => "tags",
            Self::Native => "native",
            Self::Off => "off",
        })
    }
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self {
            template: AUTO.to_owned(),
            system: String::new(),
            thinking: ThinkingMode::Auto,
            prefill: String::new(),
            language: PromptLanguage::En,
        }
    }
}

impl PromptConfig {
    /// Whether the model decides about the template and about thinking.
    pub fn is_auto(&self) -> bool {
        self.template == AUTO && self.thinking == ThinkingMode::Auto
    }

    /// A template that cannot be used.
    pub(super) fn problem(&self) -> Option<Problem> {
        let message = PromptTemplate::of(self).err()?.to_string();
        Some(Problem {
            key: "prompt.template",
            message,
            hint: "`whet prompt show --template plain --source` prints a template to begin with",
        })
    }
}
