//! The journal beside the output, and what it knows.
//!
//! It is there from the first question until nothing is missing. So its presence means that a run
//! is to be resumed, and traces without one are finished, or somebody else's: those are never
//! replaced unasked.

use std::path::Path;

use whetstone_core::completion::Completion;
use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::prompt::Prompt;
use whetstone_core::trace::{Trace, VerdictName};
use whetstone_core::wire::Wire;
use whetstone_record::error::LedgerError;
use whetstone_record::journal::{self, Journal, Reader};

use super::error::TeachError;
use super::records::{Answered, Brief, Entry, Header, Judged, VERSION, digest};
use super::table::{SampleId, Table};
use super::{Asked, Earlier};

/// Samples of a task that are told apart: as many as can be asked for.
pub(super) const MAX_SAMPLES: u32 = 10_000;

/// The journal of a run and the table of what is in it.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) table: Table,
    journal: Journal,
}

impl Ledger {
    /// Opens the journal beside `output` and takes over what is known.
    pub(super) fn open(
        output: &Path,
        settings: &[(String, String)],
        asked: &Asked<'_>,
        earlier: Earlier,
    ) -> Result<Self, TeachError> {
        let journal_earlier = match earlier {
            Earlier::Resume | Earlier::Complete => journal::Earlier::Resume,
            Earlier::Forget => journal::Earlier::Forget,
        };
        let mut theirs = None;
        let differences = |head: &str| {
            let theirs = theirs.insert(Header::of(head)?);
            Some(differences(&theirs.settings, settings))
        };
        let (journal, replay) = journal::open_beside(output, journal_earlier, differences)?;
        let mut ledger = Self { table: Table::new(asked.digests.len()), journal };
        let begun = replay.is_some();
        if let Some(records) = replay {
            let ready = !theirs.is_some_and(|header| header.imports);
            if ledger.replay(records, ready, asked)? {
                return Ok(ledger);
            }
            // It was killed while it took traces over, before it asked anything.
            ledger.journal.clear().map_err(LedgerError::from)?;
            ledger.table = Table::new(asked.digests.len());
        }
        let imports = match earlier {
            Earlier::Forget => false,
            _ if !output.exists() => false,
            Earlier::Resume if !begun => {
                ledger.remove()?;
                return Err(TeachError::OutputExists { path: output.to_owned() });
            }
            Earlier::Resume | Earlier::Complete => true,
        };
        if imports && let Err(err) = ledger.look_through(output, asked) {
            ledger.remove()?;
            return Err(err);
        }
        ledger.begin(settings, imports.then_some(output))?;
        Ok(ledger)
    }

    /// Keeps an answer, before anything is made of it.
    pub(super) fn answered(&mut self, task: u32, answer: Answered) -> Result<Entry, LedgerError> {
        let length = |completion: &Completion| {
            completion.text.len() + completion.reasoning.as_ref().map_or(0, String::len)
        };
        let bytes = answer.completions.iter().map(length).sum();
        let samples = answer.samples.clone();
        let entry = Entry::Answer(answer);
        self.append(&entry)?;
        for sample in samples {
            self.table.store(SampleId { task, sample }, bytes);
        }
        Ok(entry)
    }

    /// Keeps what the judge saw.
    pub(super) fn judged(&mut self, place: SampleId, judged: Judged) -> Result<(), LedgerError> {
        let verdict = VerdictName::from(judged.judgement.verdict());
        self.append(&Entry::Verdict(judged))?;
        self.table.judge(place, verdict);
        Ok(())
    }

    /// Brings the journal to the disk.
    pub(super) fn sync(&self) -> Result<(), LedgerError> {
        Ok(self.journal.sync()?)
    }

    /// Removes the journal: it is not needed any more.
    pub(super) fn remove(self) -> Result<(), LedgerError> {
        Ok(self.journal.remove()?)
    }

    /// The journal's file.
    pub(super) fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Records there are.
    pub(super) fn records(&self) -> u64 {
        self.journal.next_seq()
    }

    fn append(&mut self, entry: &Entry) -> Result<(), LedgerError> {
        self.journal.append(entry)?;
        Ok(())
    }

    /// Writes the head of a new journal, and the traces of `earlier` behind it.
    fn begin(
        &mut self,
        settings: &[(String, String)],
        earlier: Option<&Path>,
    ) -> Result<(), TeachError> {
        let (imports, settings) = (earlier.is_some(), settings.to_vec());
        let header = Header { version: VERSION, imports, settings };
        self.append(&Entry::Teaching(header))?;
        if let Some(traces) = earlier {
            self.import(traces)?;
        }
        Ok(())
    }

