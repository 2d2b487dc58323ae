//! The journal beside the output, and what it knows.
//!
//! It is there from the first question until nothing is missing. So its presence means that a run
//! is to be gone on with, and traces without one are finished, or somebody else's: those are never
//! replaced unasked.

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_core::completion::Completion;
use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::prompt::Prompt;
use whetstone_core::trace::{Trace, VerdictName};
use whetstone_core::wire::Wire;
use whetstone_record::error::JournalError;
use whetstone_record::journal::{self, Journal};

use super::error::TeachError;
use super::records::{Answered, Brief, Entry, Header, Judged, VERSION, digest, parse};
use super::table::{Place, Table};
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
        let path = journal_path(output);
        let (mut journal, recovery) = Journal::open(&path)?;
        let mut begun = recovery.last_seq.is_some();
        if begun && earlier == Earlier::Forget {
            journal = emptied(journal, &path)?;
            begun = false;
        }
        let mut ledger = Self { table: Table::new(asked.digests.len()), journal };
        if begun {
            if ledger.replay(settings, asked)? {
                return Ok(ledger);
            }
            // It was killed while it took traces over, before it asked anything.
            ledger.journal = emptied(ledger.journal, &path)?;
            ledger.table = Table::new(asked.digests.len());
        }
        let imports = match earlier {
            Earlier::Forget => false,
            _ if !output.exists() => false,
            Earlier::Resume if !begun => {
                remove(&path)?;
                return Err(TeachError::OutputExists { path: output.to_owned() });
            }
            Earlier::Resume | Earlier::Complete => true,
        };
        ledger.begin(settings, imports.then_some(output), asked)?;
        Ok(ledger)
    }

    /// Keeps an answer, before anything is made of it.
    pub(super) fn answered(&mut self, task: u32, answer: Answered) -> Result<Entry, JournalError> {
        let length = |it: &Completion| it.text.len() + it.reasoning.as_ref().map_or(0, String::len);
        let bytes = answer.completions.iter().map(length).sum();
        let samples = answer.samples.clone();
        let entry = Entry::Answer(answer);
        self.journal.append(&entry)?;
        for sample in samples {
            self.table.store(Place { task, sample }, bytes);
        }
        Ok(entry)
    }

    /// Keeps what the judge saw.
    pub(super) fn judged(&mut self, place: Place, judged: Judged) -> Result<(), JournalError> {
        let verdict = VerdictName::from(judged.judgement.verdict());
        self.journal.append(&Entry::Verdict(judged))?;
        self.table.judge(place, verdict);
        Ok(())
    }

    /// Brings the journal to the disk.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        self.journal.sync()
    }

    /// The journal's file.
    pub(super) fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Records there are.
    pub(super) fn records(&self) -> u64 {
        self.journal.next_seq()
    }

    /// Writes the head of a new journal, and the traces of `earlier` behind it.
    fn begin(
        &mut self,
        settings: &[(String, String)],
        earlier: Option<&Path>,
        asked: &Asked<'_>,
    ) -> Result<(), TeachError> {
        if let Some(traces) = earlier
            && let Err(err) = self.look_through(traces, asked)
        {
            remove(self.journal.path())?;
            return Err(err);
        }
        let (imports, settings) = (earlier.is_some(), settings.to_vec());
        let header = Header { version: VERSION, imports, settings };
        self.journal.append(&Entry::Teaching(header))?;
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
            self.journal.append(&Entry::Trace(trace.to_object()))?;
            count += 1;
        }
        self.journal.append(&Entry::Imported { traces: count })?;
        self.journal.sync()?;
        Ok(())
    }

    /// Takes over what an earlier run stored; `false` if it was killed before it could ask.
    fn replay(
        &mut self,
        settings: &[(String, String)],
        asked: &Asked<'_>,
    ) -> Result<bool, TeachError> {
        let path = self.journal.path().to_owned();
        let mut reader = journal::read(&path)?;
        let first = reader.next().transpose()?;
        let first = first.and_then(|record| serde_json::from_str(&record.json).ok());
        let Some(Brief::Teaching(header)) = first.filter(is_ours) else {
            return Err(TeachError::NotOurJournal { path });
        };
        let differs = differences(&header.settings, settings);
        if !differs.is_empty() {
            return Err(TeachError::OtherSettings { path, differs });
        }
        let mut ready = !header.imports;
        while let Some(record) = reader.next().transpose()? {
            let brief: Brief = parse(&reader, &record)?;
            ready |= matches!(brief, Brief::Imported { .. });
            let taken = self.take(brief, record.json.len(), asked);
            let line = record.line;
            taken.map_err(|reason| TeachError::Foreign { path: path.clone(), line, reason })?;
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

/// The journal's name: the output's with `.journal` behind.
pub fn journal_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// Removes the journal at `path`.
pub(super) fn remove(path: &Path) -> Result<(), TeachError> {
    fs::remove_file(path).map_err(|source| TeachError::Remove { path: path.to_owned(), source })
}

/// The digests of the prompts of all tasks.
pub(super) fn digests(prompts: impl Iterator<Item = Prompt>) -> Vec<String> {
    prompts.map(|prompt| digest(&prompt)).collect()
}

/// Starts a journal over. The file goes while we hold its lock, so that nobody else has it.
fn emptied(journal: Journal, path: &Path) -> Result<Journal, TeachError> {
    remove(path)?;
    drop(journal);
    Ok(Journal::open(path)?.0)
}

fn is_ours(brief: &Brief) -> bool {
    matches!(brief, Brief::Teaching(header) if header.version == VERSION)
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
