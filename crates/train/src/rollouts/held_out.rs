//! The pass rate and the part of replies without code on held-out tasks, measured during training.
//!
//! Measured before the step, so that it is the pass rate of the policy whose rollouts the step has: both
//! are sampled the same way; and once more after the last step. The same tasks are sampled with the same luck each
//! time, which leaves less to chance between two measurements.
//!
//! The gain since the first measurement is a mean over tasks, with d the difference of a task's pass rates:
//!
//! ```text
//! gain = Σ d / n,   standard error = √(Σ (d - gain)² / (n (n - 1)))
//! ```
//!
//! It follows from the weights and the seed alone; the first pass rates are in the checkpoint. A run that goes on
//! after a kill measures the same.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Instant;

use whetstone_algo::Mean;
use whetstone_core::Message;
use whetstone_core::metric;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;
use whetstone_infer::{Headway, Local, Watch};
use whetstone_rollout::collect::{self, Asked, CollectError, Group, check_stop, collect};
use whetstone_rollout::measure::Tally;

use super::Collection;
use super::collecting::collecting;
use super::metrics::{Gain, HeldOut};
use super::values::{Values, flag, number};
use crate::error::TrainError;
use crate::order::shuffled;
use crate::session::Progress;
use crate::student::Student;
use crate::watch::{Part, Phase};
use crate::watchdog::PhaseProgress;

/// Measures the student before a step, if that is due. If it is told to stop meanwhile, nothing is
/// measured, and the step is not taken either.
///
/// The pass rates of the first measurement are kept in `progress`.
pub(crate) fn measure(
    student: &Student,
    collection: Collection<'_>,
    progress: &mut Progress,
) -> Result<Option<HeldOut>, TrainError> {
    if !is_due(collection, progress.step + 1) {
        return Ok(None);
    }
    let Some(Sampled { mut found, rates }) = sample(student, collection)? else { return Ok(None) };
    if progress.step == 0 {
        progress.held_out = rates;
    } else {
        found.gain = gain(&progress.held_out, &rates);
    }
    Ok(Some(found))
}

/// Measures the student after its last step, and adds that to the measurements of the step. If it is told to stop
/// meanwhile, nothing is added: the training is done all the same.
pub(crate) fn measure_last(
    student: &Student,
    collection: Collection<'_>,
    progress: &Progress,
    values: &mut BTreeMap<String, f64>,
) -> Result<(), TrainError> {
    if !is_on(collection) {
        return Ok(());
    }
    let Some(Sampled { found, rates }) = sample(student, collection)? else { return Ok(()) };
    let mut last = Values::default();
    last.put_some(metric::HELD_OUT_FINAL_PASS_RATE, found.pass_rate);
    last.put(metric::HELD_OUT_TASKS, number(found.tasks));
    if let Some(gain) = gain(&progress.held_out, &rates) {
        gain.put(&mut last);
    }
    values.extend(last.0);
    for metric in [metric::TIME_HELD_OUT_S, metric::TIME_STEP_S] {
        *values.entry(metric.name.to_owned()).or_default() += found.took.as_secs_f64();
    }
    Ok(())
}

/// The difference of the pass rates of tasks that both measurements have.
fn gain(first: &BTreeMap<String, f64>, now: &BTreeMap<String, f64>) -> Option<Gain> {
    let both = now.iter().filter_map(|(task, now)| Some(now - first.get(task)?));
    let differences: Vec<f64> = both.collect();
    let mean = mean(&differences)?;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    let count = number(differences.len());
    // Differences that are all equal, mostly none, say nothing of their spread.
    let error = (squares > 0.0).then(|| (squares / (count * (count - 1.0))).sqrt());
    Some(Gain { mean, error })
}

/// Figures of a measurement, and the pass rate of each task.
struct Sampled {
    found: HeldOut,
    rates: BTreeMap<String, f64>,
}

/// Samples the held-out tasks: figures, and the pass rate of each task that could be judged.
fn sample(student: &Student, collection: Collection<'_>) -> Result<Option<Sampled>, TrainError> {
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
    let on_event = |now: collect::Progress<'_>| {
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
            let rates = rates(&groups);
            let (no_code, took) = (no_code(&groups), began.elapsed());
            let found = HeldOut { no_code, took, ..figures(&rates) };
            Ok(Some(Sampled { found, rates }))
        }
    }
}

