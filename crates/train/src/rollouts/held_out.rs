//! The pass rate and the part of replies without code on held-out tasks, measured during training.
//!
//! Measured before the step, so that it is the pass rate of the policy whose rollouts the step has: both
//! are sampled the same way. The same tasks are sampled with the same luck each time, which leaves
//! less to chance between two measurements; what remains is in `whet eval`, with an interval.
//!
//! It follows from the weights and the seed alone. A run that goes on after a kill measures the same.

use std::time::Instant;

use whetstone_algo::Mean;
use whetstone_core::Message;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;
use whetstone_infer::{Headway, Local, Watch};
use whetstone_rollout::collect::{Asked, CollectError, Group, Progress, check_stop, collect};
use whetstone_rollout::measure::Tally;

use super::Collection;
use super::collecting::collecting;
use super::metrics::HeldOut;
use super::values::flag;
use crate::error::TrainError;
use crate::order::shuffled;
use crate::student::Student;
use crate::watch::{Part, Phase};
use crate::watchdog::PhaseProgress;

/// Measures the student before a step, if that is due. If it is told to stop meanwhile, nothing is
/// measured, and the step is not taken either.
pub(crate) fn measure(
    student: &Student,
    collection: Collection<'_>,
    step: u64,
) -> Result<Option<HeldOut>, TrainError> {
    if !is_due(collection, step) {
        return Ok(None);
    }
    let Collection { config, watch, limits, .. } = collection;
    let began = Instant::now();
    let seed = Seed::new(config.seed).derive("held out", 0);
    let samples = config.held_out.num_samples as usize;
    let asked: Vec<Asked<'_>> = chosen(collection, seed)
        .map(|task| Asked { task, samples, seed: seed.derive(task.id.as_str(), 0) })
        .collect();
    let all = asked.len() * samples;
    watch.part(Phase::HeldOut, Part { done: 0, all });
    let render = |messages: &[Message]| student.render(messages);
    let on_event = |now: Progress<'_>| {
        let part = Part { done: now.over + now.dropped, all };
        watch.go_on(PhaseProgress { phase: Phase::HeldOut, part, waits_for: None })
    };
    let look = |_: &dyn Fn() -> Headway| check_stop(watch.stop);
    let generator = Local::new(&student.decoder, &student.model.tokenizer, limits);
    let mut generator = generator.watched(Watch(&look));
    match collect(&collecting(student, collection, &render, &on_event), &mut generator, &asked) {
        Err(CollectError::Stopped) => Ok(None),
        found => {
            let groups = found?.groups;
            let (pass_rate, tasks) = rate(&groups);
            let (no_code, took) = (no_code(&groups), began.elapsed());
            Ok(Some(HeldOut { pass_rate, no_code, tasks, took }))
        }
    }
}

/// Whether the student is measured before this step.
pub(crate) fn is_due(collection: Collection<'_>, step: u64) -> bool {
    let every = u64::from(collection.config.held_out.every_steps);
    !collection.held_out.is_empty() && every > 0 && (step - 1).is_multiple_of(every)
}

/// The tasks to measure by: all, or as many as the settings let, chosen by the seed.
fn chosen(collection: Collection<'_>, seed: Seed) -> impl Iterator<Item = &Task> {
    let mut order = shuffled(seed.derive("choice", 0), 0, collection.held_out.len());
    order.truncate(collection.config.held_out.max_tasks as usize);
    order.sort_unstable();
    let tasks = collection.held_out;
    order.into_iter().map(move |at| &tasks[at])
}

/// The part of samples that pass, averaged over the tasks of which any could be judged, and how many
/// these are.
fn rate(groups: &[Group]) -> (Option<f64>, usize) {
    let tallies = groups.iter().map(Tally::of).filter(|tally| tally.samples > 0);
    #[expect(clippy::cast_precision_loss, reason = "samples of a task")]
    let rates: Vec<f64> = tallies.map(|tally| tally.passed as f64 / tally.samples as f64).collect();
    (mean(&rates), rates.len())
}

/// The part of replies to tasks for programs that have none, averaged over tasks.
fn no_code(groups: &[Group]) -> Option<f64> {
    let rates: Vec<f64> = groups.iter().filter_map(no_code_of).collect();
    mean(&rates)
}

fn no_code_of(group: &Group) -> Option<f64> {
    let mut rate = Mean::default();
    let judged = group.rollouts.iter().filter_map(|rollout| rollout.outcome.judgement());
    judged.for_each(|judgement| rate.add(flag(*judgement.verdict() == Verdict::NoCode)));
    rate.get()
}

#[expect(clippy::cast_precision_loss, reason = "tasks")]
fn mean(rates: &[f64]) -> Option<f64> {
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

#[cfg(test)]
mod tests {
    use whetstone_core::completion::Finish;

    use super::*;
    use crate::testing::{Said, dropped, group, rollout, rollout_as};

    #[test]
    fn every_task_counts_once_and_one_that_nobody_judged_does_not() {
        let half = group("a", vec![rollout(0, &[7], 1.0), rollout(1, &[7], 0.0)]);
        let whole = group("b", vec![rollout(0, &[7], 1.0)]);
        let mut broken = group("c", Vec::new());
        broken.dropped = vec![dropped(0)];
        assert_eq!(rate(&[half, whole, broken.clone()]), (Some(0.75), 2));
        assert_eq!(rate(&[broken]), (None, 0));
    }

    #[test]
    fn replies_without_code_are_counted_by_task() {
        let without = |sample| {
            let (ids, finish, verdict, worth) = (&[7][..], Finish::Stop, Verdict::NoCode, 0.0);
            rollout_as(sample, Said { ids, finish, verdict, worth })
        };
        let wrong = group("a", vec![rollout(0, &[7], 0.0), rollout(1, &[7], 1.0)]);
        let mixed = group("b", vec![rollout(0, &[7], 0.0), without(1), without(2), without(3)]);
        let mut broken = group("c", Vec::new());
        broken.dropped = vec![dropped(0)];
        assert_eq!(no_code(&[wrong, mixed, broken.clone()]), Some(0.375));
        assert_eq!(no_code(&[broken]), None);
    }
}
