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
use std::sync::Arc;

use whetstone_core::config::{Config, Curriculum, KlIn};
use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::judgement::Infrastructure;
use whetstone_core::outcome::Outcome;
use whetstone_core::rollout::RolloutLine;
use whetstone_core::task::{Task, TaskId};
use whetstone_rollout::collect::{End, Turn};

use self::line::Reader;
use crate::error::TrainError;
use crate::example::Example;
use crate::student::Student;

/// The groups of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorded {
    /// In the order of their first lines.
    pub(crate) groups: Vec<RecordedGroup>,
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

/// Rollouts of one task at one step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedGroup {
    pub(crate) task: TaskId,
    pub(crate) rollouts: Vec<RecordedRollout>,
    pub(crate) unjudged: Vec<(usize, Infrastructure)>,
}

/// A rollout with what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedRollout {
    pub(crate) sample: usize,
    pub(crate) turns: Vec<LearntTurn>,
    pub(crate) outcome: Outcome,
    pub(crate) end: End,
}

/// A turn, and what is known of its tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LearntTurn {
    /// With tokens, if it is learnt from and the log-probabilities of its sampler are known.
    pub(crate) turn: Turn,
    /// The tokens that it said, if it is learnt from and nobody recorded their log-probabilities.
    pub(crate) unscored: Option<Vec<u32>>,
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
            let key = (record.step, record.prompt_id.clone());
            let at = *places.entry(key).or_insert(recorded.groups.len());
            if at == recorded.groups.len() {
                recorded.groups.push(RecordedGroup::of(record.prompt_id.clone()));
            }
            reader.add(line, &record, &mut recorded.groups[at], &mut recorded.counts)?;
        }
        // A group of greedy samples alone is none.
        recorded.groups.retain(|group| !group.rollouts.is_empty() || !group.unjudged.is_empty());
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
        let rollouts = self.groups.iter().flat_map(|group| &group.rollouts);
        let mut turns = rollouts.flat_map(|rollout| &rollout.turns);
        config.grpo.importance_cap > 0.0 || turns.any(|turn| turn.unscored.is_some())
    }

    /// Whether a rollout has more than one turn.
    pub(crate) fn has_turns(&self) -> bool {
        let mut rollouts = self.groups.iter().flat_map(|group| &group.rollouts);
        rollouts.any(|rollout| rollout.turns.len() > 1)
    }

    fn count(&mut self) {
        self.counts.groups = self.groups.len();
        let sizes = self.groups.iter().map(|group| group.rollouts.len());
        self.counts.largest = sizes.max().unwrap_or(0);
    }
}

impl RecordedGroup {
    fn of(task: TaskId) -> Self {
        Self { task, rollouts: Vec::new(), unjudged: Vec::new() }
    }
}

impl LearntTurn {
    /// The prompt with the tokens that still need log-probabilities.
    pub(crate) fn unscored(&self) -> Option<Example> {
        self.unscored.as_ref().map(|ids| Example::new(&self.turn.prompt, ids))
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

/// A prompt that lines of one task share.
type Shared = Arc<[u32]>;
