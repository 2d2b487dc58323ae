//! The events of a run: a closed, versioned list, one record each.
//!
//! ```text
//! {"seq":3,"v":2,"time_ms":1767225600000,"type":"metrics","stage":"grpo","step":3,"values":{…},"crc":"…"}
//! ```
//!
//! Events are data, not logs: tables, pages and dashboards are readers of this list. A new event
//! type or field raises [`EVENT_VERSION`]; what an older reader does not know is an error there,
//! never skipped. Older events are read: version 2 added `alarm`.
//!
//! JSON has no NaN. A loss that is not a number is the event one most wants to find afterwards, so
//! metrics that are not finite are written as the strings `"nan"`, `"inf"` and `"-inf"` and come
//! back as such. All other numbers come back bit by bit.
//!
//! Not here: a clock. The caller that records an event passes its time.

mod metric_values;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::ReadError;
use crate::journal::{self, Record};

/// The version of the events written; those before it are read too.
pub const EVENT_VERSION: u64 = 2;

/// Bytes of an event's line that are read. Measurements of a step have a few thousand.
pub(crate) const MAX_EVENT_BYTES: usize = 4 << 20;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The run's first event.
    RunStarted {
        /// The command line that started it.
        command: String,
        /// The version of the program, with the commit if it is known.
        version: String,
        /// The seed everything random derives from.
        seed: u64,
    },
    /// The run resumed after a stop or a crash.
    RunResumed {
        /// Bytes of a torn event that were cut from the end of the journal.
        cut_bytes: u64,
        /// The last event before this one; `None` if there was none.
        last_seq: Option<u64>,
    },
    /// Measurements of one step.
    Metrics {
        /// The stage they belong to, e.g. `grpo`.
        stage: String,
        /// The optimizer step.
        step: u64,
        /// Measurements by name.
        #[serde(with = "metric_values")]
        values: BTreeMap<String, f64>,
    },
    /// A checkpoint is on the disk.
    CheckpointSaved {
        /// The step after which it was taken.
        step: u64,
        /// Path relative to the run's directory.
        path: String,
    },
    /// Something a person should look at.
    Warning {
        /// A stable name to search and count by, e.g. `sandbox_retry`.
        code: String,
        /// The message.
        message: String,
    },
    /// The training does something that a person should look at before they believe its figures.
    Alarm {
        /// The step after which it was seen.
        step: u64,
        /// A stable name to search and count by, e.g. `entropy_collapse`.
        code: String,
        /// The observation, and where to look.
        message: String,
        /// Completions of the step to look at; there may be none.
        suspects: Vec<Suspect>,
    },
    /// A check of whether the run should end, after a step.
    StopCheck {
        /// The step after which it was made.
        step: u64,
        /// Whether the run ends.
        stops: bool,
        /// The reason, or that training continues.
        reason: String,
    },
    /// The run's last event, unless it is resumed.
    RunFinished {
        /// The outcome of the run.
        outcome: Outcome,
        /// The reason; may be empty.
        message: String,
    },
}

/// A completion to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspect {
    /// Its task, as the lines of rollouts name it.
    pub prompt_id: String,
    /// Index within its group, as in the rollout records.
    pub group_id: u64,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did all it was asked to.
    Completed,
    /// It stopped with an error.
    Failed,
    /// It was asked to stop.
    Interrupted,
}

/// An event and when it happened: the payload of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedEvent {
    /// Milliseconds since 1970, UTC.
    pub time_ms: u64,
    /// The event.
    pub event: Event,
}

/// Every `type` of [`Event`].
const TYPES: [&str; 8] = [
    "run_started",
    "run_resumed",
    "metrics",
    "checkpoint_saved",
    "stop_check",
    "warning",
    "alarm",
    "run_finished",
];

/// Milliseconds since 1970 by the system's clock.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The events of the journal at `path`, each with its number.
pub fn read_events(
    path: &Path,
) -> Result<impl Iterator<Item = Result<(u64, TimedEvent), ReadError>> + use<>, ReadError> {
    let path = path.to_owned();
    Ok(journal::read(&path)?.with_limit(MAX_EVENT_BYTES).map(move |record| {
        let record = record?;
        parse(&path, &record).map(|event| (record.seq, event))
    }))
}

#[derive(Serialize)]
struct WrittenEvent<'a> {
    v: u64,
    time_ms: u64,
    #[serde(flatten)]
    event: &'a Event,
}

#[derive(Deserialize)]
struct Parsed {
    #[serde(rename = "v")]
    _version: u64,
    time_ms: u64,
    #[serde(flatten)]
    event: Event,
}

/// The fields that are checked first: with another version, the rest may have any shape.
#[derive(Deserialize)]
struct EventHead {
    v: u64,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Serialize for TimedEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { time_ms, event } = self;
        WrittenEvent { v: EVENT_VERSION, time_ms: *time_ms, event }.serialize(serializer)
    }
}

/// A record of a journal of events as one.
pub(crate) fn parse(path: &Path, record: &Record) -> Result<TimedEvent, ReadError> {
    let (path, line) = (path.to_owned(), record.line);
    match newer(&record.json) {
        Ok(Some(what)) => return Err(ReadError::Newer { path, line, what }),
        Ok(None) => {}
        Err(source) => return Err(ReadError::WrongType { path, line, source }),
    }
    serde_json::from_str(&record.json)
        .map(|Parsed { time_ms, event, .. }| TimedEvent { time_ms, event })
        .map_err(|source| ReadError::WrongType { path, line, source })
}

/// The part of this event that only a newer program knows.
fn newer(json: &str) -> serde_json::Result<Option<String>> {
    let head: EventHead = serde_json::from_str(json)?;
    if head.v > EVENT_VERSION {
        return Ok(Some(format!("events of version {}", head.v)));
    }
    if head.v == 0 {
        return Err(serde::de::Error::custom(format!("there is no version {}", head.v)));
    }
    let unknown = head.kind.filter(|kind| !TYPES.contains(&kind.as_str()));
    Ok(unknown.map(|kind| format!("an event of type `{kind}`")))
}

#[cfg(test)]
mod tests;