/// Whether the student is measured before this step.
fn is_due(collection: Collection<'_>, step: u64) -> bool {
    let every = u64::from(collection.config.held_out.every_steps);
    is_on(collection) && (step - 1).is_multiple_of(every)
}

/// Whether the student is measured at all.
fn is_on(collection: Collection<'_>) -> bool {
    !collection.held_out.is_empty() && collection.config.held_out.every_steps > 0
}

/// The measurements of the steps that are left.
pub(crate) fn measurements_left(collection: Collection<'_>, steps: RangeInclusive<u64>) -> u64 {
    let before = steps.filter(|&step| is_due(collection, step)).count() as u64;
    before + u64::from(is_on(collection))
}

/// The tasks to measure by: all, or as many as the settings let, chosen by the seed.
fn chosen(collection: Collection<'_>, seed: Seed) -> impl Iterator<Item = &Task> {
    let mut order = shuffled(seed.derive("choice", 0), 0, collection.held_out.len());
    order.truncate(collection.config.held_out.max_tasks as usize);
    order.sort_unstable();
    let tasks = collection.held_out;
    order.into_iter().map(move |at| &tasks[at])
}

/// The pass rates of the tasks of which any sample could be judged.
fn rates(groups: &[Group]) -> BTreeMap<String, f64> {
    let tallies = groups.iter().map(|group| (group, Tally::of(group)));
    let judged = tallies.filter(|(_, tally)| tally.samples > 0);
    #[expect(clippy::cast_precision_loss, reason = "samples of a task")]
    let rate = |tally: &Tally| tally.passed as f64 / tally.samples as f64;
    judged.map(|(group, tally)| (group.task.to_string(), rate(&tally))).collect()
}

/// The part of samples that pass, averaged over tasks; of how many; and the part of tasks with one that passes.
fn figures(rates: &BTreeMap<String, f64>) -> HeldOut {
    let rates: Vec<f64> = rates.values().copied().collect();
    let any: Vec<f64> = rates.iter().map(|&rate| flag(rate > 0.0)).collect();
    HeldOut {
        pass_rate: mean(&rates),
        pass_at_n: mean(&any),
        tasks: rates.len(),
        ..HeldOut::default()
    }
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
        let none = group("d", vec![rollout(0, &[7], 0.0)]);
        let of = |groups: &[Group]| {
            let found = figures(&rates(groups));
            (found.pass_rate, found.tasks, found.pass_at_n)
        };
        assert_eq!(of(&[half.clone(), whole.clone(), broken.clone()]), (Some(0.75), 2, Some(1.0)));
        assert_eq!(of(&[half, whole, none.clone(), none]), (Some(0.5), 3, Some(2.0 / 3.0)));
        assert_eq!(of(&[broken]), (None, 0, None));
    }

    /// Differences 1/2, 0 and 1/4 of the tasks that both have: mean 1/4, squares 1/16 + 1/16, over 3 · 2.
    #[test]
    fn a_gain_is_the_mean_difference_of_tasks_with_its_standard_error() {
        let rates = |of: &[(&str, f64)]| -> BTreeMap<String, f64> {
            of.iter().map(|(task, rate)| ((*task).to_owned(), *rate)).collect()
        };
        let first = rates(&[("a", 0.25), ("b", 1.0), ("c", 0.0), ("only then", 1.0)]);
        let now = rates(&[("a", 0.75), ("b", 1.0), ("c", 0.25), ("only now", 0.0)]);
        let found = gain(&first, &now).unwrap();
        assert!((found.mean - 0.25).abs() < 1e-12, "{found:?}");
        assert!((found.error.unwrap() - (0.125_f64 / 6.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert_eq!(gain(&now, &first).unwrap().mean.to_bits(), (-0.25_f64).to_bits());
        let one = gain(&first, &rates(&[("c", 1.0)])).unwrap();
        assert_eq!(one, Gain { mean: 1.0, error: None });
        assert_eq!(gain(&now, &now).unwrap(), Gain { mean: 0.0, error: None });
        assert_eq!(gain(&BTreeMap::new(), &now), None, "a run of an earlier version");
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
