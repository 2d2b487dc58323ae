//! Losses on preference pairs that train the policy itself: DPO, IPO and SimPO.
//!
//! With the reply tokens' log-probabilities of a sequence `y` summed, `π(y)` under the policy and `ρ(y)` under
//! the reference, the implicit rewards `r` of the chosen and the rejected reply, and the margin `m = r_w - r_l`:
//!
//! ```text
//! dpo     r = β (π(y) - ρ(y))          loss = (1-ε) softplus(-m) + ε softplus(m)
//! ipo     r = β (π(y) - ρ(y)) / |y|    loss = (m/β - 1/(2β))²
//! simpo   r = β π(y) / |y|             loss = softplus(γ - m)
//! ```
//!
//! each plus `sft_weight · -π(y_w) / |y_w|`, divided by the pairs of the optimizer step. DPO is eq. 7 of R. Rafailov
//! et al. (arXiv:2305.18290) with `softplus(-m) = -ln σ(m)`; the label smoothing ε is conservative DPO (E. Mitchell,
//! 2023). IPO is eq. 17 of M. G. Azar et al. (arXiv:2310.12036), with means over tokens where the paper has sums: TRL
//! does so since its authors confirmed it, and one β then fits replies of every length. SimPO is eq. 6 of Y. Meng et
//! al. (arXiv:2405.14734). The cross-entropy term, normalised per reply, is eq. 1 of R. Y. Pang et al.
//! (arXiv:2404.19733).
//!
//! A reward is linear in its log-probabilities, so all tokens of a reply have the same signal.

use whetstone_core::config::PreferenceLoss;

use crate::bradley_terry::{sigmoid, softplus};
use crate::error::setting;
use crate::{AlgoError, number};

/// The log-probabilities of a reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplyLogps<'a> {
    /// Of each of its tokens under the policy.
    pub policy: &'a [f64],
    /// Their sum under the reference; not read by SimPO.
    pub reference: f64,
}

/// The two replies of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairLogps<'a> {
    /// The reply that is preferred.
    pub chosen: ReplyLogps<'a>,
    /// The other one.
    pub rejected: ReplyLogps<'a>,
}

/// Settings of the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreferenceSettings {
    /// The formula.
    pub loss: PreferenceLoss,
    /// Factor of implicit rewards.
    pub beta: f64,
    /// Probability that a label is wrong; read by DPO alone.
    pub label_smoothing: f64,
    /// The margin that SimPO wants.
    pub simpo_gamma: f64,
    /// Weight of the cross-entropy on the chosen reply.
    pub sft_weight: f64,
    /// Pairs of the whole optimizer step.
    pub step_pairs: u64,
}

/// The part of a pair in the loss of its step, with its signals.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PreferencePart {
    /// This pair's part.
    pub loss: f64,
    /// The implicit reward of the chosen reply.
    pub chosen_reward: f64,
    /// The implicit reward of the rejected reply.
    pub rejected_reward: f64,
    /// The derivative of the loss by the log-probability of every token of the chosen reply.
    pub dchosen: f64,
    /// The derivative of the loss by the log-probability of every token of the rejected reply.
    pub drejected: f64,
}

impl PreferencePart {
    /// The lead of the chosen reply's reward.
    pub fn margin(&self) -> f64 {
        self.chosen_reward - self.rejected_reward
    }
}

/// A loss as a function of the margin, with its derivative.
struct MarginLoss {
    value: f64,
    slope: f64,
}

/// The loss of a pair; `at` is its place in the step, for messages.
///
/// # Errors
///
/// If a log-probability is not finite, a reply has no token, a setting is out of its bounds, or the step has no pairs.
pub fn loss(
    pair: PairLogps<'_>,
    settings: PreferenceSettings,
    at: usize,
) -> Result<PreferencePart, AlgoError> {
    let PreferenceSettings { beta, sft_weight, step_pairs, .. } = settings;
    check(settings)?;
    let pairs = number(step_pairs);
    let [chosen, rejected] = rewards(pair, settings, at)?;
    let MarginLoss { value, slope } = of_margin(chosen.reward - rejected.reward, settings);
    let value = value - sft_weight * chosen.mean;
    if !value.is_finite() {
        return Err(AlgoError::Entry { what: "the loss of pair", at, value });
    }
    let by_token = |reply: Reply| if is_mean(settings.loss) { beta / reply.tokens } else { beta };
    Ok(PreferencePart {
        loss: value / pairs,
        chosen_reward: chosen.reward,
        rejected_reward: rejected.reward,
        dchosen: (slope * by_token(chosen) - sft_weight / chosen.tokens) / pairs,
        drejected: -slope * by_token(rejected) / pairs,
    })
}

