//! The part of an advantage that a reward model or a process reward model pays for.
//!
//! ```text
//! A = A_judged + w_model / w_judged · (v - mean of v) / s      standard score
//! A = A_judged + paid - mean of paid                           the other two, which divide by nothing
//! ```
//!
//! `v` is what the model said of a rollout, from 0 to 1, and `s` is [`SPREAD`]: never the group's own
//! standard deviation. A group in which no rollout passes differs in nothing but `v`; divided by the standard
//! deviation of these few, a model with a twentieth of the weight would move the policy as far as a
//! solution does. `s` is a constant and not the standard deviation over a step, so that a step of one
//! group, or of completions that are all alike, is not stretched either.
//!
//! With more weight for the model than for the judge, both parts are divided by the quotient of weights:
//! the heavier part counts once, and a model that pays alone has the second part alone.

use whetstone_core::config::AdvantageBy;
use whetstone_core::group::GroupReward;
use whetstone_core::reward::ModelPay;

use crate::error::entries;
use crate::{AlgoError, number};

/// The standard deviation of `σ(z)` for a `z` of the standard normal distribution. A reward model's scores
/// are normalised to that distribution on held-out replies, and paid through `σ`.
pub(super) const SPREAD: f64 = 0.208_276_344_931_651_12;

/// Values of episodes, one list of turns each, less what they are compared with: the mean over episodes
/// of the mean over their turns, or that of the other episodes. Every episode counts once, however many
/// turns it has.
pub(super) fn centred(episodes: &[Vec<f64>], how: AdvantageBy) -> Vec<Vec<f64>> {
    let mean = |turns: &Vec<f64>| turns.iter().sum::<f64>() / number(turns.len().max(1) as u64);
    let count = number(episodes.iter().filter(|turns| !turns.is_empty()).count() as u64);
    let sum: f64 = episodes.iter().map(mean).sum();
    let compared_with = |turns: &Vec<f64>| match how {
        AdvantageBy::StandardScore | AdvantageBy::Mean => sum / count,
        AdvantageBy::LeaveOneOut => (sum - mean(turns)) / (count - 1.0),
    };
    let less = |turns: &Vec<f64>| {
        let baseline = compared_with(turns);
        turns.iter().map(|value| value - baseline).collect()
    };
    episodes.iter().map(less).collect()
}

/// Advantages of what was judged, with the weight of the judge beside a model's.
pub(super) fn weighed(mut judged: Vec<f64>, rewards: &[GroupReward], how: AdvantageBy) -> Vec<f64> {
    if let (AdvantageBy::StandardScore, Some(pay)) = (how, first(rewards)) {
        let weight = pay.against / pay.against.max(pay.weight);
        for advantage in &mut judged {
            *advantage *= weight;
        }
    }
    judged
}

/// Advantages with the part that a model pays for.
///
/// # Errors
///
/// If what it pays is not finite.
pub(super) fn added(
    mut judged: Vec<f64>,
    rewards: &[GroupReward],
    how: AdvantageBy,
) -> Result<Vec<f64>, AlgoError> {
    if first(rewards).is_none() {
        return Ok(judged);
    }
    let parts: Vec<f64> = rewards.iter().map(|reward| scaled(reward.model, how)).collect();
    entries("what a model pays", &parts)?;
    let parts = parts.into_iter().map(|part| vec![part]).collect::<Vec<_>>();
    for (advantage, part) in judged.iter_mut().zip(centred(&parts, how).concat()) {
        *advantage += part;
    }
    Ok(judged)
}

/// What a model pays, in units of an advantage.
pub(super) fn scaled(pay: Option<ModelPay>, how: AdvantageBy) -> f64 {
    match (pay, how) {
        (None, _) => 0.0,
        (Some(pay), AdvantageBy::StandardScore) => {
            pay.weight / pay.against.max(pay.weight) * pay.value() / SPREAD
        }
        (Some(pay), AdvantageBy::Mean | AdvantageBy::LeaveOneOut) => pay.paid,
    }
}

fn first(rewards: &[GroupReward]) -> Option<ModelPay> {
    rewards.iter().find_map(|reward| reward.model)
}

#[cfg(test)]
mod tests;
