//! The journal beside the output, and what it knows.
//!
//! It is there from the first question until nothing is missing. So its presence means that a run
//! is to be resumed, and traces without one are finished, or somebody else's: those are never
//! replaced unasked.

use std::path::Path;

use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::taught::TaughtEpisode;
use whetstone_core::trace::Trace;
use whetstone_core::wire::Wire;
use whetstone_record::batch::{self, BatchError, Ledger, RecordAt, replay};
use whetstone_record::journal::Reader;

use super::asked::{Asked, NamedSample};
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
        let mut stored = Self { table: asked.table(), ledger };
        let begun = records.is_some();
        if begun {
            let ready = !theirs.is_some_and(|header| header.imports);
            if stored.replay(records, ready, asked)? {
                return Ok(stored);
            }
            // It was killed while it took traces over, before it asked anything.
            stored.ledger.clear()?;
            stored.table = stored.table.emptied();
        }
        let outputs = [Some(output), teaching.rows];
        let mut there = outputs.into_iter().flatten().filter(|path| path.exists());
        let imports = match (earlier, there.next()) {
            (Earlier::Forget, _) | (_, None) => false,
            (Earlier::Resume, Some(path)) if !begun => {
                stored.ledger.remove()?;
                return Err(TeachError::OutputExists { path: path.to_owned() });
            }
            (Earlier::Resume | Earlier::Complete, _) => output.exists(),
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

    /// Keeps an answer, before anything is made of it. Its samples are those of the task and teacher of `first`.
    pub(super) fn answered(
        &mut self,
        first: SampleId,
        answer: &Answered,
    ) -> Result<(), BatchError> {
        let offset = self.ledger.append(&NewEntry::Answer(answer))?;
        for &sample in &answer.samples {
            self.table.store(SampleId { sample, ..first }, answer.turn, offset);
        }
        Ok(())
    }

    /// Keeps what the environment saw.
    pub(super) fn judged(&mut self, place: SampleId, judged: Judged) -> Result<(), BatchError> {
        let verdict = judged.verdict();
        let offset = self.ledger.append(&Entry::Verdict(judged))?;
        self.table.judge(place, verdict, Some(offset));
        Ok(())
    }

    /// Reads every trace of a file and notes it, before anything is written.
    fn look_through(&mut self, traces: &Path, asked: &Asked<'_>) -> Result<(), TeachError> {
        for read in Records::<Trace, _>::open(traces).map_err(TeachError::Traces)? {
            let Numbered { line, record: trace } = read.map_err(TeachError::Traces)?;
            let place = place_of(&trace, asked).and_then(|place| {
                let new = self.table.store(place, 0, 0);
                new.then_some(place).ok_or_else(|| "this sample stands already above".to_owned())
            });
            let foreign = |reason| TeachError::Foreign { path: traces.to_owned(), line, reason };
            self.table.judge(place.map_err(foreign)?, trace.verdict, None);
        }
        Ok(())
    }

    /// Writes the traces of a file into the journal, once they were looked through.
    fn import(&mut self, traces: &Path, asked: &Asked<'_>) -> Result<(), TeachError> {
        let mut count = 0;
        for read in Records::<Trace, _>::open(traces).map_err(TeachError::Traces)? {
            let trace = read.map_err(TeachError::Traces)?.record;
            let offset = self.ledger.append(&Entry::Trace(trace.to_object()))?;
            if let Ok(place) = place_of(&trace, asked) {
                self.table.restore(place, offset);
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
            let (task, teacher) = (&trace.task_id, trace.teacher.as_deref());
            let place = asked.place(NamedSample { task, teacher, sample: trace.sample }, prompt)?;
            check_turns(table.is_episode(place.task), trace.episode.is_some())?;
            table.store(place, 0, offset);
            table.judge(place, trace.verdict, None);
        }
        Brief::Answer(answer) => {
            let prompt = |task: u32| asked.digest(task) == answer.prompt;
            let (task, teacher) = (&answer.task, answer.teacher.as_deref());
            for &sample in &answer.samples {
                let place = asked.place(NamedSample { task, teacher, sample }, prompt)?;
                table.store(place, answer.turn, offset);
            }
        }
        Brief::Verdict(judged) => {
            let (task, teacher) = (&judged.task, judged.teacher.as_deref());
            let named = NamedSample { task, teacher, sample: judged.sample };
            let place = asked.place(named, |_| true)?;
            table.judge(place, judged.verdict(), Some(offset));
        }
    }
    Ok(())
}

/// Where a trace of a file belongs.
fn place_of(trace: &Trace, asked: &Asked<'_>) -> Result<SampleId, String> {
    let raw = trace.rest.get("teacher").map(serde_json::from_str).transpose();
    let teacher: Option<String> = raw.map_err(|err| format!("field `teacher`: {err}"))?;
    let prompt = |task| asked.prompt(task).user == trace.prompt;
    let (task, teacher) = (&trace.task_id, teacher.as_deref());
    let place = asked.place(NamedSample { task, teacher, sample: trace.sample }, prompt)?;
    let episode = TaughtEpisode::of(trace)?;
    check_turns(asked.turns(place.task) > 1, episode.is_some())?;
    Ok(place)
}

/// A trace must be of as many turns as its task has now.
fn check_turns(several: bool, is_episode: bool) -> Result<(), String> {
    match (several, is_episode) {
        (true, false) => {
            Err("episodes of its task have several turns now, and this is one reply".to_owned())
        }
        (false, true) => {
            Err("its task has one turn now (`env.max_turns`), and this is an episode".to_owned())
        }
        _ => Ok(()),
    }
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