/// The implicit rewards of a pair, chosen and rejected, as [`loss`] has them.
///
/// # Errors
///
/// If a log-probability is not finite, or a reply has no token.
pub fn implicit_rewards(
    pair: PairLogps<'_>,
    settings: PreferenceSettings,
    at: usize,
) -> Result<[f64; 2], AlgoError> {
    Ok(rewards(pair, settings, at)?.map(|reply| reply.reward))
}

/// A reply as the losses see it.
#[derive(Clone, Copy)]
struct Reply {
    tokens: f64,
    /// Mean log-probability of its tokens.
    mean: f64,
    reward: f64,
}

/// Whether rewards are means over tokens, and not sums.
fn is_mean(loss: PreferenceLoss) -> bool {
    match loss {
        PreferenceLoss::Dpo => false,
        PreferenceLoss::Ipo | PreferenceLoss::SimPo => true,
    }
}

fn rewards(
    pair: PairLogps<'_>,
    settings: PreferenceSettings,
    at: usize,
) -> Result<[Reply; 2], AlgoError> {
    let of = |what, reply: ReplyLogps<'_>| {
        let tokens = number(reply.policy.len() as u64);
        let policy: f64 = reply.policy.iter().sum();
        let reference = if settings.loss.has_reference() { reply.reference } else { 0.0 };
        let sum = policy - reference;
        let mean = policy / tokens;
        // Of a reply without tokens the mean is NaN.
        if !(sum.is_finite() && mean.is_finite()) {
            let value = if sum.is_finite() { mean } else { sum };
            return Err(AlgoError::Entry { what, at, value });
        }
        let ratio = if is_mean(settings.loss) { sum / tokens } else { sum };
        Ok(Reply { tokens, mean, reward: settings.beta * ratio })
    };
    Ok([
        of("the log-probability of the chosen reply of pair", pair.chosen)?,
        of("the log-probability of the rejected reply of pair", pair.rejected)?,
    ])
}

fn of_margin(margin: f64, settings: PreferenceSettings) -> MarginLoss {
    let PreferenceSettings { loss, beta, label_smoothing: wrong, simpo_gamma, .. } = settings;
    match loss {
        PreferenceLoss::Dpo => MarginLoss {
            value: (1.0 - wrong) * softplus(-margin) + wrong * softplus(margin),
            slope: wrong * sigmoid(margin) - (1.0 - wrong) * sigmoid(-margin),
        },
        PreferenceLoss::Ipo => {
            let excess = (margin - 0.5) / beta;
            MarginLoss { value: excess * excess, slope: 2.0 * excess / beta }
        }
        PreferenceLoss::SimPo => {
            let lack = simpo_gamma - margin;
            MarginLoss { value: softplus(lack), slope: -sigmoid(lack) }
        }
    }
}

fn check(settings: PreferenceSettings) -> Result<(), AlgoError> {
    let PreferenceSettings { beta, label_smoothing, simpo_gamma, sft_weight, step_pairs, .. } =
        settings;
    setting("beta", beta, beta > 0.0, "above 0")?;
    let is_probability = (0.0..0.5).contains(&label_smoothing);
    setting("the label smoothing", label_smoothing, is_probability, "at least 0 and below 0.5")?;
    setting("the margin of SimPO", simpo_gamma, simpo_gamma >= 0.0, "at least 0")?;
    setting("the weight of the cross-entropy", sft_weight, sft_weight >= 0.0, "at least 0")?;
    setting("the number of pairs of a step", number(step_pairs), step_pairs > 0, "at least 1")
}

#[cfg(test)]
mod tests;
