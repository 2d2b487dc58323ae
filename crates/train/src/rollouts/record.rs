//! Every rollout in the run's journal, once, however often its step was computed.

use whetstone_core::rollout::RolloutLine;
use whetstone_core::wire::Wire;
use whetstone_record::journal::{self, Journal};
use whetstone_rollout::collect::record::{Recording, lines};

use super::Collection;
use super::collecting::rule;
use super::tasks::StepRollouts;
use crate::error::TrainError;
use crate::session::Session;
use crate::student::Student;

const FILE: &str = "rollouts.jsonl";

/// The journal of rollouts.
#[derive(Debug)]
pub(crate) struct Rollouts {
    journal: Journal,
    /// The last step in it, and how many of its rollouts.
    last: (u64, usize),
    /// Whether prompts end inside the thinking tag.
    thinking_opened: bool,
    /// The digest of the student's vocabulary.
    tokenizer: String,
}

/// What was computed of the rollouts of a step, one list for each group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimates<'a> {
    /// The advantage of each rollout.
    pub(crate) advantages: &'a [Vec<f64>],
}

impl Rollouts {
    /// Opens the run's journal and looks where it ends.
    pub(crate) fn open(session: &Session, student: &Student) -> Result<Self, TrainError> {
        let path = session.run().view().rollouts_dir().join(FILE);
        let (journal, recovery) = Journal::open(&path)?;
        let mut last = (0, 0);
        if recovery.last_seq.is_some() {
            for record in journal::read(&path)? {
                let line: Step = serde_json::from_str(&record?.json).unwrap_or_default();
                last = if line.step == last.0 { (last.0, last.1 + 1) } else { (line.step, 1) };
            }
        }
        let tokenizer = student.model.tokenizer.digest();
        Ok(Self { journal, last, thinking_opened: student.thinking_opened, tokenizer })
    }

    /// Writes the rollouts of a step that are not there yet.
    pub(crate) fn record(
        &mut self,
        step: u64,
        collection: Collection<'_>,
        step_rollouts: &StepRollouts,
        estimates: Estimates<'_>,
    ) -> Result<(), TrainError> {
        if step < self.last.0 {
            return Ok(());
        }
        let known = if step == self.last.0 { self.last.1 } else { 0 };
        let (thinking_opened, tokenizer) = (self.thinking_opened, self.tokenizer.clone());
        // Who sampled the rollouts of a file, and within which limit, is said there.
        let is_sampled = !step_rollouts.is_recorded;
        let Collection { config, sampling, .. } = collection;
        let recording = |advantages| Recording {
            step,
            rule: rule(sampling),
            max_tokens: is_sampled.then_some(sampling.max_tokens),
            model: is_sampled.then_some(&config.student.model_name),
            tokenizer: Some(&tokenizer),
            advantages,
            thinking_opened,
        };
        let groups = step_rollouts.groups.iter().zip(estimates.advantages);
        let all = groups.flat_map(|(group, advantages)| lines(group, &recording(advantages)));
        let mut written = known;
        for line in all.skip(known) {
            self.append(&line)?;
            written += 1;
        }
        self.last = (step, written);
        Ok(())
    }

    fn append(&mut self, line: &RolloutLine) -> Result<(), TrainError> {
        self.journal.append(&line.to_object())?;
        Ok(())
    }
}

/// What is looked at of a line.
#[derive(Default, serde::Deserialize)]
struct Step {
    step: u64,
}
