//! What was sampled, counted over the whole file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use whetstone_core::completion::Finish;
use whetstone_core::wire::Object;

/// Rollouts that were sampled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleSummary {
    /// The version of this report.
    pub v: u64,
    /// Where they are.
    pub out: PathBuf,
    /// The model that said them.
    pub model: String,
    /// The step that stands in the lines.
    pub step: u64,
    /// Tasks that were asked.
    pub prompts: usize,
    /// Lines.
    pub rollouts: usize,
    /// Lines that an earlier process sampled.
    pub resumed: usize,
    /// Replies that a server did not give.
    pub missing: usize,
    /// Tasks that were left out, since their prompt is too long for the model.
    pub too_long: usize,
    /// Replies that the limit on tokens cut off.
    pub cut_off: usize,
    /// Tokens of all replies; none if the generator does not tell.
    pub tokens: Option<u64>,
    /// Seconds that this process sampled.
    pub seconds: f64,
}

/// Counts over the lines.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) cut_off: usize,
    tokens: u64,
    /// Whether a line does not say how many it has.
    untold: bool,
}

/// The little of a line's `meta` that is counted.
#[derive(Default, Deserialize)]
struct Meta {
    tokens: Option<u64>,
    finish: Option<Finish>,
}

impl Counts {
    /// Counts a line that this crate wrote.
    pub(super) fn add(&mut self, line: &Object) {
        let text = line.get("meta").unwrap_or_default();
        let meta: Meta = serde_json::from_str(text).unwrap_or_default();
        self.cut_off += usize::from(meta.finish == Some(Finish::Length));
        self.tokens += meta.tokens.unwrap_or_default();
        self.untold |= meta.tokens.is_none();
    }

    pub(super) fn tokens(&self) -> Option<u64> {
        (!self.untold).then_some(self.tokens)
    }
}
