//! The start of a model with other prompts: `whet eval --baseline-prompts`.
//!
//! A gain over a start that was asked in words it does not know is partly format. So the model is measured greedily with
//! several prompts, and what it is compared with is the best of them, its own prompt included. The best of several
//! measurements is partly luck, which makes the baseline higher and the gain smaller, never the other way.

use serde::{Deserialize, Serialize};

use crate::code::CodeFigures;
use crate::estimate::Estimate;
use crate::task_count::TaskCount;

/// A model with one prompt, measured greedily on the tasks of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The template as the settings name it; the text of one that is the user's own.
    pub template: String,
    /// The file of a template that is the user's own, as it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Name and digest of the prompt.
    pub prompt: String,
    /// pass@1.
    pub greedy: Estimate,
    /// Replies with code, where programs are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeFigures>,
    /// Replies that the limit on tokens cut off.
    pub cut_off: u64,
    /// Tokens of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_tokens: Option<f64>,
    /// One sample of each task, the greedy one.
    pub by_task: Vec<TaskCount>,
}

impl Baseline {
    /// What names the prompt to its user: its file, or else name and digest.
    pub fn name(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.prompt)
    }

    /// The prompt with the highest pass@1.
    pub fn best(all: &[Self]) -> Option<&Self> {
        all.iter().max_by(|one, other| one.greedy.value.total_cmp(&other.greedy.value))
    }
}
