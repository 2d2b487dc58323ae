//! Measurements of the updates of a step, returned by the learner.

use std::time::Duration;

use whetstone_algo::Mean;
use whetstone_algo::grpo::GrpoLoss;
use whetstone_algo::policy::Statistics;
use whetstone_core::metric::{self, Metric};

use super::budget::SourceWeights;
use crate::rollouts::values::{Values, number};
use crate::update::Updated;

/// Measurements of one source beside the rollouts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SourceMeasured {
    /// The norm of its gradient, weight included.
    pub(super) norm: f64,
    /// Its angle to the gradient of the rollouts.
    pub(super) cosine: Option<f64>,
    /// The surprise of its tokens; in distillation their reverse KL divergence.
    pub(super) loss: Mean,
}

/// Measurements of the policy loss of an update.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PolicyMeasured {
    /// The norm of the gradient.
    pub(super) grad_norm: f64,
    /// The divergence from the reference, in nats a token.
    pub(super) reference_kl: Mean,
    policy_loss: f64,
    kl_loss: f64,
    /// Ratios and estimates that were clamped.
    clamped: u64,
    statistics: Statistics,
    /// The largest difference between a log-probability as sampled and as trained; none where nothing
    /// was compared.
    gap: Option<f64>,
}

/// Measurements of one update.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpdateMeasured {
    pub(super) policy: PolicyMeasured,
    pub(super) teacher: Option<SourceMeasured>,
    pub(super) self_sft: Option<SourceMeasured>,
    pub(super) distill: Option<SourceMeasured>,
    pub(super) updated: Updated,
    pub(super) weights: SourceWeights,
    pub(super) lr: f64,
}

/// Measurements of the updates of a step. Those of a pass are means over its updates, or counts; those
/// of the last pass are kept.
#[derive(Debug, Clone, Default)]
pub(super) struct LearnMeasured {
    pub(super) took: Duration,
    lr: f64,
    weights: SourceWeights,
    teacher: Option<SourceMeasured>,
    self_sft: Option<SourceMeasured>,
    distill: Option<SourceMeasured>,
    /// How far the updates moved the policy that sampled; of recorded rollouts, how far the student is
    /// from that policy after them.
    pub(super) update_kl: Mean,
    /// The divergence from the reference after the updates, where it is no part of the loss and has no
    /// budget.
    pub(super) reference_kl: Mean,
    /// The norm of the whole gradient, before it was clipped.
    norm: f64,
    /// Updates that were not made, since there was no gradient.
    skipped_updates: usize,
    policy: PolicyMeasured,
}

impl SourceMeasured {
    /// The mean over updates that had rows of a source; none if none had.
    fn mean(updates: impl Iterator<Item = Self>) -> Option<Self> {
        let (mut norm, mut cosine, mut loss) = (Mean::default(), Mean::default(), Mean::default());
        for update in updates {
            norm.add(update.norm);
            loss.merge(update.loss);
            update.cosine.into_iter().for_each(|value| cosine.add(value));
        }
        norm.get().map(|norm| Self { norm, cosine: cosine.get(), loss })
    }
}

impl PolicyMeasured {
    /// Adds the loss of a sequence.
    pub(super) fn add(&mut self, found: &GrpoLoss) {
        self.policy_loss += found.policy_loss;
        self.kl_loss += found.kl_loss;
        self.clamped += found.clamped;
        self.statistics.merge(&found.statistics);
        self.reference_kl.merge(found.reference_kl);
    }

    /// Compares the trainer's log-probabilities with the sampler's.
    pub(super) fn compare(&mut self, sampled: &[f64], trained: &[f64]) {
        let gaps = sampled.iter().zip(trained).map(|(sampled, trained)| (sampled - trained).abs());
        self.gap = Some(gaps.fold(self.gap.unwrap_or(0.0), f64::max));
    }
}

