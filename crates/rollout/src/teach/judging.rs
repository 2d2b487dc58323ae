//! One program: its syntax, and what the judge sees of it.

use whetstone_core::judgement::Infrastructure;
use whetstone_core::task::Task;
use whetstone_env::python::Reading;
use whetstone_env::stack::BigStack;
use whetstone_record::batch::catch_panic;
use whetstone_record::error::LedgerError;
use whetstone_sandbox::job::{Job, Unjudged};

use super::collector::{Candidate, TraceCollector};
use super::records::Judged;

impl TraceCollector<'_> {
    /// Judges a program and keeps the verdict.
    pub(super) fn judge(&self, candidate: Candidate, stack: &BigStack) -> Result<(), LedgerError> {
        let place = candidate.place;
        let task = self.asked.tasks.get(place.task);
        let judged = match self.read(task, candidate, stack) {
            Ok(Reading::Settled(judgement)) => Some(Ok(judgement)),
            Ok(Reading::Runs(candidate)) => self.teaching.judge.map(|runtime| {
                let (program, limits) = (&candidate.program, runtime.limits);
                let job = Job { program, setup: &task.setup, tests: &task.tests, limits };
                catch_panic("reading the reply", || runtime.judge.judge(job))?
            }),
            Err(broken) => Some(Err(broken.into())),
        };
        let mut state = self.state();
        match judged {
            None => state.report.not_run += 1,
            Some(Err(Unjudged::Machine(Infrastructure(error)))) => {
                state.report.count_error(&error);
            }
            // No later run can judge it either.
            Some(Err(Unjudged::BrokenTests(problem))) => {
                state.report.count_broken_tests(&task.id, problem);
            }
            Some(Ok(judgement)) => {
                let (task, sample) = (task.id.clone(), place.sample);
                state.ledger.judged(place, Judged { task, sample, judgement })?;
            }
        }
        drop(state);
        self.finished(1);
        Ok(())
    }

    fn read(
        &self,
        task: &Task,
        candidate: Candidate,
        stack: &BigStack,
    ) -> Result<Reading, Infrastructure> {
        let program = candidate.program?;
        catch_panic("reading the reply", || self.teaching.rules.read_program(task, program, stack))
    }
}
