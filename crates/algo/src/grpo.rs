//! GRPO: the policy loss of groups, held near the reference (arXiv:2402.03300, eq. 3).
//!
//! ```text
//! loss = policy loss + kl_coef · KL(policy ‖ reference)
//! ```
//!
//! Both are means over the trained tokens of the step by default (DAPO's way, arXiv:2503.14476);
//! what the paper itself does is [`Normaliser::SEQUENCE_MEAN`]. A rollout whose group is dead has an
//! advantage of 0: it adds nothing to the policy loss, and still counts in the denominator and in
//! the divergence. Leave it out of the batch and of the totals if it shall not.
//!
//! Where the divergence is charged to the reward (`grpo.kl_in`), the loss has no such term: see
//! [`kl::charge`] and [`of_charged_group`](crate::advantage::of_charged_group).

use whetstone_core::config::{GrpoConfig, KlEstimator, KlIn};

use crate::kl::{self, Penalty};
use crate::policy::{self, Cap, Clip, Statistics, Surrogate};
use crate::{AlgoError, Denominator, Mean, Normaliser, Objective, Sequence, Totals};

/// The loss of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grpo {
    /// The loss of rollouts.
    pub surrogate: Surrogate,
    /// The KL penalty; without it, no `reference_logp` is needed.
    pub penalty: Option<Penalty>,
    /// The denominator.
    pub normaliser: Normaliser,
}

/// The loss of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct GrpoLoss {
    /// The sum of both, and its signal.
    pub objective: Objective,
    /// The policy loss alone.
    pub policy_loss: f64,
    /// The penalty alone, coefficient included.
    pub kl_loss: f64,
    /// Statistics of the policy loss.
    pub statistics: Statistics,
    /// The divergence from the reference, over trained tokens, in nats.
    pub reference_kl: Mean,
    /// The number of clamped ratios and KL estimates.
    pub clamped: u64,
}

impl Grpo {
    /// The loss that the settings ask for.
    ///
    /// # Errors
    ///
    /// If a setting is out of its bounds, or the loss would have `k1` as a term.
    pub fn new(config: &GrpoConfig) -> Result<Self, AlgoError> {
        let mut clip = Clip::new(config.clip_range, config.upper_clip_range())?;
        if config.dual_clip != 0.0 {
            clip = clip.with_dual(config.dual_clip)?;
        }
        let cap = (config.importance_cap != 0.0).then(|| Cap::new(config.importance_cap));
        let surrogate = Surrogate { ratio: config.ratio, clip, cap: cap.transpose()? };
        let penalty = Penalty::new(config);
        let penalty = Some(penalty)
            .filter(|penalty| penalty.coefficient != 0.0 && config.kl_in == KlIn::Loss);
        if penalty.is_some_and(|penalty| penalty.estimator == KlEstimator::K1) {
            return Err(AlgoError::EstimatorInLoss);
        }
        Ok(Self { surrogate, penalty, normaliser: Normaliser::new(config) })
    }

