//! The source of a step's rollouts: sampled by the student, or recorded in a file.

use whetstone_core::completion::SampledTokens;
use whetstone_core::config::Config;
use whetstone_core::seed::Seed;
use whetstone_rollout::collect::Group;

use super::learn::{Learner, Logps};
use crate::error::TrainError;
use crate::example::Example;
use crate::order::{Endless, shuffled};
use crate::plan::Plan;
use crate::recorded::{Recorded, TurnIndex};
use crate::rollouts::tasks::{NextStep, StepRollouts, TaskWithTraces, Tasks, number_apart};
use crate::session::{Patience, Progress};

/// The source of rollouts.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The student samples them, of these tasks.
    Tasks(&'a [TaskWithTraces<'a>]),
    /// A file has them.
    Recorded(&'a Recorded),
}

impl Source<'_> {
    /// The plan of a training on it.
    ///
    /// # Errors
    ///
    /// If there is nothing to learn from, or the settings do not allow the plan.
    pub fn plan(&self, config: &Config) -> Result<Plan, TrainError> {
        match self {
            Self::Tasks(tasks) => Plan::grpo(config, tasks.len()),
            Self::Recorded(recorded) => Plan::recorded(config, &recorded.counts),
        }
    }

    /// The rollouts of a file, if that is where they come from.
    pub(super) fn recorded(&self) -> Option<&Recorded> {
        match self {
            Self::Tasks(_) => None,
            Self::Recorded(recorded) => Some(recorded),
        }
    }
}

/// The source under way.
pub(super) enum RolloutStream<'a> {
    Tasks(Tasks<'a>),
    Recorded(Replay<'a>),
}

impl<'a> RolloutStream<'a> {
    pub(super) fn new(config: &Config, source: Source<'a>) -> Self {
        match source {
            Source::Tasks(tasks) => {
                let sampling = config.grpo_sampling();
                Self::Tasks(Tasks::new(Seed::new(config.seed), sampling, tasks))
            }
            Source::Recorded(recorded) => Self::Recorded(Replay::new(config, recorded)),
        }
    }

    /// The rollouts of a step; `None` if it was told to stop meanwhile.
    pub(super) fn next(
        &mut self,
        next: NextStep<'_>,
        learner: &Learner<'_>,
    ) -> Result<Option<StepRollouts>, TrainError> {
        let NextStep { student, collection, progress, .. } = next;
        match self {
            Self::Tasks(tasks) => tasks.sample(next),
            Self::Recorded(_) if collection.watch.stopped() => Ok(None),
            Self::Recorded(replay) => {
                let score = |examples: &[&Example]| {
                    learner.initial_logps(student, progress.step + 1, examples)
                };
                replay.next(next, &score).map(Some)
            }
        }
    }

    /// Counts what a step has taken.
    pub(super) fn count(
        &mut self,
        config: &Config,
        step_rollouts: &StepRollouts,
        progress: &mut Progress,
    ) {
        match self {
            Self::Tasks(tasks) => tasks.count(config, step_rollouts, progress),
            Self::Recorded(_) => {
                progress.count(&step_rollouts.groups, config.alive_floor(), Patience::Counts);
                progress.position += step_rollouts.consumed as u64;
            }
        }
    }
}

/// The log-probabilities of examples, under the student before its first update.
type Score<'a> = dyn Fn(&[&Example]) -> Result<Logps, TrainError> + 'a;

/// The groups of a file, shuffled anew in each epoch.
pub(super) struct Replay<'a> {
    recorded: &'a Recorded,
    order: Endless,
    seed: Seed,
}

impl<'a> Replay<'a> {
    fn new(config: &Config, recorded: &'a Recorded) -> Self {
        let seed = Seed::new(config.seed);
        let order = Endless::new(seed.derive("recorded groups", 0), recorded.groups.len());
        Self { recorded, order, seed }
    }

    fn next(&mut self, next: NextStep<'_>, score: &Score<'_>) -> Result<StepRollouts, TrainError> {
        let NextStep { plan, progress, collection, .. } = next;
        let config = collection.config;
        let mut step_rollouts = StepRollouts { is_recorded: true, ..StepRollouts::default() };
        // The last step of the last epoch takes what is left of it.
        let all = match config.training.max_steps {
            0 => plan.items * plan.epochs,
            _ => u64::MAX,
        };
        let positions = progress.position..all.min(progress.position + plan.items_per_step);
        let places: Vec<usize> =
            positions.clone().map(|position| self.order.at(position)).collect();
        let recorded = self.recorded;
        let mut logps = missing_logps(recorded, &places, score)?.into_iter();
        for (&at, position) in places.iter().zip(positions) {
            let group = replayed_group(recorded, at, &mut logps)?;
            let rows = recorded.rows.get(&group.task).map_or(&[][..], Vec::as_slice);
            let order = shuffled(self.seed.derive("traces", position), 0, rows.len());
            let count = config.dual_source.teacher_traces_per_task as usize;
            step_rollouts
                .teacher
                .extend(order.into_iter().take(count).map(|row| rows[row].clone()));
            step_rollouts.groups.push(group);
        }
        number_apart(&mut step_rollouts.groups);
        step_rollouts.consumed = places.len();
        Ok(step_rollouts)
    }
}

/// Log-probabilities of all completions that have none recorded, in their order.
fn missing_logps(
    recorded: &Recorded,
    groups: &[usize],
    score: &Score<'_>,
) -> Result<Logps, TrainError> {
    let turns = groups.iter().flat_map(|&group| recorded.unscored_of(group));
    let example = |(at, ids): (TurnIndex, &[u32])| {
        let rollout = &recorded.groups[at.group].rollouts[at.rollout];
        Example::new(&rollout.turns[at.turn].prompt, ids)
    };
    let examples: Vec<Example> = turns.map(example).collect();
    if examples.is_empty() {
        return Ok(Vec::new());
    }
    score(&examples.iter().collect::<Vec<_>>())
}

/// A group with the log-probabilities that its completions lack.
fn replayed_group(
    recorded: &Recorded,
    at: usize,
    logps: &mut impl Iterator<Item = Vec<f64>>,
) -> Result<Group, TrainError> {
    let mut group = recorded.groups[at].clone();
    for (index, ids) in recorded.unscored_of(at) {
        let logps = logps.next().unwrap_or_default().into_iter().map(narrow).collect();
        let tokens = SampledTokens::new(ids.to_vec(), logps).map_err(|err| {
            TrainError::NoNumber(format!("the student before its first update: {err}"))
        })?;
        group.rollouts[index.rollout].turns[index.turn].completion.tokens = Some(tokens);
    }
    Ok(group)
}

/// A log-probability as it was computed, without what rounding put above 0.
#[expect(clippy::cast_possible_truncation, reason = "it was computed in f32")]
fn narrow(logp: f64) -> f32 {
    if logp > 0.0 { 0.0 } else { logp as f32 }
}
