//! Checks of a machine and of our own formats: what `whet doctor` looks at before it costs a training run.
//!
//! A check looks at one thing and returns a [`Finding`] with what it saw and what to do. Nothing here
//! prints. [`CHECKS`] are made on every machine; [`student`] and [`teacher`] are looked at on request.

#![forbid(unsafe_code)]

pub mod formats;
pub mod judge;
pub mod kernel;
pub mod machine;
pub mod phaser;
pub mod python;
mod replies;
pub mod student;
pub mod teacher;

use serde::Serialize;
use whetstone_core::config::Config;

/// The checks of every machine, in the order of the pipeline.
pub const CHECKS: &[fn(&Config) -> Finding] = &[
    formats::prompt,
    formats::extraction,
    formats::teacher_formats,
    python::interpreter,
    kernel::release,
    kernel::namespaces,
    kernel::landlock,
    kernel::seccomp,
    kernel::cgroups,
    judge::isolation,
    judge::self_test,
    phaser::engine,
    machine::disk,
    machine::memory,
    machine::cores,
    machine::cuda,
];

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// How it came out.
    pub status: Status,
    /// The observation.
    pub detail: String,
    /// A suggestion for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
    /// The tokens of a training row, in the check of those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<LabelledToken>,
}

/// A token of a training row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LabelledToken {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub text: String,
    /// It is a label, and not masked.
    pub trained: bool,
}

/// The status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Works.
    Pass,
    /// Works, but less well.
    Warn,
    /// Cannot work.
    Fail,
}

impl Finding {
    /// Something that works.
    pub fn pass(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, status: Status::Pass, detail: detail.into(), hint: None, tokens: Vec::new() }
    }

    /// Something that works less well, with what to do.
    pub fn warn(check: &'static str, detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            check,
            status: Status::Warn,
            detail: detail.into(),
            hint: Some(hint),
            tokens: Vec::new(),
        }
    }

    /// Something that cannot work, with what to do.
    pub fn fail(check: &'static str, detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            check,
            status: Status::Fail,
            detail: detail.into(),
            hint: Some(hint),
            tokens: Vec::new(),
        }
    }
}
