//! Measures a model on tasks: several completions of each, judged and counted.
//!
//! A suite is measured in pieces. Only the counts of a finished piece are kept, so memory does not
//! grow with the suite. The samples of a task depend only on the seed and the task's name: pieces,
//! the order of tasks and additional tasks change nothing, and two models that are measured with
//! one seed use the same random numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use whetstone_algo::Mean;
use whetstone_core::completion::Finish;
use whetstone_core::completion::SampledTokens;
use whetstone_core::{Seed, Task};
use whetstone_infer::Generator;
use whetstone_rollout::collect::{
    Asked, CollectError, Collected, Collecting, Group, Progress, check_stop, collect,
};
use whetstone_rollout::measure::Tally;

use crate::error::EvalError;

/// The settings of a measurement.
pub struct Measuring<'a> {
    /// How rollouts are collected; its progress callback is replaced by `on_progress`.
    pub collecting: Collecting<'a>,
    /// Completions of each task, at least one.
    pub samples: usize,
    /// Completions of a piece; a piece has at least one task.
    pub samples_at_a_time: usize,
    /// The seed of sampling.
    pub seed: Seed,
    /// Told how far it is.
    pub on_progress: &'a dyn Fn(Sampled),
    /// Set to stop: checked before each piece.
    pub stop: &'a AtomicBool,
}

/// Progress of a measurement, in completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sampled {
    /// Those that were sampled.
    pub sampled: usize,
    /// Those that were judged, or dropped.
    pub done: usize,
    /// All that there will be.
    pub all: usize,
}

impl Sampled {
    /// Progress of a collection, after `before` completions of earlier ones.
    pub(crate) fn of(now: Progress<'_>, before: usize, all: usize) -> Self {
        let done = (before + now.over + now.dropped).min(all);
        Self { sampled: (before + now.sampled).clamp(done, all), done, all }
    }
}

/// The counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Of each task, in their order.
    pub tallies: Vec<Tally>,
    /// Number of samples per verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Completions that could not be judged, which count nowhere.
    pub unjudged: u64,
    /// Completions that the limit on tokens cut off.
    pub cut_off: u64,
    /// Tokens that were sampled.
    pub sampled_tokens: u64,
    /// Their mean surprise in nats: how undecided the model is. 0 if the generator does not tell.
    pub surprise: f64,
    /// Seconds that it took, judging included.
    pub seconds: f64,
}

/// Measures a model on tasks; `None` if it was stopped.
///
/// # Errors
///
/// If there are no tasks, or rollouts cannot be collected.
pub fn measure(
    measuring: &Measuring<'_>,
    generator: &mut dyn Generator,
    tasks: &[Task],
) -> Result<Option<Measured>, EvalError> {
    if tasks.is_empty() {
        return Err(EvalError::NoTasks);
    }
    let began = Instant::now();
    let (samples, all) = (measuring.samples.max(1), tasks.len() * measuring.samples.max(1));
    let (mut measured, mut surprise) = (Measured::default(), Mean::default());
    let mut before = 0;
    for piece in tasks.chunks((measuring.samples_at_a_time / samples).max(1)) {
        if measuring.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let on_event = |now: Progress<'_>| {
            (measuring.on_progress)(Sampled::of(now, before, all));
            check_stop(measuring.stop)
        };
        let _ = on_event(Progress::default());
        let collecting = Collecting { on_event: &on_event, ..measuring.collecting };
        let asked: Vec<Asked<'_>> =
            piece.iter().map(|task| ask(task, samples, measuring.seed)).collect();
        let collected = match collect(&collecting, generator, &asked) {
            Err(CollectError::Stopped) => return Ok(None),
            collected => collected?,
        };
        measured.add(&collected);
        logps(&collected).for_each(|logp| surprise.add(-logp));
        before += piece.len() * samples;
    }
    measured.surprise = surprise.get().unwrap_or_default();
    measured.seconds = began.elapsed().as_secs_f64();
    Ok(Some(measured))
}

/// The log-probabilities of all that was sampled, in order.
fn logps(collected: &Collected) -> impl Iterator<Item = f64> {
    let rollout = collected.groups.iter().flat_map(|group| &group.rollouts);
    let tokens = rollout
        .flat_map(|rollout| &rollout.turns)
        .filter_map(|turn| turn.completion.tokens.as_ref());
    tokens.flat_map(SampledTokens::logps).copied().map(f64::from)
}

/// A request for `samples` samples of a task, seeded by the seed and the task's name.
pub(crate) fn ask(task: &Task, samples: usize, seed: Seed) -> Asked<'_> {
    Asked { task, samples, seed: seed.derive(&format!("eval/{}", task.id), 0) }
}

impl Measured {
    /// Counts a piece.
    fn add(&mut self, piece: &Collected) {
        self.sampled_tokens += piece.usage.sampled as u64;
        for group in &piece.groups {
            self.tallies.push(Tally::of(group));
            self.unjudged += group.dropped.len() as u64;
            self.count(group);
        }
    }

    fn count(&mut self, group: &Group) {
        for rollout in &group.rollouts {
            let verdict = rollout.outcome.evidence.name();
            *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
            let last = rollout.turns.last().map(|turn| turn.completion.finish);
            self.cut_off += u64::from(last == Some(Finish::Length));
        }
    }
}
