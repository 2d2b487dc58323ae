//! What a task asks of a game, as data: checks on the objects of its scenes over time.
//!
//! The format is described in `docs/reference/phaser-checks.md`. A check is evaluated over the snapshots
//! of a run; nothing of the program takes part. A program that shows nothing passes none.

mod evaluate;
mod measure;
mod raw;
mod rule;
mod select;
mod sentence;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use whetstone_sandbox::phaser::{InputScript, Trace};

pub use raw::CheckError;
use raw::{RawCheck, RawTask};
pub use rule::{Direction, Rule, Way};
pub use select::Select;

/// Checks of one task, at most.
pub const CHECKS_MAX: usize = 16;
/// Frames of one task: the usual number, and the most.
pub const FRAMES: u32 = 120;
/// Frames of one task, at most.
pub const FRAMES_MAX: u32 = 600;

/// What a task asks of a game: its input, how long it runs, and its checks. Of a task without checks no game is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawTask", into = "RawTask")]
pub struct GameTask {
    frames: u32,
    input: InputScript,
    checks: Vec<Check>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawCheck", into = "RawCheck")]
pub struct Check {
    /// What must be seen.
    pub rule: Rule,
    /// The frames in which it must be seen.
    pub during: Window,
    /// Whether it must not be seen where there is no input.
    pub needs_input: bool,
}

/// Frames from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The first frame.
    #[serde(default)]
    pub from: u32,
    /// The last frame.
    #[serde(default = "last")]
    pub to: u32,
}

fn last() -> u32 {
    u32::MAX
}

impl Default for Window {
    fn default() -> Self {
        Self { from: 0, to: last() }
    }
}

/// The snapshots that checks are evaluated over.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Of the run with input.
    pub trace: &'a Trace,
    /// Of the run without.
    pub control: Option<&'a Trace>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckResult {
    /// The check as a sentence.
    pub check: String,
    /// What came of it.
    pub outcome: CheckOutcome,
    /// Why it is not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It was seen.
    Passed,
    /// It was not.
    Failed,
    /// The run does not tell.
    NotMeasurable,
}

impl GameTask {
    /// A task, if it can be evaluated.
    pub fn new(frames: u32, input: InputScript, checks: Vec<Check>) -> Result<Self, CheckError> {
        raw::validate(frames, &input, &checks)?;
        Ok(Self { frames, input, checks })
    }

    /// Frames that its programs run for.
    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// Its input.
    pub fn input(&self) -> &InputScript {
        &self.input
    }

    /// Its checks.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Whether a run without input is needed as well.
    pub fn needs_control(&self) -> bool {
        self.checks.iter().any(|check| check.needs_input)
    }

    /// Evaluates its checks, in their order.
    pub fn evaluate(&self, evidence: Evidence<'_>) -> Vec<CheckResult> {
        self.checks.iter().map(|check| check.evaluate(evidence)).collect()
    }

    /// The results of a program of which nothing was seen.
    pub fn all_failed(&self, reason: &str) -> Vec<CheckResult> {
        let failed = |check: &Check| CheckResult {
            check: check.sentence(),
            outcome: CheckOutcome::Failed,
            reason: Some(reason.to_owned()),
        };
        self.checks.iter().map(failed).collect()
    }
}
