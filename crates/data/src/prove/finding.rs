//! The finding about a task: it is proven, or dropped for a reason.
//!
//! `detail` is text for people. It contains no measured time, so that the same task gives the same
//! bytes. For a hidden test it has its number and, if the reference fails, the expected and the
//! actual value: findings are for the author of a task, not for a model.

use serde::{Deserialize, Serialize};

/// The finding about a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Its reference passes, and no trivial answer does.
    Proven {
        /// A remaining doubt, as text.
        doubt: Option<String>,
    },
    /// It is not to be trained on.
    Dropped(Dropped),
}

/// Why a task is not proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The kind of reason.
    pub reason: Reason,
    /// The details, as text.
    pub detail: String,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The line holds no task.
    NotATask,
    /// An earlier line has the same id.
    DuplicateId,
    /// There is nothing to prove it with.
    NoReference,
    /// Its tests, or its setup, cannot be used.
    BrokenTests,
    /// Its reference fails its own tests.
    ReferenceFails,
    /// Its reference gets different verdicts from run to run.
    Flaky,
    /// Its reference needs too much of the time there is.
    TooSlow,
    /// An answer that solves nothing passes.
    TrivialPasses,
}

impl Reason {
    /// The reason's name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotATask => "not_a_task",
            Self::DuplicateId => "duplicate_id",
            Self::NoReference => "no_reference",
            Self::BrokenTests => "broken_tests",
            Self::ReferenceFails => "reference_fails",
            Self::Flaky => "flaky",
            Self::TooSlow => "too_slow",
            Self::TrivialPasses => "trivial_passes",
        }
    }

    /// Whether the reference passed all the same, each time and in time.
    pub fn reference_passes(self) -> bool {
        self == Self::TrivialPasses
    }
}

impl Dropped {
    /// A reason with its words.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}
