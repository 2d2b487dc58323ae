//! Metrics of a step of PPO, by the names under which they are recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use whetstone_algo::Mean;
use whetstone_algo::explained_variance::explained_variance;
use whetstone_algo::policy::Statistics;
use whetstone_algo::ppo::{CriticPart, PolicyPart};
use whetstone_core::metric;

use super::experience::{Experience, Experiences};
use crate::error::TrainError;
use crate::rollouts::metrics::{Collected, RewardMetrics, of_rollouts};
use crate::rollouts::paid::Paid;
use crate::rollouts::process::ProcessPaid;
use crate::rollouts::tasks::StepRollouts;
use crate::rollouts::values::{Values, number};
use crate::update::Updated;

const REWARDS: RewardMetrics = RewardMetrics {
    mean: metric::PPO_MEAN_REWARD,
    std: metric::PPO_REWARD_STD,
    pass_rate: metric::PPO_PASS_RATE,
};

/// Measurements of the updates of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct LearnMeasured {
    pub(super) took: Duration,
    /// Updates that were made.
    pub(super) updates: usize,
    /// Mini-batches that were computed; the last may have been left out.
    pub(super) mini_batches: usize,
    /// Mini-batches that were left out.
    pub(super) skipped: usize,
    /// KL(old ‖ new) after the updates.
    pub(super) kl: Option<f64>,
    policy_loss: f64,
    value_loss: f64,
    entropy: Mean,
    value: Mean,
    statistics: Statistics,
    /// The largest difference between a log-probability as sampled and as trained.
    gap: Option<f64>,
    norm: f64,
    lr: f64,
    /// Updates that changed nothing, since there was no gradient.
    empty_updates: usize,
    /// Updates in which the gradient of the policy or of the critic was clipped.
    clipped_updates: usize,
}

impl LearnMeasured {
    /// Adds the policy's part of a completion.
    pub(super) fn policy(&mut self, found: &PolicyPart) {
        self.policy_loss += found.policy_loss;
        self.entropy.merge(found.entropy);
        self.statistics.merge(&found.statistics);
    }

    /// Adds the critic's part of a completion.
    pub(super) fn critic(&mut self, found: &CriticPart) {
        self.value_loss += found.value_loss;
        self.value.merge(found.value);
    }

    /// Compares the trainer's log-probabilities with the sampler's.
    pub(super) fn compare(&mut self, experience: &Experience, logp: &[f64]) {
        let both = experience.sampled.iter().zip(logp).zip(&experience.mask);
        let gaps = both.filter(|(_, trained)| **trained).map(|((old, now), _)| (old - now).abs());
        self.gap = Some(gaps.fold(self.gap.unwrap_or(0.0), f64::max));
    }

    /// Counts an update.
    pub(super) fn updated(&mut self, updated: Updated, lr: f64) {
        self.updates += 1;
        self.empty_updates += usize::from(updated.is_skipped);
        self.clipped_updates += usize::from(updated.is_clipped);
        (self.norm, self.lr) = (updated.norm, lr);
    }

    fn put(&self, values: &mut Values) {
        let (seen, count) = (&self.statistics, number(self.mini_batches.max(1)));
        values.put(metric::PPO_POLICY_LOSS, self.policy_loss / count);
        values.put(metric::PPO_VALUE_LOSS, self.value_loss / number(self.updates.max(1)));
        values.put_some(metric::PPO_ENTROPY, self.entropy.get());
        values.put_some(metric::PPO_KL_DIVERGENCE, self.kl);
        values.put_some(metric::PPO_RATIO_MEAN, seen.ratio_mean());
        values.put_some(metric::PPO_RATIO_STD, seen.ratio_std());
        values.put_some(metric::PPO_CLIP_FRACTION, seen.clip_fraction());
        values.put_some(metric::PPO_VALUE_PRED_MEAN, self.value.get());
        values.put(metric::PPO_UPDATES, number(self.updates));
        values.put(metric::PPO_SKIPPED_MINI_BATCHES, number(self.skipped));
        values.put_some(metric::PPO_SAMPLER_GAP, self.gap);
        values.put(metric::TRAIN_GRAD_NORM, self.norm);
        values.put(metric::TRAIN_LR, self.lr);
        values.put(metric::TRAIN_SKIPPED_UPDATES, number(self.empty_updates));
        values.put(metric::TRAIN_CLIPPED_UPDATES, number(self.clipped_updates));
        values.put(metric::TIME_LEARNING_S, self.took.as_secs_f64());
    }
}

/// Measurements of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    pub(super) collected: Collected,
    /// The passes of critic, reference and reward model.
    pub(super) scoring: Duration,
    pub(super) learnt: LearnMeasured,
    /// The coefficient of the divergence from the reference.
    pub(super) kl_coef: f64,
    /// What the reward model said, if there is one.
    pub(super) paid: Option<Paid>,
    /// What the process reward model said, if there is one.
    pub(super) process: Option<ProcessPaid>,
}

impl Measured {
    /// Everything by name.
    pub(super) fn values(
        &self,
        step_rollouts: &StepRollouts,
        experiences: &Experiences,
        took: Duration,
    ) -> Result<BTreeMap<String, f64>, TrainError> {
        let mut values = Values::default();
        of_rollouts(step_rollouts, REWARDS, &mut values);
        self.learnt.put(&mut values);
        if let Some(paid) = self.paid {
            paid.put(&mut values);
        }
        if let Some(process) = self.process {
            process.put(&mut values);
        }
        for (metric, (predicted, returns)) in [
            (metric::PPO_EXPLAINED_VARIANCE, experiences.baselines()),
            (metric::PPO_EXPLAINED_VARIANCE_TOKENS, experiences.predictions()),
        ] {
            values.put_some(metric, explained_variance(&predicted, &returns)?);
        }
        values.put_some(metric::PPO_MEAN_ADVANTAGE, experiences.mean_advantage);
        values.put_some(metric::PPO_MEAN_RETURN, experiences.mean_return);
        values.put_some(metric::PPO_REFERENCE_KL, experiences.reference_kl.get());
        values.put(metric::PPO_KL_COEF, self.kl_coef);
        values.put(metric::TIME_REFERENCE_S, self.scoring.as_secs_f64());
        values.put(metric::TIME_STEP_S, took.as_secs_f64());
        self.collected.put(step_rollouts, &mut values);
        Ok(values.0)
    }
}
