//! The field `validation` of a scored line: evidence of an environment, or the reason why the rollout was not judged.

use serde::{Deserialize, Serialize};

use crate::judgement::{Infrastructure, Judgement};
use crate::outcome::{Evidence, Observation};
use crate::wire::Object;

/// The field `validation` of a scored line.
#[derive(Debug, Clone, PartialEq)]
pub enum Validation {
    /// The environment's evidence.
    Seen(Evidence),
    /// It could not be judged.
    Failed(Infrastructure),
}

impl From<Judgement> for Validation {
    fn from(judgement: Judgement) -> Self {
        Self::Seen(Evidence::Program(judgement))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFailed {
    error: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNotRun {
    skipped: Skipped,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Skipped {
    Runtime,
}

impl Serialize for Validation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Seen(evidence) => evidence.serialize(serializer),
            Self::Failed(failed) => RawFailed { error: failed.0.clone() }.serialize(serializer),
        }
    }
}

impl Serialize for Evidence {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Program(judgement) => judgement.serialize(serializer),
            Self::NotRun => RawNotRun { skipped: Skipped::Runtime }.serialize(serializer),
            Self::Observed(observation) => observation.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Validation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Object::deserialize(deserializer)?;
        let text = serde_json::to_string(&object).map_err(serde::de::Error::custom)?;
        let validation = if object.get("error").is_some() {
            serde_json::from_str(&text)
                .map(|raw: RawFailed| Self::Failed(Infrastructure(raw.error)))
        } else if object.get("skipped").is_some() {
            serde_json::from_str(&text).map(|_: RawNotRun| Self::Seen(Evidence::NotRun))
        } else if object.get("solved").is_some() {
            serde_json::from_str(&text)
                .map(|seen: Observation| Self::Seen(Evidence::Observed(seen)))
        } else {
            serde_json::from_str(&text).map(|judged: Judgement| Self::from(judged))
        };
        validation.map_err(serde::de::Error::custom)
    }
}
