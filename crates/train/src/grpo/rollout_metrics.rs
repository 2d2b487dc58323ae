//! Metrics of the rollouts of a step: rewards, lengths, and what their environments measured.

use std::collections::{BTreeMap, BTreeSet};

use whetstone_algo::Mean;
use whetstone_core::completion::Finish;
use whetstone_core::metric;
use whetstone_env::metrics::of_outcome;
use whetstone_rollout::collect::{Group, Rollout};

use super::tasks::StepRollouts;
use super::values::{Values, flag, number};

/// Rewards, metrics of the environments, and lengths.
pub(super) fn of_rollouts(step_rollouts: &StepRollouts, values: &mut Values) {
    let all = || step_rollouts.groups.iter().flat_map(|group: &Group| &group.rollouts);
    let mean = |of: &dyn Fn(&Rollout) -> f64| {
        let mut mean = Mean::default();
        all().for_each(|rollout| mean.add(of(rollout)));
        mean.get()
    };
    let reward = |rollout: &Rollout| rollout.outcome.reward.total();
    let average = mean(&reward).unwrap_or(0.0);
    values.put_some(metric::GRPO_MEAN_REWARD, mean(&reward));
    let spread = mean(&|rollout| (reward(rollout) - average).powi(2));
    values.put_some(metric::GRPO_REWARD_STD, spread.map(f64::sqrt));
    let mut solved = Mean::default();
    all()
        .filter_map(|rollout| rollout.outcome.evidence.solved())
        .for_each(|is| solved.add(flag(is)));
    values.put_some(metric::GRPO_PASS_RATE, solved.get());
    values.put_of_environment(environment_means(all()));
    for name in term_names(all()) {
        let paid = |rollout: &Rollout| {
            rollout.outcome.reward.terms().get(name).map_or(0.0, |term| term.paid())
        };
        values.put_term(name, mean(&paid));
    }
    values.put_some(metric::ROLLOUT_MEAN_TOKENS, mean(&|rollout| number(rollout.sampled_tokens())));
    let cut = |rollout: &Rollout| {
        let last = rollout.turns.last().map(|turn| turn.completion.finish);
        flag(last == Some(Finish::Length))
    };
    values.put_some(metric::ROLLOUT_TRUNCATED, mean(&cut));
    let dropped: usize = step_rollouts.groups.iter().map(|group| group.dropped.len()).sum();
    values.put(metric::ROLLOUT_DROPPED, number(dropped));
    values.put(metric::ROLLOUT_TASKS, number(step_rollouts.consumed));
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
