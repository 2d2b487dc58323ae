//! PPO with a critic (arXiv:1707.06347, eq. 9), and what its rewards are made of.
//!
//! ```text
//! loss = -min(r·A, clip(r, 1 ± ε)·A) + value_coef · (V - R)² - entropy_coef · H
//! ```
//!
//! Each is a mean over the trained tokens of the mini-batch. Policy and critic may be two passes
//! through the model, so their parts are computed apart ([`Ppo::policy`], [`Ppo::critic`]) and share
//! one denominator.
//!
//! The divergence from the reference is a deduction from the reward of each token ([`token_rewards`]),
//! with a coefficient that is fixed or [adapts](KlController) (arXiv:1909.08593, section 2.2).

use whetstone_core::config::{KlEstimator, PpoConfig, RatioOf};

use crate::error::{as_many, entries};
use crate::kl;
use crate::policy::{self, Clip, Statistics, Surrogate};
use crate::value::{self, Valued};
use crate::{
    AlgoError, Denominator, Mean, Normaliser, Objective, Sequence, Totals, entropy, number,
};

/// The largest relative error that an adaptive coefficient answers to in one step.
const MAX_ERROR: f64 = 0.2;

/// The loss of a mini-batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ppo {
    /// Bounds of the ratio.
    pub clip: Clip,
    /// Weight of the critic's loss.
    pub value_coef: f64,
    /// How far a value may move within a step, if that is clipped.
    pub value_range: Option<f64>,
    /// Weight of the entropy.
    pub entropy_coef: f64,
}

/// The policy's part of the loss.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyPart {
    /// Surrogate and entropy bonus, with their signals.
    pub objective: Objective,
    /// The surrogate alone.
    pub policy_loss: f64,
    /// The entropy itself, over trained tokens, in nats.
    pub entropy: Mean,
    /// Statistics of the ratios.
    pub statistics: Statistics,
    /// KL(old ‖ new), by k3, in nats a token.
    pub divergence: Mean,
}

/// The critic's part of the loss.
#[derive(Debug, Clone, PartialEq)]
pub struct CriticPart {
    /// The mean squared error with its weight, and its signal.
    pub objective: Objective,
    /// The mean squared error alone.
    pub value_loss: f64,
    /// The values, over trained tokens.
    pub value: Mean,
}

impl Ppo {
    /// The loss that the settings ask for.
    ///
    /// # Errors
    ///
    /// If a setting is out of its bounds.
    pub fn new(config: &PpoConfig) -> Result<Self, AlgoError> {
        Ok(Self {
            clip: Clip::new(config.epsilon, config.epsilon)?,
            value_coef: config.value_loss_coef,
            value_range: (config.value_clip_range > 0.0).then_some(config.value_clip_range),
            entropy_coef: config.entropy_coef,
        })
    }