    /// The loss of a batch that is a part of a step.
    ///
    /// # Errors
    ///
    /// Those of [`policy::loss`] and [`kl::penalty`].
    pub fn loss(&self, batch: &[Sequence<'_>], step: Totals) -> Result<GrpoLoss, AlgoError> {
        let denominator = Denominator { normaliser: self.normaliser, step };
        let policy = policy::loss(batch, self.surrogate, denominator)?;
        let mut out = GrpoLoss {
            policy_loss: policy.objective.loss,
            kl_loss: 0.0,
            objective: policy.objective,
            clamped: policy.statistics.clamped,
            statistics: policy.statistics,
            reference_kl: Mean::default(),
        };
        if let Some(penalty) = self.penalty {
            let held = kl::penalty(batch, penalty, denominator)?;
            out.kl_loss = held.objective.loss;
            out.reference_kl = held.divergence;
            out.clamped += held.clamped;
            out.objective = out.objective.plus(&held.objective)?;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::config::RatioOf;

    use super::*;
    use crate::Advantages;
    use crate::testing::{assert_all_near, assert_near, assert_slopes};

    fn sequence<'a>(logp: &'a [f64], old_logp: &'a [f64], reference: &'a [f64]) -> Sequence<'a> {
        Sequence {
            trained: &[true, true],
            logp,
            old_logp,
            sampler_logp: None,
            reference_logp: Some(reference),
            entropy: None,
            advantage: Advantages::Whole(2.0),
            episode_tokens: None,
        }
    }

    const STEP: Totals = Totals { tokens: 4, episodes: 2 };

    #[test]
    fn the_default_settings_are_those_of_the_requirements() {
        let found = Grpo::new(&GrpoConfig::default()).unwrap();
        assert_near(found.surrogate.clip.lowest(), 0.8);
        assert_near(found.surrogate.clip.highest(), 1.2);
        let penalty = Penalty { estimator: KlEstimator::K3, coefficient: 0.05 };
        assert_eq!(found.penalty, Some(penalty));
        assert_eq!((found.surrogate.ratio, found.surrogate.cap), (RatioOf::Token, None));
        assert_eq!(found.normaliser, Normaliser::TOKEN_MEAN);
        let without = Grpo::new(&GrpoConfig { kl_coef: 0.0, ..GrpoConfig::default() }).unwrap();
        assert_eq!(without.penalty, None);
        assert!(Grpo::new(&GrpoConfig { clip_range: 1.5, ..GrpoConfig::default() }).is_err());
    }

    #[test]
    fn k1_is_no_term_of_the_loss_and_a_charge_to_the_reward_needs_none() {
        let k1 = GrpoConfig { kl_estimator: KlEstimator::K1, ..GrpoConfig::default() };
        assert_eq!(Grpo::new(&k1), Err(AlgoError::EstimatorInLoss));
        let charged = GrpoConfig { kl_in: KlIn::Reward, ..k1.clone() };
        assert_eq!(Grpo::new(&charged).unwrap().penalty, None);
        assert_eq!(Penalty::new(&charged).estimator, KlEstimator::K1);
        assert!(Grpo::new(&GrpoConfig { kl_coef: 0.0, ..k1 }).is_ok());
    }

    #[test]
    fn the_second_bound_and_the_cap_are_those_of_the_settings() {
        let config = GrpoConfig { dual_clip: 3.0, importance_cap: 2.0, ..GrpoConfig::default() };
        let found = Grpo::new(&config).unwrap().surrogate;
        assert_eq!(found.clip, Clip::new(0.2, 0.2).unwrap().with_dual(3.0).unwrap());
        assert_eq!(found.cap, Some(Cap::new(2.0).unwrap()));
        assert!(Grpo::new(&GrpoConfig { dual_clip: 1.1, ..GrpoConfig::default() }).is_err());
    }

    /// Ratios 1 and 2 with an advantage of 2 (the second is clipped at 1.2), the first token twice
    /// as likely as in the reference, the second as likely; four tokens in the step:
    /// `-(2 + 2.4) / 4` and `0.05 · (ln 2 - 1/2) / 4`.
    #[test]
    fn worked_by_hand_and_by_differences() {
        let ln2 = std::f64::consts::LN_2;
        let (logp, old) = ([-1.0, -1.0], [-1.0, -1.0 - ln2]);
        let reference = [-1.0 - ln2, -1.0];
        let grpo = Grpo::new(&GrpoConfig::default()).unwrap();
        let at = |logp: &[f64]| grpo.loss(&[sequence(logp, &old, &reference)], STEP).unwrap();
        let found = at(&logp);
        assert_near(found.policy_loss, -1.1);
        assert_near(found.kl_loss, 0.05 * (ln2 - 0.5) / 4.0);
        assert_near(found.objective.loss, found.policy_loss + found.kl_loss);
        assert_all_near(&found.objective.signals.dlogp, &[-0.5 + 0.05 * 0.5 / 4.0, 0.0]);
        assert_near(found.reference_kl.get().unwrap(), (ln2 - 0.5) / 2.0);
        assert_eq!(found.statistics.clipped_high, 1);
        assert_slopes(&found.objective.signals.dlogp, &logp, |logp| at(logp).objective.loss);
    }

    #[test]
    fn without_a_penalty_no_reference_is_needed() {
        let grpo = Grpo::new(&GrpoConfig::default()).unwrap();
        let numbers = [-1.0, -2.0];
        let bare = Sequence { reference_logp: None, ..sequence(&numbers, &numbers, &numbers) };
        let error = grpo.loss(&[bare], STEP).unwrap_err();
        assert_eq!(error, AlgoError::Missing { what: "reference_logp", sequence: 0 });
        let free = Grpo { penalty: None, ..grpo };
        let found = free.loss(&[bare], STEP).unwrap();
        assert_near(found.objective.loss, -1.0);
        assert_near(found.kl_loss, 0.0);
        assert_eq!(found.reference_kl.get(), None);
    }
}