impl LearnMeasured {
    /// Takes in the updates of a pass. The gap is that of the first update of a step, which alone
    /// compares.
    pub(super) fn pass(&mut self, updates: &[UpdateMeasured]) {
        let Some(last) = updates.last() else { return };
        let count = number(updates.len());
        let policies = || updates.iter().map(|update| update.policy);
        let mean = |of: fn(&PolicyMeasured) -> f64| {
            policies().map(|policy| of(&policy)).sum::<f64>() / count
        };
        let mut policy = PolicyMeasured {
            grad_norm: mean(|policy| policy.grad_norm),
            policy_loss: mean(|policy| policy.policy_loss),
            kl_loss: mean(|policy| policy.kl_loss),
            ..PolicyMeasured::default()
        };
        for own in policies() {
            policy.reference_kl.merge(own.reference_kl);
            policy.clamped += own.clamped;
            policy.statistics.merge(&own.statistics);
        }
        policy.gap = policies().find_map(|policy| policy.gap).or(self.policy.gap);
        self.policy = policy;
        self.teacher = SourceMeasured::mean(updates.iter().filter_map(|update| update.teacher));
        self.self_sft = SourceMeasured::mean(updates.iter().filter_map(|update| update.self_sft));
        self.distill = SourceMeasured::mean(updates.iter().filter_map(|update| update.distill));
        self.norm = updates.iter().map(|update| update.updated.norm).sum::<f64>() / count;
        self.skipped_updates += updates.iter().filter(|update| update.updated.is_skipped).count();
        (self.weights, self.lr) = (last.weights, last.lr);
    }

    /// Everything but times, by name. `is_recorded`: rollouts come from a file.
    #[expect(clippy::cast_precision_loss, reason = "tokens of a step")]
    pub(super) fn put(&self, is_recorded: bool, values: &mut Values) {
        let (policy, seen) = (&self.policy, &self.policy.statistics);
        values.put(metric::GRPO_POLICY_LOSS, policy.policy_loss);
        values.put(metric::GRPO_KL_LOSS, policy.kl_loss);
        let reference_kl = policy.reference_kl.get().or(self.reference_kl.get());
        values.put_some(metric::GRPO_KL_DIVERGENCE, reference_kl);
        let moved = if is_recorded { metric::GRPO_STALENESS_KL } else { metric::GRPO_UPDATE_KL };
        values.put_some(moved, self.update_kl.get());
        values.put(metric::GRPO_CLAMPED, policy.clamped as f64);
        values
            .put(metric::GRPO_CLAMPED_FRACTION, policy.clamped as f64 / seen.tokens.max(1) as f64);
        values.put_some(metric::GRPO_IMPORTANCE_MEAN, seen.importance.get());
        let truncated = seen.importance.get().and_then(|_| seen.truncated_fraction());
        values.put_some(metric::GRPO_IMPORTANCE_TRUNCATED, truncated);
        values.put_some(metric::GRPO_ENTROPY, seen.entropy.get());
        values.put_some(metric::GRPO_RATIO_MEAN, seen.ratio_mean());
        values.put_some(metric::GRPO_RATIO_STD, seen.ratio_std());
        values.put_some(metric::GRPO_CLIP_FRACTION, seen.clip_fraction());
        values.put(metric::GRPO_GRAD_NORM, policy.grad_norm);
        values.put_some(metric::GRPO_SAMPLER_GAP, policy.gap);
        values.put(metric::TRAIN_GRAD_NORM, self.norm);
        values.put(metric::TRAIN_LR, self.lr);
        values.put(metric::TRAIN_SKIPPED_UPDATES, number(self.skipped_updates));
        self.put_sources(values);
    }

    fn put_sources(&self, values: &mut Values) {
        let names =
            [metric::TEACHER_SFT_LOSS, metric::TEACHER_SFT_GRAD_NORM, metric::TEACHER_SFT_COSINE];
        put_source(values, names, self.teacher);
        let names = [metric::SELF_SFT_LOSS, metric::SELF_SFT_GRAD_NORM, metric::SELF_SFT_COSINE];
        put_source(values, names, self.self_sft);
        values.put(metric::TEACHER_SFT_WEIGHT, self.weights.teacher_sft);
        values.put(metric::SELF_SFT_WEIGHT, self.weights.self_sft);
        let names = [metric::DISTILL_KL, metric::DISTILL_GRAD_NORM, metric::DISTILL_COSINE];
        put_source(values, names, self.distill);
        if self.weights.distill > 0.0 {
            values.put(metric::DISTILL_WEIGHT, self.weights.distill);
        }
    }
}

