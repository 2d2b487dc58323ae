//! Metrics of the rollouts of a step: rewards, lengths, and what their environments measured.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use whetstone_algo::Mean;
use whetstone_core::extract::{Cause, Reply};
use whetstone_core::metric::{self, Metric};
use whetstone_env::metrics::of_outcome;
use whetstone_rollout::collect::{Group, Rollout, Turn};

use super::repetition::is_repetitive;
use super::tasks::StepRollouts;
use super::values::{Values, flag, number};

/// The measurement on held-out tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct HeldOut {
    /// The part of samples that passed, averaged over tasks.
    pub(crate) pass_rate: Option<f64>,
    /// The part of tasks of which at least one sample passed.
    pub(crate) pass_at_n: Option<f64>,
    /// The difference from the first measurement, with its standard error over tasks.
    pub(crate) gain: Option<Gain>,
    /// The part of samples without a program, averaged over tasks that ask for programs.
    pub(crate) no_code: Option<f64>,
    /// Tasks of which a sample could be judged.
    pub(crate) tasks: usize,
    pub(crate) took: Duration,
}

/// A mean difference of pass rates, task by task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gain {
    pub(crate) mean: f64,
    /// Its standard error over tasks; none for a single one, and where all differences are equal.
    pub(crate) error: Option<f64>,
}

impl Gain {
    pub(crate) fn put(self, values: &mut Values) {
        values.put(metric::HELD_OUT_GAIN, self.mean);
        values.put_some(metric::HELD_OUT_GAIN_ERROR, self.error);
    }
}

/// Measurements of collecting the rollouts of a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collected {
    pub(crate) held_out: Option<HeldOut>,
}

/// The names of a training's metrics of rewards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RewardMetrics {
    pub(crate) mean: Metric,
    pub(crate) std: Metric,
    pub(crate) pass_rate: Metric,
}

impl Collected {
    /// Held-out tasks, times and speeds.
    pub(crate) fn put(&self, step_rollouts: &StepRollouts, values: &mut Values) {
        if let Some(HeldOut { pass_rate, pass_at_n, gain, no_code, tasks, took }) = self.held_out {
            values.put_some(metric::HELD_OUT_PASS_RATE, pass_rate);
            values.put_some(metric::HELD_OUT_PASS_AT_N, pass_at_n);
            values.put_some(metric::HELD_OUT_NO_CODE, no_code);
            values.put(metric::HELD_OUT_TASKS, number(tasks));
            if let Some(gain) = gain {
                gain.put(values);
            }
            values.put(metric::TIME_HELD_OUT_S, took.as_secs_f64());
        }
        if step_rollouts.is_recorded {
            return;
        }
        let waited = step_rollouts.timeline.judging_after_sampling();
        values.put(
            metric::TIME_SAMPLING_S,
            (step_rollouts.sampling.saturating_sub(waited)).as_secs_f64(),
        );
        values.put(metric::TIME_JUDGING_AFTER_SAMPLING_S, waited.as_secs_f64());
        let sampling = step_rollouts.sampling.as_secs_f64().max(1e-9);
        values.put(
            metric::SPEED_SAMPLED_TOKENS_PER_S,
            number(step_rollouts.usage.sampled) / sampling,
        );
        let programs: usize = step_rollouts.groups.iter().map(|group| group.rollouts.len()).sum();
        values.put(metric::SPEED_PROGRAMS_PER_S, number(programs) / sampling);
        let early = step_rollouts.timeline.judged_while_sampling();
        values.put(metric::ROLLOUT_JUDGED_WHILE_SAMPLING, number(early) / number(programs.max(1)));
    }
}