    /// The policy's part of a batch that is a part of a mini-batch.
    ///
    /// # Errors
    ///
    /// Those of [`policy::loss`] and [`entropy::bonus`].
    pub fn policy(&self, batch: &[Sequence<'_>], step: Totals) -> Result<PolicyPart, AlgoError> {
        let denominator = Denominator { normaliser: Normaliser::TOKEN_MEAN, step };
        let surrogate = Surrogate { ratio: RatioOf::Token, clip: self.clip, cap: None };
        let policy = policy::loss(batch, surrogate, denominator)?;
        let bonus = entropy::bonus(batch, self.entropy_coef, denominator)?;
        let mut divergence = Mean::default();
        for sequence in batch {
            let tokens = (0..sequence.trained.len()).filter(|&token| sequence.trained[token]);
            for token in tokens {
                let (old, now) = (sequence.old_logp[token], sequence.logp[token]);
                divergence.add(kl::estimate(KlEstimator::K3, old, now).value);
            }
        }
        let policy_loss = policy.objective.loss;
        let objective = match self.entropy_coef {
            0.0 => policy.objective,
            _ => policy.objective.plus(&bonus.objective)?,
        };
        let (entropy, statistics) = (bonus.entropy, policy.statistics);
        Ok(PolicyPart { objective, policy_loss, entropy, statistics, divergence })
    }

    /// The critic's part of a batch that is a part of a mini-batch.
    ///
    /// # Errors
    ///
    /// Those of [`value::loss`].
    pub fn critic(&self, batch: &[Valued<'_>], step: Totals) -> Result<CriticPart, AlgoError> {
        let denominator = Denominator { normaliser: Normaliser::TOKEN_MEAN, step };
        let found = value::loss(batch, self.value_range, denominator)?;
        let value_loss = found.objective.loss;
        let objective = found.objective.scaled(self.value_coef);
        Ok(CriticPart { objective, value_loss, value: found.value })
    }
}

/// The rewards of one rollout, token by token: each is charged for its divergence from the reference, by
/// k1 on the policy that sampled, and the last trained one gets the reward of the whole.
///
/// # Errors
///
/// If lists differ in length, or a value is not finite.
pub fn token_rewards(
    trained: &[bool],
    reward: f64,
    kl_coef: f64,
    logps: Option<[&[f64]; 2]>,
) -> Result<Vec<f64>, AlgoError> {
    entries("reward", &[reward])?;
    let mut rewards = vec![0.0; trained.len()];
    if let Some([sampled, reference]) = logps {
        as_many("logp", sampled.len(), trained.len())?;
        as_many("reference_logp", reference.len(), trained.len())?;
        for token in (0..trained.len()).filter(|&token| trained[token]) {
            let estimate = kl::estimate(KlEstimator::K1, sampled[token], reference[token]);
            rewards[token] = -kl_coef * estimate.value;
        }
    }
    if let Some(last) = trained.iter().rposition(|&trained| trained) {
        rewards[last] += reward;
    }
    Ok(rewards)
}

/// Shifts and scales the numbers of trained tokens to a mean of 0 and a standard deviation of 1. Numbers
/// that are all equal become 0.
pub fn whiten(lists: &mut [Vec<f64>], masks: &[Vec<bool>]) {
    let trained = |lists: &[Vec<f64>]| -> Vec<f64> {
        let both = lists.iter().flatten().zip(masks.iter().flatten());
        both.filter(|(_, trained)| **trained).map(|(&value, _)| value).collect()
    };
    let all = trained(lists);
    let count = number(all.len().max(1) as u64);
    let mean = all.iter().sum::<f64>() / count;
    let variance = all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let is_constant = crate::advantage::is_constant(&all);
    let scale = if is_constant { 0.0 } else { 1.0 / variance.sqrt() };
    for (value, _) in
        lists.iter_mut().flatten().zip(masks.iter().flatten()).filter(|(_, trained)| **trained)
    {
        *value = (*value - mean) * scale;
    }
}

/// The coefficient of the divergence from the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KlController {
    /// The coefficient as it is now.
    pub coefficient: f64,
    /// The divergence that it aims at, in nats a completion; 0 keeps the coefficient.
    pub target: f64,
    /// Completions over which it changes.
    pub horizon: f64,
}

impl KlController {
    /// That of the settings, before the first step.
    pub fn new(config: &PpoConfig) -> Self {
        let horizon = f64::from(config.kl_horizon.max(1));
        Self { coefficient: config.kl_coef, target: config.kl_target, horizon }
    }

    /// Answers to the divergence of so many completions.
    pub fn update(&mut self, divergence: f64, completions: usize) {
        if self.target > 0.0 && divergence.is_finite() {
            let error = (divergence / self.target - 1.0).clamp(-MAX_ERROR, MAX_ERROR);
            self.coefficient *= 1.0 + error * number(completions as u64) / self.horizon;
        }
    }
}

#[cfg(test)]
mod tests;
