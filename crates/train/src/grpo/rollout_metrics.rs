//! Metrics of the rollouts of a step: rewards, verdicts and lengths.

use std::collections::BTreeSet;

use whetstone_algo::Mean;
use whetstone_core::completion::Finish;
use whetstone_core::judgement::Judgement;
use whetstone_core::metric;
use whetstone_core::outcome::Evidence;
use whetstone_core::verdict::Verdict;
use whetstone_rollout::collect::{Group, Rollout};

use super::tasks::StepRollouts;
use super::values::{Values, flag, number};

/// Rewards, verdicts and lengths.
pub(super) fn of_rollouts(step_rollouts: &StepRollouts, values: &mut Values) {
    let all = || step_rollouts.groups.iter().flat_map(|group: &Group| &group.rollouts);
    let mean = |of: &dyn Fn(&Rollout) -> f64| {
        let mut mean = Mean::default();
        all().for_each(|rollout| mean.add(of(rollout)));
        mean.get()
    };
    // What was not run against tests has no verdict, and counts in no figure that needs one.
    let mean_judged = |of: &dyn Fn(&Judgement) -> f64| {
        let mut mean = Mean::default();
        let judged = all().filter_map(|rollout| rollout.outcome.judgement());
        judged
            .filter(|judgement| judgement.counts().total > 0)
            .for_each(|judgement| mean.add(of(judgement)));
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
    let mut parsed = Mean::default();
    all()
        .filter(|rollout| is_of_program(rollout))
        .for_each(|rollout| parsed.add(flag(parses(rollout))));
    values.put_some(metric::CODE_SYNTAX_SUCCESS_RATE, parsed.get());
    let tests = |judgement: &Judgement| {
        let counts = judgement.counts();
        f64::from(counts.passed) / f64::from(counts.total.max(1))
    };
    values.put_some(metric::CODE_AVG_TEST_PASS_RATE, mean_judged(&tests));
    let late = |judgement: &Judgement| flag(*judgement.verdict() == Verdict::Timeout);
    values.put_some(metric::CODE_TIMEOUTS, mean_judged(&late));
    for name in term_names(all()) {
        let paid = |rollout: &Rollout| {
            rollout.outcome.reward.terms().get(name).map_or(0.0, |term| term.paid())
        };
        values.put_term(name, mean(&paid));
    }
    // What is no program has no quality, and is not one of the worst.
    let mut quality = Mean::default();
    for rollout in all().filter(|rollout| parses(rollout)) {
        if let Some(term) = rollout.outcome.reward.terms().get("quality") {
            quality.add(term.value);
        }
    }
    values.put_some(metric::CODE_QUALITY_SCORE, quality.get());
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

/// Whether a program was asked for.
fn is_of_program(rollout: &Rollout) -> bool {
    !matches!(rollout.outcome.evidence, Evidence::Observed(_))
}

/// Whether there is a program that parses: the verdict says so, or where nothing was run the gates.
fn parses(rollout: &Rollout) -> bool {
    let gate = |name: &str| rollout.outcome.reward.gates().get(name).is_none_or(|gate| gate.passed);
    match rollout.outcome.judgement() {
        Some(judgement) => !matches!(judgement.verdict(), Verdict::NoCode | Verdict::SyntaxError),
        None => gate("code") && gate("syntax"),
    }
}

/// The terms of the rewards. They are the environment's, so there are few.
fn term_names<'a>(all: impl Iterator<Item = &'a Rollout>) -> BTreeSet<&'a str> {
    all.flat_map(|rollout| rollout.outcome.reward.terms().keys()).map(String::as_str).collect()
}
