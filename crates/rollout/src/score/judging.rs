//! The first pass: every line is read and scored, on all cores.

use std::sync::{Mutex, MutexGuard, PoisonError};

use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_env::stack::BigStack;
use whetstone_record::batch::{BatchError, Line, run};

use super::candidate::{self, Bad, Content};
use super::results::Results;
use super::sampled::Sampled;
use super::table::{Entry, EntryState};
use super::{ScoreError, Scoring, input};
use crate::scorer::Scorer;
use crate::tasks::Tasks;

/// What all threads share.
pub(super) struct FirstPass<'a> {
    pub(super) scoring: &'a Scoring<'a>,
    pub(super) tasks: &'a Tasks,
    pub(super) scorer: &'a Scorer<'a>,
    pub(super) results: Mutex<Results>,
}

impl FirstPass<'_> {
    /// Scores every line that the results do not have yet.
    pub(super) fn run(self) -> Result<Results, ScoreError> {
        let files = [self.scoring.rollouts.to_owned()];
        let mut lines = input(&files).lines();
        run(
            self.scoring.workers,
            |queue| {
                while let Some(line) = lines.next()? {
                    if !queue.offer(line.bytes.len(), line) {
                        break;
                    }
                }
                Ok::<_, BatchError>(())
            },
            |line, stack| self.line(&line, stack),
        )?;
        Ok(self.results.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self, line: &Line<'_>, stack: &BigStack) -> Result<(), BatchError> {
        match candidate::read(line, self.tasks) {
            Ok(Content::Blank) => self.set_aside(line.at, EntryState::Aside),
            Err(Bad(_)) => self.set_aside(line.at, EntryState::Rejected),
            Ok(Content::Rollout(candidate, task)) => {
                self.note_sampling(candidate.sampled);
                let rescored = candidate.rescored.is_some();
                let entry = Entry { step: candidate.step, task, rescored, ..Entry::default() };
                if !self.is_done(line.at, entry) {
                    let opened = candidate.thinking_opened;
                    // A reply with a program is judged by itself, whatever was said before.
                    let replies: Vec<_> = if self.scorer.is_program(task) {
                        vec![Reply::text(&candidate.text).after(opened)]
                    } else {
                        candidate.replies.iter().map(|turn| turn.reply(opened)).collect()
                    };
                    let scored = self.scorer.score(task, &replies, stack);
                    self.results().keep(line.at, entry, scored.map_err(Infrastructure::from))?;
                }
            }
        }
        (self.scoring.on_line)();
        Ok(())
    }

    /// Whether an earlier run has the result of a line; then its entry is completed.
    fn is_done(&self, at: u64, entry: Entry) -> bool {
        let mut results = self.results();
        let earlier = results.table.get(at);
        let is_done = earlier.state == EntryState::Scored;
        if is_done {
            let Entry { step, task, rescored, .. } = entry;
            results.table.set(at, Entry { step, task, rescored, ..earlier });
        }
        is_done
    }

    fn note_sampling(&self, sampled: Sampled) {
        let mut results = self.results();
        results.sampled = results.sampled.and(sampled);
    }

    fn set_aside(&self, at: u64, state: EntryState) {
        self.results().table.set(at, Entry { state, ..Entry::default() });
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
