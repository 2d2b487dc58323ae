//! What is known of a reply to a Phaser task: what `validation` has in a scored line.

use serde::{Deserialize, Serialize};
use whetstone_core::extract::{Extraction, Origin};
use whetstone_phaser::check::{ApiFindings, Findings, Lifecycle, ParseFindings};
use whetstone_sandbox::phaser::{FailureClass, ObjectState, Run, Stage};

use super::checks::CheckResult;

/// Objects of the last frame that are kept.
pub(super) const OBJECTS: usize = 60;

/// What is known of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// How the reply is written.
    pub format: FormatFindings,
    /// Whether the program parses.
    pub parse: ParseFindings,
    /// How it uses Phaser.
    pub api: ApiFindings,
    /// Which parts of a game it has.
    pub lifecycle: Lifecycle,
    /// What came of running it; nothing of a program that was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeFindings>,
    /// The task's checks, where it was run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task: Vec<CheckResult>,
}

/// How a reply is written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormatFindings {
    /// What its plan is worth, from 0 to 1; nothing without one.
    pub plan: Option<f64>,
    /// Whether the program is in a closed block of JavaScript.
    pub block: bool,
    /// Whether there is a program at all.
    pub code: bool,
}

/// What came of running a program. It is the same in every run: CPU time and memory are not part of it, nor is what was
/// there when a program ran out of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeFindings {
    /// How far it came.
    pub stage: Stage,
    /// Whether all frames passed without a failure.
    pub ok: bool,
    /// The kind of its failure.
    pub class: Option<FailureClass>,
    /// The failure in a sentence.
    pub error: Option<String>,
    /// The line that failed.
    pub line: Option<u32>,
    /// Frames that passed.
    pub frames: u32,
    /// Scenes that were running in the last frame.
    pub scenes: Vec<String>,
    /// The number of objects of the last frame.
    pub object_count: usize,
    /// Some of them, for a drawing.
    pub objects: Vec<ObjectState>,
    /// Files that were asked for.
    pub assets: Vec<String>,
}

impl FormatFindings {
    pub(super) fn of(extraction: &Extraction<'_>, plan: Option<f64>) -> Self {
        let code = extraction.code.as_ref();
        let block = code.is_some_and(|code| code.origin == Origin::Tagged);
        Self { plan, block, code: code.is_some() }
    }
}

impl Validation {
    pub(super) fn of(format: FormatFindings, findings: Findings) -> Self {
        let Findings { parse, api, lifecycle } = findings;
        Self { format, parse, api, lifecycle, runtime: None, task: Vec::new() }
    }
}

impl From<Run> for RuntimeFindings {
    fn from(run: Run) -> Self {
        let run = if run.class == Some(FailureClass::Timeout) { out_of_time(run) } else { run };
        let object_count = run.objects.len();
        let Run { stage, ok, class, error, line, frames, scenes, mut objects, assets, .. } = run;
        objects.truncate(OBJECTS);
        Self { stage, ok, class, error, line, frames, scenes, object_count, objects, assets }
    }
}

/// A run that met a limit of time, without what it had got to: that differs from machine to machine.
fn out_of_time(run: Run) -> Run {
    Run {
        line: None,
        frames: 0,
        scenes: Vec::new(),
        objects: Vec::new(),
        assets: Vec::new(),
        ..run
    }
}
