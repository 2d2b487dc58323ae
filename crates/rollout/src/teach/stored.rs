//! The journal beside the output, and what it knows.
//!
//! It is there from the first question until nothing is missing. So its presence means that a run
//! is to be resumed, and traces without one are finished, or somebody else's: those are never
//! replaced unasked.

use std::path::Path;

use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::trace::Trace;
use whetstone_core::wire::Wire;
use whetstone_record::batch::{self, BatchError, Ledger, RecordAt, replay};
use whetstone_record::journal::Reader;

use super::asked::Asked;
use super::error::TeachError;
use super::records::{Answered, Brief, Entry, Header, Judged, NewEntry, VERSION};
use super::table::{SampleId, Table};
use super::{Earlier, Teaching};

/// The journal of a run and the table of what is in it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) table: Table,
    pub(super) ledger: Ledger,
}

impl Stored {
    /// Opens the journal beside the output and takes over what is known.
    pub(super) fn open(teaching: &Teaching<'_>, asked: &Asked<'_>) -> Result<Self, TeachError> {
        let &Teaching { output, settings, earlier, .. } = teaching;
        let of_journal = match earlier {
            Earlier::Resume | Earlier::Complete => batch::Earlier::Resume,
            Earlier::Forget => batch::Earlier::Forget,
        };
        let mut theirs = None;
        let differences = |head: &str| {
            let theirs = theirs.insert(Header::of(head)?);
            Some(differences(&theirs.settings, settings))
        };
        let (ledger, records) = Ledger::open_bare(output, of_journal, differences)?;
        let mut stored = Self { table: Table::new(asked.len()), ledger };
        let begun = records.is_some();
        if begun {
            let ready = !theirs.is_some_and(|header| header.imports);
            if stored.replay(records, ready, asked)? {
                return Ok(stored);
            }
            // It was killed while it took traces over, before it asked anything.
            stored.ledger.clear()?;
            stored.table = Table::new(asked.len());
        }
        let imports = match earlier {
            Earlier::Forget => false,
            _ if !output.exists() => false,
            Earlier::Resume if !begun => {
                stored.ledger.remove()?;
                return Err(TeachError::OutputExists { path: output.to_owned() });
            }
            Earlier::Resume | Earlier::Complete => true,
        };
        if imports && let Err(err) = stored.look_through(output, asked) {
            stored.ledger.remove()?;
            return Err(err);
        }
        let header = Header { version: VERSION, imports, settings: settings.to_vec() };
        stored.ledger.append(&Entry::Teaching(header))?;
        if imports {
            stored.import(output, asked)?;
        }
        Ok(stored)
    }

    /// Keeps an answer, before anything is made of it.
    pub(super) fn answered(&mut self, task: u32, answer: &Answered) -> Result<(), BatchError> {
        let offset = self.ledger.append(&NewEntry::Answer(answer))?;
        for &sample in &answer.samples {
            self.table.store(SampleId { task, sample }, offset);
        }
        Ok(())
    }

    /// Keeps what the environment saw.
    pub(super) fn judged(&mut self, place: SampleId, judged: Judged) -> Result<(), BatchError> {
        let verdict = judged.verdict();
        self.ledger.append(&Entry::Verdict(judged))?;
        self.table.judge(place, verdict);
        Ok(())
    }

    /// Reads every trace of a file and notes it, before anything is written.
    fn look_through(&mut self, traces: &Path, asked: &Asked<'_>) -> Result<(), TeachError> {
        for read in Records::<Trace, _>::open(traces).map_err(TeachError::Traces)? {
            let Numbered { line, record: trace } = read.map_err(TeachError::Traces)?;
            let prompt = |task| asked.prompt(task).user == trace.prompt;
            let place = asked.place(&trace.task_id, trace.sample, prompt);
            let place = place.and_then(|place| {
                let new = self.table.store(place, 0);
                new.then_some(place).ok_or_else(|| "this sample stands already above".to_owned())
            });
            let foreign = |reason| TeachError::Foreign { path: traces.to_owned(), line, reason };
            self.table.judge(place.map_err(foreign)?, trace.verdict);
        }
        Ok(())
    }

    /// Writes the traces of a file into the journal, once they were looked through.
    fn import(&mut self, traces: &Path, asked: &Asked<'_>) -> Result<(), TeachError> {
        let mut count = 0;
        for read in Records::<Trace, _>::open(traces).map_err(TeachError::Traces)? {
            let trace = read.map_err(TeachError::Traces)?.record;
            let offset = self.ledger.append(&Entry::Trace(trace.to_object()))?;
            if let Some(task) = asked.tasks.find(&trace.task_id) {
                self.table.restore(SampleId { task, sample: trace.sample }, offset);
            }
            count += 1;
        }
        self.ledger.append(&Entry::Imported { traces: count })?;
        Ok(self.ledger.sync()?)
    }

    /// Takes over what an earlier run stored; `false` if it was killed before it could ask, as it
    /// was if it is never `ready`.
    fn replay(
        &mut self,
        records: Option<Reader>,
        mut ready: bool,
        asked: &Asked<'_>,
    ) -> Result<bool, TeachError> {
        let (table, path) = (&mut self.table, self.ledger.path());
        replay(records, |RecordAt { offset, line }, brief: Brief| {
            ready |= matches!(brief, Brief::Imported { .. });
            let foreign = |reason| TeachError::Foreign { path: path.to_owned(), line, reason };
            take(table, brief, offset, asked).map_err(foreign)
        })?;
        Ok(ready)
    }
}

/// Takes one record over.
fn take(table: &mut Table, brief: Brief, offset: u64, asked: &Asked<'_>) -> Result<(), String> {
    match brief {
        Brief::Teaching(_) | Brief::Imported { .. } => {}
        Brief::Trace(trace) => {
            let prompt = |task| asked.prompt(task).user == trace.prompt;
            let place = asked.place(&trace.task_id, trace.sample, prompt)?;
            table.store(place, offset);
            table.judge(place, trace.verdict);
        }
        Brief::Answer(answer) => {
            let prompt = |task: u32| asked.digest(task) == answer.prompt;
            for &sample in &answer.samples {
                table.store(asked.place(&answer.task, sample, prompt)?, offset);
            }
        }
        Brief::Verdict(judged) => {
            let place = asked.place(&judged.task, judged.sample, |_| true)?;
            table.judge(place, judged.verdict());
        }
    }
    Ok(())
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
