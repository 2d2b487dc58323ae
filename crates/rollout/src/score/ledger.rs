//! Where results go while lines are judged: their numbers into memory, the rest into the journal.

use std::path::{Path, PathBuf};

use whetstone_core::judgement::{Held, Judgement, Validation};
use whetstone_core::reward::Reward;
use whetstone_record::error::JournalError;
use whetstone_record::journal::{self, Journal};

use super::error::ScoreError;
use super::header::Header;
use super::records::{Done, Failed, Replayed, parse};
use super::table::{Entry, State, Table};

/// What is known of the lines so far.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) table: Table,
    journal: Journal,
}

/// A line with a reward.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) validation: Validation,
    pub(super) reward: Reward,
    /// CPU time as it was measured.
    pub(super) cpu_ms: f64,
    pub(super) cached: bool,
}

impl Outcome {
    /// Of a line that was judged.
    pub(super) fn judged(judgement: &Judgement, reward: Reward, cached: bool) -> Self {
        let validation = Validation::Judged(without_time(judgement));
        Self { validation, reward, cpu_ms: judgement.cpu_ms(), cached }
    }
}

impl Ledger {
    /// Opens the journal beside `output`: a new one, or that of the same scoring, ended early.
    pub(super) fn open(output: &Path, header: &Header, fresh: bool) -> Result<Self, ScoreError> {
        let path = journal_path(output);
        let (mut journal, recovery) = Journal::open(&path)?;
        if recovery.last_seq.is_some() && fresh {
            // Opened first, so that a journal in use by another process is not taken away.
            drop(journal);
            remove(&path)?;
            journal = Journal::open(&path)?.0;
        }
        let mut ledger = Self { table: Table::default(), journal };
        if ledger.journal.next_seq() == 0 {
            ledger.journal.append(header)?;
        } else {
            ledger.replay(header)?;
        }
        Ok(ledger)
    }

    /// Keeps the result of a line.
    pub(super) fn done(
        &mut self,
        at: u64,
        entry: Entry,
        outcome: &Outcome,
    ) -> Result<(), JournalError> {
        let Outcome { validation, reward, cpu_ms, cached } = outcome;
        let (cpu_ms, cached) = (*cpu_ms, *cached);
        self.journal.append(&Done { line: at, cpu_ms, cached, validation, reward })?;
        self.table.set(at, Entry { state: State::Scored, value: outcome.reward.total(), ..entry });
        Ok(())
    }

    /// Notes that a line could not be judged.
    pub(super) fn failed(
        &mut self,
        at: u64,
        entry: Entry,
        error: &str,
    ) -> Result<(), JournalError> {
        self.journal.append(&Failed { line: at, error })?;
        self.table.set(at, Entry { state: State::Failed, ..entry });
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

    /// Takes over what an earlier run found. Lines that failed there are open again.
    fn replay(&mut self, header: &Header) -> Result<(), ScoreError> {
        let path = self.journal.path().to_owned();
        let mut reader = journal::read(&path)?;
        let first = reader.next().transpose()?;
        let first = first.map(|record| record.json).unwrap_or_default();
        match header.differences(&first) {
            None => return Err(ScoreError::NotOurJournal { path }),
            Some(differs) if !differs.is_empty() => {
                return Err(ScoreError::OtherScoring { path, differs });
            }
            Some(_) => {}
        }
        while let Some(record) = reader.next().transpose()? {
            let replayed: Replayed = parse(&reader, &record)?;
            if let Some(reward) = replayed.reward {
                let (state, value) = (State::Scored, reward.total);
                self.table.set(replayed.line, Entry { value, state, ..Entry::default() });
            }
        }
        Ok(())
    }
}

/// Removes the journal at `path`.
pub(super) fn remove(path: &Path) -> Result<(), ScoreError> {
    std::fs::remove_file(path)
        .map_err(|source| ScoreError::Remove { path: path.to_owned(), source })
}

/// The journal's name: the output's with `.journal` behind.
pub(super) fn journal_path(output: &Path) -> PathBuf {
    beside(output, ".journal")
}

/// The name of `output` with `suffix` behind.
pub(super) fn beside(output: &Path, suffix: &str) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The judgement with its time rounded down to whole seconds.
///
/// So the same input gives the same bytes, run after run; exact times are in the report.
fn without_time(judgement: &Judgement) -> Judgement {
    let Some(isolation) = judgement.isolation() else { return judgement.clone() };
    let cpu_ms = (judgement.cpu_ms() / 1000.0).floor() * 1000.0;
    let held = Held { cpu_ms, isolation };
    let rounded = Judgement::of_run(judgement.verdict().clone(), judgement.counts(), held);
    rounded.unwrap_or_else(|_| judgement.clone())
}

#[cfg(test)]
mod tests {
    use whetstone_core::judgement::{Counts, Isolation};
    use whetstone_core::verdict::Verdict;

    use super::*;

    #[test]
    fn times_are_cut_to_whole_seconds() {
        let cut = |cpu_ms| {
            let held = Held { cpu_ms, isolation: Isolation::Full };
            let counts = Counts { passed: 0, total: 1 };
            without_time(&Judgement::of_run(Verdict::Timeout, counts, held).unwrap()).cpu_ms()
        };
        let expected = [(1.93, 0.0), (999.9, 0.0), (1000.0, 1000.0), (5012.3, 5000.0)];
        assert!(
            expected.iter().all(|&(time, whole): &(f64, f64)| (cut(time) - whole).abs() < 1e-9)
        );
    }
}
