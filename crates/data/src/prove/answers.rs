//! The answers of the judge: the journal of a validation, so that no program is judged twice.
//!
//! ```text
//! {"validation":1,"tasks":"…","runs":2,…}                 what was asked
//! {"line":7,"trial":0,"answer":{"judged":{…}}}            one program of the task in line 7
//! ```
//!
//! Findings are not kept: they follow from the answers. A program that could not be judged leaves
//! nothing here, and is judged by the next run.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use whetstone_record::batch::{BatchError, Head, Ledger, replay};

use super::Proving;
use super::decide::Answer;

/// Version of the journal's records, and of the trials that their numbers mean.
const VERSION: u64 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    asked: TrialId,
    answer: Answer,
}

/// A program of a task: the task's line, and the number of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct TrialId {
    pub(super) line: u64,
    pub(super) trial: usize,
}

/// The answers so far.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// `None` if nothing is to be kept.
    ledger: Option<Ledger>,
    /// The answers of an earlier run.
    known: HashMap<TrialId, Answer>,
}

impl Answers {
    /// Opens the journal beside `output`: a new one, or that of the same validation, ended early.
    pub(super) fn open(
        output: &Path,
        proving: &Proving<'_>,
        tasks: &str,
    ) -> Result<Self, BatchError> {
        let (ledger, records) = Ledger::open(output, proving.earlier, &head(proving, tasks))?;
        let mut known = HashMap::new();
        replay(records, |_, Record { asked, answer }| {
            known.insert(asked, answer);
            Ok::<_, BatchError>(())
        })?;
        Ok(Self { ledger: Some(ledger), known })
    }

    /// Number of programs that an earlier run judged.
    pub(super) fn known(&self) -> u64 {
        self.known.len() as u64
    }

    /// The answer of an earlier run to a program.
    pub(super) fn earlier(&self, asked: TrialId) -> Option<&Answer> {
        self.known.get(&asked)
    }

    /// Stores the answer to a program.
    pub(super) fn keep(&mut self, asked: TrialId, answer: &Answer) -> Result<(), BatchError> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        ledger.append(&Record { asked, answer: answer.clone() })?;
        Ok(())
    }

    /// Removes the journal: everything that it knows is in the output.
    pub(super) fn remove(self) -> Result<(), BatchError> {
        self.ledger.map_or(Ok(()), Ledger::remove)
    }
}

fn head(proving: &Proving<'_>, tasks: &str) -> Head {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    Head::new("validation", VERSION)
        .with("tasks", "the tasks", tasks)
        .with("runs", "`--repeats`", proving.runs)
        .with("cpu_us", "`sandbox.cpu_seconds`", micros(proving.limits.cpu))
        .with("slow_us", "`--max-cpu-share`", micros(proving.slow))
        .with("memory_bytes", "`sandbox.memory_mib`", proving.limits.memory)
        .with("judge", "the judge", proving.identity)
}

#[cfg(test)]
mod tests {
    use whetstone_sandbox::job::Limits;

    use super::*;

    #[test]
    fn the_form_of_the_journal_stays_as_it_is() {
        let limits = Limits { cpu: Duration::from_secs(5), memory: 7 };
        let proving = Proving {
            files: &[],
            out: None,
            dropped: None,
            judges: &[],
            identity: "j",
            limits,
            slow: Duration::from_millis(2),
            runs: 3,
            limit: None,
            workers: 1,
            earlier: super::super::Earlier::Resume,
            on_start: &|_| {},
            on_task: &|| {},
        };
        let written = serde_json::to_string(&head(&proving, "aa")).unwrap();
        let before = r#"{"validation":1,"tasks":"aa","runs":3,"cpu_us":5000000,"slow_us":2000,"memory_bytes":7,"judge":"j"}"#;
        assert_eq!(written, before);
        let record = r#"{"line":7,"trial":1,"answer":{"broken":"x"}}"#;
        let read: Record = serde_json::from_str(record).unwrap();
        assert_eq!(read.asked, TrialId { line: 7, trial: 1 });
        assert_eq!(serde_json::to_string(&read).unwrap(), record);
    }
}
