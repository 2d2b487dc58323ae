//! Alarms of PPO alone: a baseline that is worse than none, and a step that learns from a part of what it sampled.

use super::due::{DueAlarm, LIKELY, any_of, due, percent};
use super::history::{EXPLAINED, History, Level, SKIPPED, WINDOW};
use super::settings::Settings;

/// The part of mini-batches that may be left out.
const MOST_SKIPPED: f64 = 0.5;

pub(super) fn all(history: &History, settings: &Settings) -> [Option<DueAlarm>; 2] {
    [critic_explains_nothing(history, settings), mini_batches_skipped(history, settings)]
}

/// A critic that has had twenty steps still does worse than a constant: its advantages have more variance than the
/// rewards themselves.
fn critic_explains_nothing(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, error } = history.last(EXPLAINED)?;
    let is_grown = history.values(EXPLAINED).len() >= 2 * WINDOW;
    (is_grown && mean + LIKELY * error < 0.0).then_some(())?;
    let adapter = if settings.has_critic_adapter() {
        ""
    } else {
        ", give it an adapter of its own (`ppo.critic = \"adapter\"`)"
    };
    let message = format!(
        "the critic explains {mean:.2} of the variance of returns: as a baseline it is worse than their mean, \
         and adds noise to every advantage. Raise `ppo.critic_learning_rate`{adapter}, or use `whet train grpo`, which needs no critic"
    );
    Some(due("critic_explains_nothing", message))
}

fn mini_batches_skipped(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(SKIPPED)?;
    (mean > MOST_SKIPPED).then_some(())?;
    let ppo = &settings.config.ppo;
    let larger =
        if ppo.mini_batch_size < ppo.batch_size { ", or raise `ppo.mini_batch_size`" } else { "" };
    let message = format!(
        "{} of the mini-batches of the last steps were left out, since the policy had moved further than \
         `ppo.target_kl`: most of what is sampled is not learnt from. Lower {}{larger}",
        percent(mean),
        any_of(&settings.smaller_updates())
    );
    Some(due("mini_batches_skipped", message))
}