/// Puts loss, norm and cosine of a source, where there are any.
fn put_source(
    values: &mut Values,
    [loss, norm, cosine]: [Metric; 3],
    source: Option<SourceMeasured>,
) {
    if let Some(source) = source {
        values.put_some(loss, source.loss.get());
        values.put(norm, source.norm);
        values.put_some(cosine, source.cosine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(measured: &LearnMeasured, name: &str) -> Option<f64> {
        let mut values = Values::default();
        measured.put(false, &mut values);
        values.0.get(name).copied()
    }

    fn update(policy: PolicyMeasured, norm: f64) -> UpdateMeasured {
        UpdateMeasured {
            policy,
            teacher: None,
            self_sft: None,
            distill: None,
            updated: Updated { norm, is_skipped: norm == 0.0 },
            weights: SourceWeights::default(),
            lr: norm / 8.0,
        }
    }

    #[test]
    fn the_gap_is_the_largest_of_all_tokens_of_the_first_update_either_way() {
        let mut first = PolicyMeasured::default();
        first.compare(&[-1.0, -2.0], &[-1.25, -2.0]);
        first.compare(&[-1.0], &[-0.5]);
        first.compare(&[-1.0], &[-1.0]);
        let mut measured = LearnMeasured::default();
        measured.pass(&[update(first, 1.0), update(PolicyMeasured::default(), 1.0)]);
        let last = PolicyMeasured { grad_norm: 3.0, ..PolicyMeasured::default() };
        measured.pass(&[update(last, 1.0)]);
        assert_eq!(value(&measured, "grpo/sampler_gap"), Some(0.5));
        assert_eq!(value(&measured, "grpo/grad_norm"), Some(3.0), "the last pass");
    }

    #[test]
    fn the_mini_batches_of_the_last_pass_are_told_by_their_mean_and_skipped_updates_are_counted() {
        let of = |grad_norm, policy_loss| PolicyMeasured {
            grad_norm,
            policy_loss,
            clamped: 2,
            ..PolicyMeasured::default()
        };
        let mut measured = LearnMeasured::default();
        measured.pass(&[update(of(9.0, 9.0), 0.0), update(of(9.0, 9.0), 9.0)]);
        measured.pass(&[update(of(1.0, -0.5), 0.0), update(of(2.0, 1.0), 3.0)]);
        let expected = [
            ("grpo/grad_norm", 1.5),
            ("grpo/policy_loss", 0.25),
            ("grpo/clamped", 4.0),
            ("train/grad_norm", 1.5),
            ("train/skipped_updates", 2.0),
            ("train/lr", 0.375),
        ];
        for (name, expected) in expected {
            assert_eq!(value(&measured, name), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_source_is_told_by_the_updates_that_had_rows_of_it() {
        let source = |norm, cosine, surprises: &[f64]| {
            let mut loss = Mean::default();
            for &surprise in surprises {
                loss.add(surprise);
            }
            Some(SourceMeasured { norm, cosine, loss })
        };
        let plain = update(PolicyMeasured::default(), 1.0);
        let first = UpdateMeasured { teacher: source(2.0, None, &[1.0, 1.0]), ..plain };
        let third = UpdateMeasured { teacher: source(4.0, Some(0.5), &[4.0]), ..plain };
        let mut measured = LearnMeasured::default();
        measured.pass(&[first, plain, third]);
        assert_eq!(value(&measured, "teacher_sft/grad_norm"), Some(3.0));
        assert_eq!(value(&measured, "teacher_sft/cosine"), Some(0.5));
        assert_eq!(value(&measured, "teacher_sft/loss"), Some(2.0), "over its tokens");
        assert_eq!(value(&measured, "self_sft/loss"), None);
    }

    #[test]
    fn every_source_has_its_own_names() {
        let mut loss = Mean::default();
        loss.add(3.0);
        let teacher = Some(SourceMeasured { norm: 2.0, cosine: Some(-0.5), loss });
        let distill = Some(SourceMeasured { norm: 4.0, cosine: None, loss });
        let weights = SourceWeights { teacher_sft: 0.3, self_sft: 0.2, distill: 0.7 };
        let measured = LearnMeasured { weights, teacher, distill, ..LearnMeasured::default() };
        assert_eq!(
            ["loss", "grad_norm", "cosine", "weight"]
                .map(|name| value(&measured, &format!("teacher_sft/{name}"))),
            [Some(3.0), Some(2.0), Some(-0.5), Some(0.3)]
        );
        assert_eq!(value(&measured, "self_sft/weight"), Some(0.2));
        assert_eq!(value(&measured, "self_sft/grad_norm"), None);
        assert_eq!(
            ["kl", "grad_norm", "cosine", "weight"]
                .map(|name| value(&measured, &format!("distill/{name}"))),
            [Some(3.0), Some(4.0), None, Some(0.7)]
        );
    }
}