    /// Reads every trace of a file and notes it, before anything is written.
    fn look_through(&mut self, traces: &Path, asked: &Asked<'_>) -> Result<(), TeachError> {
        for read in Records::<Trace, _>::open(traces).map_err(TeachError::Traces)? {
            let Numbered { line, record: trace } = read.map_err(TeachError::Traces)?;
            let prompt = |task| asked.prompt(task).user == trace.prompt;
            let place = asked.place(&trace.task_id, trace.sample, prompt);
            let place = place.and_then(|place| {
                let new = self.table.store(place, trace.text.len());
                new.then_some(place).ok_or_else(|| "this sample stands already above".to_owned())
            });
            let foreign = |reason| TeachError::Foreign { path: traces.to_owned(), line, reason };
            let place = place.map_err(foreign)?;
            if let Some(verdict) = trace.verdict {
                self.table.judge(place, verdict);
            }
        }
        Ok(())
    }

    fn import(&mut self, traces: &Path) -> Result<(), TeachError> {
        let mut count = 0;
        for read in Records::<Trace, _>::open(traces).map_err(TeachError::Traces)? {
            let trace = read.map_err(TeachError::Traces)?.record;
            self.append(&Entry::Trace(trace.to_object()))?;
            count += 1;
        }
        self.append(&Entry::Imported { traces: count })?;
        Ok(self.sync()?)
    }

    /// Takes over what an earlier run stored; `false` if it was killed before it could ask, as it
    /// was if it is never `ready`.
    fn replay(
        &mut self,
        mut records: Reader,
        mut ready: bool,
        asked: &Asked<'_>,
    ) -> Result<bool, TeachError> {
        while let Some(record) = records.next().transpose().map_err(LedgerError::from)? {
            let brief: Brief = records.parse(&record).map_err(LedgerError::from)?;
            ready |= matches!(brief, Brief::Imported { .. });
            let foreign = |reason| {
                let (path, line) = (records.path().to_owned(), record.line);
                TeachError::Foreign { path, line, reason }
            };
            self.take(brief, record.json.len(), asked).map_err(foreign)?;
        }
        Ok(ready)
    }

    /// Takes one record over.
    fn take(&mut self, brief: Brief, bytes: usize, asked: &Asked<'_>) -> Result<(), String> {
        match brief {
            Brief::Teaching(_) | Brief::Imported { .. } => {}
            Brief::Trace(trace) => {
                let prompt = |task| asked.prompt(task).user == trace.prompt;
                let place = asked.place(&trace.task_id, trace.sample, prompt)?;
                self.table.store(place, bytes);
                if let Some(verdict) = trace.verdict {
                    self.table.judge(place, verdict);
                }
            }
            Brief::Answer(answer) => {
                let prompt = |task: u32| asked.digests[task as usize] == answer.prompt;
                for &sample in &answer.samples {
                    self.table.store(asked.place(&answer.task, sample, prompt)?, bytes);
                }
            }
            Brief::Verdict(judged) => {
                let place = asked.place(&judged.task, judged.sample, |_| true)?;
                self.table.judge(place, judged.judgement.verdict().into());
            }
        }
        Ok(())
    }
}

/// The digests of the prompts of all tasks.
pub(super) fn digests(prompts: impl Iterator<Item = Prompt>) -> Vec<String> {
    prompts.map(|prompt| digest(&prompt)).collect()
}

/// The names of settings that do not have the same value in both.
fn differences(theirs: &[(String, String)], ours: &[(String, String)]) -> Vec<String> {
    let lacks = |list: &[(String, String)], item: &(String, String)| !list.contains(item);
    let mut names: Vec<_> = ours.iter().filter(|item| lacks(theirs, item)).collect();
    names.extend(theirs.iter().filter(|item| lacks(ours, item)));
    let mut names: Vec<_> = names.into_iter().map(|(name, _)| name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_changed_came_or_went_are_named_once() {
        let list = |items: &[(&str, &str)]| -> Vec<_> {
            items.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let theirs = list(&[("a", "1"), ("b", "2"), ("old", "x")]);
        let ours = list(&[("a", "1"), ("b", "3"), ("new", "y")]);
        assert_eq!(differences(&theirs, &ours), ["b", "new", "old"]);
        assert_eq!(differences(&ours, &ours), [""; 0]);
    }
}
