//! A budget of divergence: how far from the reference the cross-entropies may pull the student.
//!
//! The SFT losses have a gradient even where rollouts have none, and in public runs such a weight made
//! the divergence run away. Beyond the budget both weights are multiplied by `budget /
//! divergence`.

use whetstone_algo::Mean;
use whetstone_algo::grpo::Grpo as Loss;
use whetstone_algo::kl::{self, Penalty};
use whetstone_core::config::{Config, DualSourceConfig, KlEstimator};

use crate::error::TrainError;

/// Whether there is a budget.
pub(super) fn is_set(config: &Config) -> bool {
    config.dual_source.kl_budget > 0.0
}

/// Whether the divergence from the student as it was is measured: it costs something, or has a budget.
pub(crate) fn measures_kl(config: &Config) -> bool {
    config.grpo.kl_coef > 0.0 || is_set(config)
}

/// The loss of the settings. With a budget, or where rewards are charged for it, it measures the
/// divergence, even if that is no term of the loss.
pub(super) fn loss(config: &Config) -> Result<Loss, TrainError> {
    let mut loss = Loss::new(&config.grpo)?;
    if loss.penalty.is_none() && measures_kl(config) {
        loss.penalty = Some(Penalty { coefficient: 0.0, ..Penalty::new(&config.grpo) });
    }
    Ok(loss)
}

/// The weights of the sources beside the rollouts in an update.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SourceWeights {
    pub(super) teacher_sft: f64,
    pub(super) self_sft: f64,
    pub(super) distill: f64,
}

/// The weights of a step: those of the settings, unless the student is too far from the reference.
pub(super) fn scaled_weights(weights: &DualSourceConfig, divergence: Option<f64>) -> SourceWeights {
    let budget = weights.kl_budget;
    let mut held = SourceWeights {
        teacher_sft: weights.teacher_sft_weight,
        self_sft: weights.self_sft_weight,
        distill: weights.distill_weight,
    };
    if let Some(divergence) = divergence.filter(|&divergence| budget > 0.0 && divergence > budget) {
        held.teacher_sft *= budget / divergence;
        held.self_sft *= budget / divergence;
    }
    held
}

/// The divergence of log-probabilities from those of the reference.
pub(super) fn divergence(loss: Loss, now: &[Vec<f64>], reference: &[Vec<f64>]) -> Mean {
    let estimator = loss.penalty.map_or(KlEstimator::K3, |penalty| penalty.estimator);
    let mut mean = Mean::default();
    for (&now, &reference) in now.iter().flatten().zip(reference.iter().flatten()) {
        mean.add(kl::estimate(estimator, now, reference).value);
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(weights: [f64; 2]) -> [u64; 2] {
        weights.map(f64::to_bits)
    }

    /// The teacher's and the own best's weight.
    fn held(kl_budget: f64, divergence: Option<f64>) -> [u64; 2] {
        let weights =
            DualSourceConfig { kl_budget, distill_weight: 0.7, ..DualSourceConfig::default() };
        let held = scaled_weights(&weights, divergence);
        assert_eq!(held.distill.to_bits(), 0.7_f64.to_bits(), "distillation is not held back");
        bits([held.teacher_sft, held.self_sft])
    }

    #[test]
    fn beyond_the_budget_both_weights_shrink_with_the_divergence() {
        assert_eq!(held(0.5, Some(2.0)), bits([0.3 * 0.25, 0.2 * 0.25]));
        assert_eq!(held(0.5, Some(0.5)), bits([0.3, 0.2]), "a budget may be spent");
        assert_eq!(held(0.5, None), bits([0.3, 0.2]));
        assert_eq!(held(0.5, Some(-1.0)), bits([0.3, 0.2]), "as k1 may be");
        assert_eq!(held(0.0, Some(9.0)), bits([0.3, 0.2]), "no budget");
    }

    #[test]
    fn a_budget_is_measured_even_where_the_divergence_costs_nothing() {
        let mut config = Config::default();
        config.grpo.kl_coef = 0.0;
        assert_eq!(loss(&config).unwrap().penalty, None);
        config.dual_source.kl_budget = 0.1;
        let penalty = loss(&config).unwrap().penalty.unwrap();
        assert_eq!(penalty, Penalty { estimator: KlEstimator::K3, coefficient: 0.0 });
        config.grpo.kl_coef = 0.05;
        let coefficient =
            |config: &Config| loss(config).unwrap().penalty.unwrap().coefficient.to_bits();
        assert_eq!(coefficient(&config), 0.05_f64.to_bits());
        config.dual_source.kl_budget = 0.0;
        config.grpo.kl_in = whetstone_core::config::KlIn::Reward;
        assert_eq!(coefficient(&config), 0.0_f64.to_bits(), "measured, and charged elsewhere");
    }

    #[test]
    fn the_divergence_of_a_step_is_the_mean_over_its_tokens() {
        let mut config = Config::default();
        config.grpo.kl_estimator = KlEstimator::K1;
        config.grpo.kl_in = whetstone_core::config::KlIn::Reward;
        let loss = loss(&config).unwrap();
        let (now, reference) =
            (vec![vec![-1.0, -2.0], vec![-3.0]], vec![vec![-1.5, -2.0], vec![-4.0]]);
        let found = divergence(loss, &now, &reference);
        assert_eq!((found.get(), found.count()), (Some(0.5), 3));
    }
}