/// Rewards, metrics of the environments, and lengths.
pub(crate) fn of_rollouts(step_rollouts: &StepRollouts, names: RewardMetrics, values: &mut Values) {
    let all = || step_rollouts.groups.iter().flat_map(|group: &Group| &group.rollouts);
    let mean = |of: &dyn Fn(&Rollout) -> f64| {
        let mut mean = Mean::default();
        all().for_each(|rollout| mean.add(of(rollout)));
        mean.get()
    };
    let reward = |rollout: &Rollout| rollout.outcome.reward.total();
    let average = mean(&reward).unwrap_or(0.0);
    values.put_some(names.mean, mean(&reward));
    let spread = mean(&|rollout| (reward(rollout) - average).powi(2));
    values.put_some(names.std, spread.map(f64::sqrt));
    let mut solved = Mean::default();
    all()
        .filter_map(|rollout| rollout.outcome.evidence.solved())
        .for_each(|is| solved.add(flag(is)));
    values.put_some(names.pass_rate, solved.get());
    values.put_of_environment(environment_means(all()));
    values.put_some(metric::CODE_IN_THINKING, in_thinking(step_rollouts));
    for name in term_names(all()) {
        let paid = |rollout: &Rollout| {
            rollout.outcome.reward.terms().get(name).map_or(0.0, |term| term.paid())
        };
        values.put_term(name, mean(&paid));
        values.put_term_of_failing(name, mean_of(of_solved(step_rollouts, false), paid));
    }
    values.put_some(metric::ROLLOUT_MEAN_TOKENS, mean(&|rollout| number(rollout.sampled_tokens())));
    for (metric, is_solved) in
        [(metric::ROLLOUT_TOKENS_PASSING, true), (metric::ROLLOUT_TOKENS_FAILING, false)]
    {
        let tokens = |rollout: &Rollout| number(rollout.sampled_tokens());
        values.put_some(metric, mean_of(of_solved(step_rollouts, is_solved), tokens));
    }
    let mut repetitive = Mean::default();
    all()
        .filter_map(|rollout| is_repetitive(&rollout.turns.last()?.completion))
        .for_each(|is| repetitive.add(flag(is)));
    values.put_some(metric::ROLLOUT_REPETITION, repetitive.get());
    let cut = |rollout: &Rollout| flag(rollout.turns.last().is_some_and(Turn::is_cut_off));
    values.put_some(metric::ROLLOUT_TRUNCATED, mean(&cut));
    let dropped: usize = step_rollouts.groups.iter().map(|group| group.dropped.len()).sum();
    values.put(metric::ROLLOUT_DROPPED, number(dropped));
    values.put(metric::ROLLOUT_JUDGED, number(all().count()));
    values.put(metric::ROLLOUT_TASKS, number(step_rollouts.consumed));
}

/// The rollouts that were run against tests and passed all of them, or did not.
fn of_solved(step_rollouts: &StepRollouts, is_solved: bool) -> impl Iterator<Item = &Rollout> {
    let all = step_rollouts.groups.iter().flat_map(|group: &Group| &group.rollouts);
    all.filter(move |rollout| rollout.outcome.evidence.solved() == Some(is_solved))
}

fn mean_of<'a>(
    rollouts: impl Iterator<Item = &'a Rollout>,
    of: impl Fn(&Rollout) -> f64,
) -> Option<f64> {
    let mut mean = Mean::default();
    rollouts.for_each(|rollout| mean.add(of(rollout)));
    mean.get()
}

/// The part of the judged programs' replies whose only code stands in the thinking.
fn in_thinking(step_rollouts: &StepRollouts) -> Option<f64> {
    let mut part = Mean::default();
    let all = step_rollouts.groups.iter().flat_map(|group: &Group| &group.rollouts);
    for (rollout, judgement) in all.filter_map(|one| Some((one, one.outcome.judgement()?))) {
        let cause = rollout.turns.last().and_then(|turn| {
            let reply = Reply::of(&turn.completion).after(step_rollouts.thinking_opened);
            Cause::of(judgement.verdict(), reply, Some(turn.completion.finish))
        });
        part.add(flag(cause == Some(Cause::InThinking)));
    }
    part.get()
}

/// The mean of each metric of an environment, over the rollouts that have it.
fn environment_means<'a>(all: impl Iterator<Item = &'a Rollout>) -> BTreeMap<String, f64> {
    let mut means: BTreeMap<String, Mean> = BTreeMap::new();
    for (name, value) in all.flat_map(|rollout| of_outcome(&rollout.outcome)) {
        means.entry(name).or_default().add(value);
    }
    means.into_iter().filter_map(|(name, mean)| Some((name, mean.get()?))).collect()
}

/// The terms of the rewards. They are the environment's, so there are few.
fn term_names<'a>(all: impl Iterator<Item = &'a Rollout>) -> BTreeSet<&'a str> {
    all.flat_map(|rollout| rollout.outcome.reward.terms().keys()).map(String::as_str).collect()
}
