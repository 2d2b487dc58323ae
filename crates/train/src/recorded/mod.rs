//! Rollouts of a file, scored, as something to learn from: what `whet score`, `whet eval` and the runs of
//! `whet train grpo` write.
//!
//! A group is the lines with the same `step` and `prompt_id`. Rewards and their tests term are those of
//! the file; nothing is judged again. Tokens come from `meta.turns`; a line that has none is tokenized
//! from its text, behind the prompt of its task.
//!
//! What the policy that sampled gave a token is recorded (`logps`), or taken from the student before its
//! first update. The second is right only if that student sampled.
//!
//! Every line is checked before anything is learnt: an error names its line.

mod line;
mod tokens;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use whetstone_core::config::{Config, Curriculum, KlIn};
use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::rollout::RolloutLine;
use whetstone_core::task::{Task, TaskId};
use whetstone_rollout::collect::Group;

use self::line::{Reader, is_greedy};
use crate::error::TrainError;
use crate::example::Example;
use crate::student::Student;

/// The groups of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorded {
    /// In the order of their first lines. A completion has tokens if it is learnt from and the
    /// log-probabilities of its sampler are known.
    pub(crate) groups: Vec<Group>,
    /// The tokens of completions that are learnt from and have no recorded log-probabilities.
    pub(crate) unscored: BTreeMap<TurnIndex, Vec<u32>>,
    /// The teacher's rows, by task.
    pub(crate) rows: BTreeMap<TaskId, Vec<Example>>,
    /// Counts of the file's groups and rollouts.
    pub counts: RecordedCounts,
}

/// Counts of a file of rollouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordedCounts {
    /// Groups.
    pub groups: usize,
    /// Rollouts of the largest group.
    pub largest: usize,
    /// Rollouts with a reward.
    pub rollouts: usize,
    /// Rollouts without a reward, since they could not be judged.
    pub unjudged: usize,
    /// Samples with the likeliest tokens, which are left out: no policy gradient is made of them.
    pub greedy: usize,
    /// Rollouts whose program was not run: their reward is of static terms.
    pub not_run: usize,
    /// Rollouts without the log-probabilities that they were sampled with, learnt from or too long.
    pub without_logps: usize,
    /// Rollouts without token ids, which were tokenized from their text.
    pub retokenized: usize,
    /// Rollouts longer than `training.max_length`: their rewards count in their groups.
    pub too_long: usize,
    /// Rollouts that were not sampled from the whole distribution (`top_p` below 1).
    pub truncated_sampling: usize,
}

/// A turn by the indices of its group, of its rollout there, and of itself in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TurnIndex {
    pub(crate) group: usize,
    pub(crate) rollout: usize,
    pub(crate) turn: usize,
}

impl Recorded {
    /// Reads a file. `tasks` are asked for the prompts of lines without tokens.
    ///
    /// # Errors
    ///
    /// If a line is no scored rollout, belongs to another tokenizer, or was sampled in another way than
    /// the settings say; or if there is nothing to learn from.
    pub fn read(
        path: &Path,
        student: &Student,
        config: &Config,
        tasks: &[Task],
    ) -> Result<Self, TrainError> {
        let mut reader = Reader::new(path, student, config, tasks);
        let mut recorded = Self::default();
        let mut places: HashMap<(u64, TaskId), usize> = HashMap::new();
        for read in Records::<RolloutLine, _>::open(path).map_err(TrainError::Rollouts)? {
            let Numbered { line, record } = read.map_err(TrainError::Rollouts)?;
            if is_greedy(&record) {
                recorded.counts.greedy += 1;
                continue;
            }
            let key = (record.step, record.prompt_id.clone());
            let at = *places.entry(key).or_insert(recorded.groups.len());
            if at == recorded.groups.len() {
                recorded.groups.push(Group::of(record.prompt_id.clone()));
            }
            reader.add(line, &record, &mut recorded, at)?;
        }
        recorded.count();
        match recorded.counts.rollouts {
            0 => Err(TrainError::NoRollouts(path.to_owned())),
            _ => Ok(recorded),
        }
    }

    /// Adds the teacher's rows of each task.
    pub fn teach(&mut self, task: &TaskId, rows: Vec<Example>) {
        self.rows.insert(task.clone(), rows);
    }

    /// The tasks of the file, each once, in the order of their names.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        let by_name: BTreeMap<&str, &TaskId> =
            self.groups.iter().map(|group| (group.task.as_str(), &group.task)).collect();
        by_name.into_values()
    }

    /// Whether the student before its first update is asked, in the place of the sampler or beside it.
    pub(crate) fn asks_reference(&self, config: &Config) -> bool {
        config.grpo.importance_cap > 0.0 || !self.unscored.is_empty()
    }

    /// Whether a rollout has more than one turn.
    pub(crate) fn has_turns(&self) -> bool {
        let mut rollouts = self.groups.iter().flat_map(|group| &group.rollouts);
        rollouts.any(|rollout| rollout.turns.len() > 1)
    }

    /// The completions of a group without log-probabilities: where each is, and its tokens.
    pub(crate) fn unscored_of(&self, group: usize) -> impl Iterator<Item = (TurnIndex, &[u32])> {
        let first = |group| TurnIndex { group, rollout: 0, turn: 0 };
        let found = self.unscored.range(first(group)..first(group + 1));
        found.map(|(&index, ids)| (index, ids.as_slice()))
    }

    fn count(&mut self) {
        self.counts.groups = self.groups.len();
        let sizes = self.groups.iter().map(|group| group.rollouts.len());
        self.counts.largest = sizes.max().unwrap_or(0);
    }
}

/// Settings that a file of rollouts cannot serve.
///
/// # Errors
///
/// If one of them asks for what only sampling can give, or the rollouts lack what it needs.
pub fn check_settings(config: &Config, counts: &RecordedCounts) -> Result<(), TrainError> {
    let refuse = |problem: String| Err(TrainError::Settings(problem));
    if config.grpo.curriculum != Curriculum::Shuffled {
        return refuse(
            "`grpo.curriculum` orders tasks that are sampled; rollouts of a file are shuffled: set \
             `grpo.curriculum=shuffled`"
                .to_owned(),
        );
    }
    if config.dual_source.distill_weight > 0.0 && counts.retokenized > 0 {
        return refuse(format!(
            "`dual_source.distill_weight` asks a teacher about the very tokens that were sampled, and {} of {} \
             rollouts have no token ids: record them with `whet rollout --student`, or set \
             `dual_source.distill_weight=0`",
            counts.retokenized, counts.rollouts
        ));
    }
    let charged = config.grpo.kl_in == KlIn::Reward && config.grpo.kl_coef > 0.0;
    if charged && counts.without_logps > 0 {
        return refuse(format!(
            "`grpo.kl_in = \"reward\"` charges rollouts by the log-probabilities that they were sampled \
             with, and {} of {} rollouts have none: set `grpo.kl_in=loss`, or `grpo.kl_coef=0`",
            counts.without_logps, counts.rollouts
        ));
    }
    Ok(())
}
