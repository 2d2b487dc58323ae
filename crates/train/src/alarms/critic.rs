//! Alarms of PPO alone: a baseline that is worse than none, and a step that learns from a part of what it sampled.

use super::history::{EXPLAINED, History, Level, SKIPPED, WINDOW};
use super::rules::{DueAlarm, LIKELY, due, percent};

/// The part of mini-batches that may be left out.
const MOST_SKIPPED: f64 = 0.5;

pub(super) fn all(history: &History) -> [Option<DueAlarm>; 2] {
    [critic_explains_nothing(history), mini_batches_skipped(history)]
}

/// A critic that has had twenty steps still does worse than a constant: its advantages have more variance than the
/// rewards themselves.
fn critic_explains_nothing(history: &History) -> Option<DueAlarm> {
    let Level { mean, error } = history.last(EXPLAINED)?;
    let is_grown = history.values(EXPLAINED).len() >= 2 * WINDOW;
    (is_grown && mean + LIKELY * error < 0.0).then_some(())?;
    let message = format!(
        "the critic explains {mean:.2} of the variance of returns: as a baseline it is worse than their mean, \
         and adds noise to every advantage. Raise `ppo.critic_learning_rate`, give it an adapter of its own \
         (`ppo.critic = \"adapter\"`), or use `whet train grpo`, which needs no critic"
    );
    Some(due("critic_explains_nothing", message))
}

fn mini_batches_skipped(history: &History) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(SKIPPED)?;
    (mean > MOST_SKIPPED).then_some(())?;
    let message = format!(
        "{} of the mini-batches of the last steps were left out, since the policy had moved further than \
         `ppo.target_kl`: most of what is sampled is not learnt from. Lower `ppo.learning_rate` or \
         `ppo.ppo_epochs`, or raise `ppo.mini_batch_size`",
        percent(mean)
    );
    Some(due("mini_batches_skipped", message))
}
