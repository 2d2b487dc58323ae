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

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use whetstone_core::judgement::Validation;
use whetstone_core::reward::Reward;
use whetstone_record::error::LedgerError;
use whetstone_record::journal::{self, Reader};

/// Version of the journal's records.
pub(super) const VERSION: u64 = 1;

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

/// Hands out results in the order of the lines, reading ahead as far as they are out of order.
#[derive(Debug)]
pub(super) struct InOrder {
    reader: Reader,
    ahead: HashMap<u64, Found>,
}

impl InOrder {
    /// Reads the journal at `path`, behind its header.
    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        let mut reader = journal::read(path)?;
        reader.next().transpose()?;
        Ok(Self { reader, ahead: HashMap::new() })
    }

    /// The result of line `at`: the one with a reward if `scored`, else one with an error.
    ///
    /// Lines must be asked for in order; `None` if the journal has no such result.
    pub(super) fn next(&mut self, at: u64, scored: bool) -> Result<Option<Found>, LedgerError> {
        let wanted = |result: &Found| result.error.is_none() == scored;
        if let Some(result) = self.ahead.remove(&at).filter(wanted) {
            return Ok(Some(result));
        }
        while let Some(record) = self.reader.next().transpose()? {
            let result: Found = self.reader.parse(&record)?;
            if result.line == at && wanted(&result) {
                return Ok(Some(result));
            }
            // A line that failed in one run may be done in a later one: that one counts.
            let better = !self.ahead.contains_key(&result.line) || result.error.is_none();
            if result.line > at && better {
                self.ahead.insert(result.line, result);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use whetstone_record::journal::Journal;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_their_lines_and_a_reward_beats_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(&json!({"scoring": 1})).unwrap();
        let done = |line: u64| json!({"line": line, "cpu_ms": 1.5, "validation": {}, "reward": {"total": line}});
        let failed = |line: u64| json!({"line": line, "error": "e"});
        // Lines 0, 1 and 3 failed in the first run; 1 and 3 were done in the second.
        for record in [failed(1), failed(3), done(4), failed(0), done(2), done(3), done(1)] {
            journal.append(&record).unwrap();
        }
        let mut results = InOrder::open(&path).unwrap();
        let zero = results.next(0, false).unwrap().unwrap();
        assert_eq!(zero.error.as_deref(), Some("e"));
        for line in 1..5 {
            let result = results.next(line, true).unwrap().unwrap();
            assert_eq!(result.line, line);
            assert_eq!(result.reward.unwrap().get(), format!("{{\"total\":{line}}}"));
        }
        assert!(results.next(5, true).unwrap().is_none());
    }
}
