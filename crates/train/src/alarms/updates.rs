//! Alarms of updates: a gradient that is far longer than usual, a policy that moves too far in a step, ratios that
//! are mostly clipped.

use super::due::{DueAlarm, any_of, due, percent};
use super::history::{CLIPPED, GRAD_NORM, History, Level, UPDATE_KL};
use super::settings::{Settings, Trainer};

/// The multiple of the running median from which a gradient is a spike.
const SPIKE: f64 = 5.0;
/// Norms of which the median is taken, at least and at most.
const LEAST_NORMS: usize = 10;
const MOST_NORMS: usize = 50;
/// Nats a token that a step may move the policy. PPO's usual target is half of that; a token of a program has about 0.1
/// nats of entropy.
const FAR: f64 = 0.02;
/// The part of tokens whose ratio may be clipped.
const MOSTLY_CLIPPED: f64 = 0.3;

pub(super) fn all(history: &History, settings: &Settings) -> [Option<DueAlarm>; 3] {
    [
        gradient_spike(history, settings),
        update_kl_high(history, settings),
        clip_fraction_high(history, settings),
    ]
}

/// The gradient of the last step is far longer than those before it. Steps without one are no measure.
fn gradient_spike(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let norm = history.newest(GRAD_NORM)?;
    let (_, before) = history.values(GRAD_NORM).split_last()?;
    let lengths = before.iter().rev().map(|value| value.1).filter(|&norm| norm > 0.0);
    let mut last: Vec<f64> = lengths.take(MOST_NORMS).collect();
    (last.len() >= LEAST_NORMS).then_some(())?;
    last.sort_by(f64::total_cmp);
    let median = f64::midpoint(last[(last.len() - 1) / 2], last[last.len() / 2]);
    (norm > SPIKE * median).then_some(())?;
    let clip = settings.config.training.clip_to_median;
    let effect = if clip > 0.0 {
        format!(
            "it was clipped (`training.clip_to_median = {clip}`), and what made it is in the batch"
        )
    } else {
        "Adam makes a full step of it; `training.clip_to_median = 3` clips such gradients"
            .to_owned()
    };
    let message = format!(
        "the gradient has a norm of {norm:.3}, {:.1} times the median of the steps before: {effect}. Look at the \
         step's completions, and lower `{}` if it happens again",
        norm / median,
        settings.learning_rate()
    );
    Some(due("gradient_spike", message))
}

/// The updates of a step move the policy further than ratios can be trusted.
fn update_kl_high(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(UPDATE_KL)?;
    (mean > FAR).then_some(())?;
    let stop = match settings.trainer {
        Trainer::Ppo if settings.config.ppo.target_kl == 0.0 => {
            ", or set `ppo.target_kl`, which leaves out the rest of a step that moved too far"
        }
        _ => "",
    };
    let message = format!(
        "the updates of a step move the policy by {mean:.3} nats a token, mean of the last steps: so far that what \
         was sampled says little of what it does now. Lower {}{stop}",
        any_of(&settings.smaller_updates())
    );
    Some(due("update_kl_high", message))
}

/// Most of the gradient is lost to clipping. With one update a step nothing is clipped, unless rollouts are from a file.
fn clip_fraction_high(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(CLIPPED)?;
    (mean > MOSTLY_CLIPPED).then_some(())?;
    let cause = if settings.has_several_updates() {
        "the updates of a step move the policy past the clip range"
    } else {
        "the policy that sampled the rollouts is another one by now"
    };
    let message = format!(
        "{} of the tokens of the last steps have a clipped ratio and no gradient: {cause}. Lower {}",
        percent(mean),
        any_of(&settings.smaller_updates())
    );
    Some(due("clip_fraction_high", message))
}
