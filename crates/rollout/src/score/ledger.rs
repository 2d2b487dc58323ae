//! Results while lines are judged: numbers stay in memory, the rest goes to the journal.

use std::path::Path;

use whetstone_core::judgement::{Judgement, Validation};
use whetstone_core::reward::Reward;
use whetstone_record::error::LedgerError;
use whetstone_record::journal::{self, Earlier, Journal, Reader};

use super::header::Header;
use super::records::{Done, Failed, Replayed};
use super::table::{Entry, State, Table};

/// Results of the lines so far.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) table: Table,
    journal: Journal,
}

/// A line with a reward.
#[derive(Debug)]
pub(super) struct LineScore {
    pub(super) validation: Validation,
    pub(super) reward: Reward,
    /// CPU time as it was measured.
    pub(super) cpu_ms: f64,
    pub(super) cached: bool,
}

impl LineScore {
    /// Of a line that was judged.
    pub(super) fn judged(judgement: &Judgement, reward: Reward, cached: bool) -> Self {
        let validation = Validation::from(steady(judgement));
        Self { validation, reward, cpu_ms: judgement.cpu_ms(), cached }
    }
}

impl Ledger {
    /// Opens the journal beside `output`: a new one, or that of the same scoring, ended early.
    pub(super) fn open(
        output: &Path,
        header: &Header,
        earlier: Earlier,
    ) -> Result<Self, LedgerError> {
        let differences = |head: &str| header.differences(head);
        let (journal, replay) = journal::open_beside(output, earlier, differences)?;
        let mut ledger = Self { table: Table::default(), journal };
        match replay {
            Some(records) => ledger.replay(records)?,
            None => drop(ledger.journal.append(header)?),
        }
        Ok(ledger)
    }

    /// Keeps the result of a line.
    pub(super) fn done(
        &mut self,
        at: u64,
        entry: Entry,
        outcome: &LineScore,
    ) -> Result<(), LedgerError> {
        let LineScore { validation, reward, cpu_ms, cached } = outcome;
        let (cpu_ms, cached) = (*cpu_ms, *cached);
        self.journal.append(&Done { line: at, cpu_ms, cached, validation, reward })?;
        self.table.set(at, entry.scored(&outcome.reward));
        Ok(())
    }

    /// Notes that a line could not be judged.
    pub(super) fn failed(&mut self, at: u64, entry: Entry, error: &str) -> Result<(), LedgerError> {
        self.journal.append(&Failed { line: at, error })?;
        self.table.set(at, Entry { state: State::Failed, ..entry });
        Ok(())
    }

    /// Brings the journal to the disk.
    pub(super) fn sync(&self) -> Result<(), LedgerError> {
        Ok(self.journal.sync()?)
    }

    /// Removes the journal: everything that it knows is in the output.
    pub(super) fn remove(self) -> Result<(), LedgerError> {
        Ok(self.journal.remove()?)
    }

    /// The journal's file.
    pub(super) fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Takes over what an earlier run found. Lines that failed there are open again.
    fn replay(&mut self, mut records: Reader) -> Result<(), LedgerError> {
        while let Some(record) = records.next().transpose()? {
            let replayed: Replayed = records.parse(&record)?;
            if let Some(reward) = replayed.reward {
                let (state, value) = (State::Scored, reward.total);
                let tests = reward.terms.tests.unwrap_or(f64::NAN);
                self.table.set(replayed.line, Entry { value, tests, state, ..Entry::default() });
            }
        }
        Ok(())
    }
}

/// The judgement with its time rounded down to whole seconds, and without what was answered, which may be
/// another text each time.
///
/// So the same input gives the same bytes, run after run; exact times are in the report.
fn steady(judgement: &Judgement) -> Judgement {
    let cpu_ms = (judgement.cpu_ms() / 1000.0).floor() * 1000.0;
    let judgement = judgement.clone().with_got(None);
    judgement.clone().with_cpu_ms(cpu_ms).unwrap_or(judgement)
}

#[cfg(test)]
mod tests {
    use whetstone_core::judgement::{Counts, Held, Isolation};
    use whetstone_core::verdict::Verdict;

    use super::*;

    #[test]
    fn what_a_program_answered_is_not_in_a_scored_line() {
        let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
        let counts = Counts { passed: 0, total: 1 };
        let wrong = Judgement::of_run(Verdict::Wrong { test: 0 }, counts, held).unwrap();
        assert_eq!(steady(&wrong.with_got(Some("<object at 0x7f>"))).got(), None);
    }

    #[test]
    fn times_are_cut_to_whole_seconds() {
        let cut = |cpu_ms| {
            let held = Held { cpu_ms, isolation: Isolation::Full };
            let counts = Counts { passed: 0, total: 1 };
            steady(&Judgement::of_run(Verdict::Timeout, counts, held).unwrap()).cpu_ms()
        };
        let expected = [(1.93, 0.0), (999.9, 0.0), (1000.0, 1000.0), (5012.3, 5000.0)];
        assert!(
            expected.iter().all(|&(time, whole): &(f64, f64)| (cut(time) - whole).abs() < 1e-9)
        );
    }
}
