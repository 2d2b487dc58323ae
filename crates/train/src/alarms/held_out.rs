//! Alarms of held-out tasks: fewer are solved, or fewer by several tries.

use super::due::{DueAlarm, LIKELY, due, percent};
use super::history::{HELD_OUT, HELD_OUT_AT_N, HELD_OUT_TASKS, History, REWARD};
use super::settings::Settings;

/// The least fall of a rate on held-out tasks that is one.
const FALL: f64 = 0.05;

pub(super) fn all(history: &History, settings: &Settings) -> [Option<DueAlarm>; 2] {
    [held_out_falls(history, settings), pass_at_n_falls(history, settings)]
}

/// A rate that is clearly below its best level.
struct Fall {
    /// The step of its best level, and that level.
    then: u64,
    best: f64,
    now: f64,
}

/// The last value of a rate against its best level, if it is clearly lower. `trials`: what one value is the mean of.
///
/// The best of many measurements is partly luck, so two in a row are averaged before the best is taken;
/// and what is compared with it is uncertain too, so the error is that of the difference.
fn fall(history: &History, name: &str, trials: f64) -> Option<Fall> {
    let (&(_, now), before) = history.values(name).split_last()?;
    let pairs = before.windows(2).map(|pair| (pair[1].0, f64::midpoint(pair[0].1, pair[1].1)));
    let levels = pairs.chain(before.first().filter(|_| before.len() == 1).copied());
    let (then, best) = levels.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let variance = |rate: f64| (rate * (1.0 - rate) / trials).max(0.0);
    let values = if before.len() == 1 { 1.0 } else { 2.0 };
    let by_chance = LIKELY * (variance(best) / values + variance(now)).sqrt();
    (best - now > by_chance.max(FALL)).then_some(Fall { then, best, now })
}

fn tasks(history: &History) -> Option<f64> {
    Some(history.values(HELD_OUT_TASKS).last()?.1.max(1.0))
}

/// Rewards rose since the held-out tasks were solved best, and these are solved clearly less often.
///
/// The same tasks are sampled each time, so only the samples are chance: their variance is at most `p(1 - p)/n` for
/// the mean rate p of n samples.
fn held_out_falls(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let samples = f64::from(settings.config.held_out.num_samples);
    let Fall { then, best, now } = fall(history, HELD_OUT, tasks(history)? * samples)?;
    let step = history.values(HELD_OUT).last()?.0;
    let (reward, reward_then) = (history.around(REWARD, step)?, history.around(REWARD, then)?);
    (reward > reward_then).then_some(())?;
    let message = format!(
        "held-out tasks are solved less often, {} at step {then} and {} now, while the reward rose \
         from {reward_then:.3} to {reward:.3}: the student learns what pays here and nowhere else. \
         Read completions with a high reward, and take a checkpoint of about step {then}",
        percent(best),
        percent(now)
    );
    Some(due("held_out_falls", message))
}

/// Samples pass more often than when most tasks had one that passes, and fewer tasks have one: the student settles on
/// one answer for each task.
fn pass_at_n_falls(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let samples = settings.config.held_out.num_samples;
    let Fall { then, best, now } = fall(history, HELD_OUT_AT_N, tasks(history)?)?;
    let rates = history.values(HELD_OUT);
    let rate_then = rates.iter().find(|value| value.0 == then)?.1;
    let rate = rates.last()?.1;
    (samples > 1 && rate > rate_then).then_some(())?;
    let message = format!(
        "of the held-out tasks {} had one of {samples} samples that passes at step {then} and {} have now, while more \
         samples pass, {} then and {} now: the student is surer and solves fewer tasks. Take a checkpoint of about \
         step {then}, lower `{}` or raise `{}.temperature`",
        percent(best),
        percent(now),
        percent(rate_then),
        percent(rate),
        settings.learning_rate(),
        settings.section()
    );
    Some(due("pass_at_n_falls", message))
}
