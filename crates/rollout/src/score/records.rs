//! The journal of a scoring: what was found so far, so that a killed run can go on.
//!
//! ```text
//! {"scoring":1,"rollouts":"…","tasks":"…","rules":"…","judge":{…},…}     what was asked
//! {"line":7,"cpu_ms":1.93,"cached":false,"validation":{…},"reward":{…}}  a line that is done
//! {"line":8,"error":"the zygote died twice"}                             a line that failed
//! ```
//!
//! Lines stand in the order they were done, which is nearly that of the file. `validation` and
//! `reward` are written as they will stand in the output; the exact time is beside them. A line
//! that failed is tried again by the next run, so it may stand here twice; a line that is done is
//! done.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use whetstone_core::judgement::{Judgement, Validation};
use whetstone_core::reward::Reward;

/// Version of the journal's records.
pub(super) const VERSION: u64 = 2;

/// What a line came to, as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Done<'a> {
    pub(super) line: u64,
    pub(super) cpu_ms: f64,
    pub(super) cached: bool,
    pub(super) validation: &'a Validation,
    pub(super) reward: &'a Reward,
}

/// A line that could not be judged, as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Failed<'a> {
    pub(super) line: u64,
    pub(super) error: &'a str,
}

/// Either, as it is read back.
#[derive(Debug, Deserialize)]
pub(super) struct Found {
    pub(super) line: u64,
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) cpu_ms: f64,
    #[serde(default)]
    pub(super) validation: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) reward: Option<Box<RawValue>>,
}

impl Found {
    /// What the judge said of a program.
    pub(super) fn judgement(&self) -> Option<Judgement> {
        serde_json::from_str(self.validation.as_deref()?.get()).ok()
    }
}

/// The little that is needed to go on.
#[derive(Debug, Deserialize)]
pub(super) struct Replayed {
    pub(super) line: u64,
    #[serde(default)]
    pub(super) reward: Option<Total>,
}

/// A reward's total, and its tests term.
#[derive(Debug, Deserialize)]
pub(super) struct Total {
    pub(super) total: f64,
    #[serde(default)]
    pub(super) terms: TestsTerm,
}

/// The tests term among the terms.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TestsTerm {
    #[serde(default)]
    pub(super) tests: Option<f64>,
}
