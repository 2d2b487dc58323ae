//! Results while lines are judged: numbers stay in memory, the rest goes to the journal.

use whetstone_core::judgement::{Infrastructure, Judgement, Validation};
use whetstone_core::outcome::{Evidence, Outcome};
use whetstone_record::batch::{BatchError, Head, Ledger, replay};

use super::Scoring;
use super::records::{Done, Failed, Found, Replayed};
use super::sampled::Sampled;
use super::table::{Entry, EntryState, Table};
use crate::scorer::Scored;

/// Results of the lines so far.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) table: Table,
    pub(super) ledger: Ledger,
    /// How the lines that were read were sampled.
    pub(super) sampled: Sampled,
}

impl Results {
    /// Opens the journal beside the output: a new one, or that of the same scoring, ended early.
    /// Lines that failed there are open again.
    pub(super) fn open(scoring: &Scoring<'_>, head: &Head) -> Result<Self, BatchError> {
        let (ledger, records) = Ledger::open(scoring.output, scoring.earlier, head)?;
        let mut table = Table::default();
        replay(records, |at, Replayed { line, reward }| {
            if let Some(reward) = reward {
                let tests = reward.terms.tests.unwrap_or(f64::NAN);
                let (state, value, offset) = (EntryState::Scored, reward.total, at.offset);
                table.set(line, Entry { value, tests, offset, state, ..Entry::default() });
            }
            Ok::<_, BatchError>(())
        })?;
        Ok(Self { table, ledger, sampled: Sampled::default() })
    }

    /// Keeps the result of a line.
    pub(super) fn keep(
        &mut self,
        at: u64,
        entry: Entry,
        scored: Result<Scored, Infrastructure>,
    ) -> Result<(), BatchError> {
        let entry = match scored {
            Ok(Scored { outcome: Outcome { evidence, reward }, cached }) => {
                let cpu_ms = evidence.judgement().map_or(0.0, Judgement::cpu_ms);
                let validation = &Validation::Seen(steady(evidence));
                let record = Done { line: at, cpu_ms, cached, validation, reward: &reward };
                Entry { offset: self.ledger.append(&record)?, ..entry.scored(&reward) }
            }
            Err(Infrastructure(error)) => {
                let offset = self.ledger.append(&Failed { line: at, error: &error })?;
                Entry { state: EntryState::Failed, offset, ..entry }
            }
        };
        self.table.set(at, entry);
        Ok(())
    }

    /// The result of a line that was scored or failed.
    pub(super) fn read(&self, at: u64, entry: Entry) -> Result<Found, BatchError> {
        let found: Found = self.ledger.read(entry.offset)?;
        let is_expected =
            found.line == at && found.error.is_some() == (entry.state == EntryState::Failed);
        let lost = || BatchError::Lost { item: format!("line {}", at + 1) };
        is_expected.then_some(found).ok_or_else(lost)
    }
}

/// Evidence with its time rounded down to whole seconds, and without what was answered, which may be
/// another text each time.
///
/// So the same input gives the same bytes, run after run; exact times are in the report.
fn steady(evidence: Evidence) -> Evidence {
    let Evidence::Program(judgement) = evidence else { return evidence };
    let cpu_ms = (judgement.cpu_ms() / 1000.0).floor() * 1000.0;
    let judgement = judgement.with_got(None);
    Evidence::Program(judgement.clone().with_cpu_ms(cpu_ms).unwrap_or(judgement))
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
        let seen = steady(Evidence::Program(wrong.with_got(Some("<object at 0x7f>"))));
        assert_eq!(seen.judgement().unwrap().got(), None);
    }

    #[test]
    fn times_are_cut_to_whole_seconds() {
        let cut = |cpu_ms| {
            let held = Held { cpu_ms, isolation: Isolation::Full };
            let counts = Counts { passed: 0, total: 1 };
            let judgement = Judgement::of_run(Verdict::Timeout, counts, held).unwrap();
            steady(Evidence::Program(judgement)).judgement().unwrap().cpu_ms()
        };
        let expected = [(1.93, 0.0), (999.9, 0.0), (1000.0, 1000.0), (5012.3, 5000.0)];
        assert!(
            expected.iter().all(|&(time, whole): &(f64, f64)| (cut(time) - whole).abs() < 1e-9)
        );
    }
}
