//! KL divergence of the policy from the reference, estimated from sampled tokens.
//!
//! With `d = logp - reference_logp` of a token that the policy itself sampled (J. Schulman,
//! "Approximating KL divergence", 2020, joschu.net/blog/kl-approx.html):
//!
//! ```text
//!        value            by logp       KL(policy ‖ reference) in the mean?
//! k1     d                1             exactly, of either sign
//! k2     d² / 2           d             nearly, never negative
//! k3     e^-d - 1 + d     1 - e^-d      exactly, never negative; GRPO, arXiv:2402.03300, eq. 4
//! ```
//!
//! An unbiased estimator of the divergence need not have an unbiased gradient. In the mean over sampled tokens, that of k1 is 0: as a loss it holds nothing back, and
//! it is of use in a reward or on a dashboard. That of k2 is the gradient of the divergence. That of
//! k3 is the gradient of the divergence the other way round, KL(reference ‖ policy), which is what
//! GRPO trains with.
//!
//! `d` is clamped to ±[`MAX_LOG_RATIO`] and the estimate to ±[`MAX_ESTIMATE`], as verl does: at `d = -20`
//! the slope of k3 would be -5e8, and one such token would own the gradient. Where a clamp takes hold the
//! slope is 0, and the token is counted.

use whetstone_core::config::{GrpoConfig, KlEstimator};

use crate::error::{as_many, entries, setting};
use crate::sequence::TrainedTokens;
use crate::{AlgoError, Denominator, Mean, Objective, Sequence, Totals};

/// The largest difference of log-probabilities that a ratio is computed of.
pub const MAX_LOG_RATIO: f64 = 20.0;

/// The largest estimate of the divergence at one token.
pub const MAX_ESTIMATE: f64 = 10.0;

/// A divergence as a part of a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalty {
    /// The estimator.
    pub estimator: KlEstimator,
    /// The coefficient.
    pub coefficient: f64,
}

/// The penalty of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KlLoss {
    /// The loss, coefficient included, and its signal.
    pub objective: Objective,
    /// The divergence itself, over trained tokens, in nats.
    pub divergence: Mean,
    /// Trained tokens whose estimate was clamped.
    pub clamped: u64,
}

/// The estimate at one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KlEstimate {
    /// The estimate, in nats.
    pub value: f64,
    /// Its derivative by `logp`.
    pub slope: f64,
    /// Whether a clamp took hold; the slope is then 0.
    pub clamped: bool,
}

/// The estimate at one token.
pub fn estimate(estimator: KlEstimator, logp: f64, reference_logp: f64) -> KlEstimate {
    let moved = logp - reference_logp;
    let d = moved.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO);
    let (value, slope) = match estimator {
        KlEstimator::K1 => (d, 1.0),
        KlEstimator::K2 => (d * d / 2.0, d),
        KlEstimator::K3 => ((-d).exp_m1() + d, -(-d).exp_m1()),
    };
    let clamped = moved.abs() > MAX_LOG_RATIO || value.abs() > MAX_ESTIMATE;
    let value = value.clamp(-MAX_ESTIMATE, MAX_ESTIMATE);
    KlEstimate { value, slope: if clamped { 0.0 } else { slope }, clamped }
}

impl Penalty {
    /// That of the settings, wherever it is charged.
    pub fn new(config: &GrpoConfig) -> Self {
        Self { estimator: config.kl_estimator, coefficient: config.kl_coef }
    }
}

/// What a rollout is charged where the divergence is a deduction from its reward: the estimates of its
/// tokens, added up and multiplied by the coefficient.
///
/// `logp` are those of the policy that sampled, so that the charge is a constant of the update.
///
/// # Errors
///
/// If there is not one `reference_logp` for each `logp`, or one of either is not finite.
pub fn charge(penalty: Penalty, logp: &[f64], reference_logp: &[f64]) -> Result<f64, AlgoError> {
    as_many("reference_logp", reference_logp.len(), logp.len())?;
    entries("logp", logp)?;
    entries("reference_logp", reference_logp)?;
    let both = logp.iter().zip(reference_logp);
    let estimates =
        both.map(|(&logp, &reference)| estimate(penalty.estimator, logp, reference).value);
    Ok(penalty.coefficient * estimates.sum::<f64>())
}

/// The weighted sum of estimates over the trained tokens of a batch.
///
/// # Errors
///
/// If a sequence lacks `reference_logp`, a value is not finite, or the step is smaller than the batch.
pub fn penalty(
    batch: &[Sequence<'_>],
    penalty: Penalty,
    denominator: Denominator,
) -> Result<KlLoss, AlgoError> {
    let Penalty { estimator, coefficient } = penalty;
    setting("the KL coefficient", coefficient, coefficient >= 0.0, "0 or more")?;
    denominator.covers(Totals::of(batch))?;
    let mut out = KlLoss::default();
    for (at, sequence) in batch.iter().enumerate() {
        let place = TrainedTokens { sequence: at, trained: sequence.trained };
        place.check("logp", sequence.logp)?;
        let reference = place.needed("reference_logp", sequence.reference_logp)?;
        let weight = coefficient * denominator.weight_in(sequence, place);
        let mut dlogp = vec![0.0; sequence.trained.len()];
        for token in place.tokens() {
            let estimate = estimate(estimator, sequence.logp[token], reference[token]);
            out.divergence.add(estimate.value);
            out.clamped += u64::from(estimate.clamped);
            out.objective.loss += weight * estimate.value;
            dlogp[token] = weight * estimate.slope;
        }
        out.objective.signals.dlogp.append(&mut dlogp);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{assert_all_near, assert_near, assert_slopes, slopes};
    use crate::{Advantages, Normaliser};

    const EVERY: [KlEstimator; 3] = [KlEstimator::K1, KlEstimator::K2, KlEstimator::K3];

    fn sequence<'a>(trained: &'a [bool], logp: &'a [f64], reference: &'a [f64]) -> Sequence<'a> {
        Sequence {
            trained,
            logp,
            old_logp: &[],
            sampler_logp: None,
            reference_logp: Some(reference),
            entropy: None,
            advantage: Advantages::Whole(f64::NAN),
            episode_tokens: None,
        }
    }

    fn token_mean(tokens: u64) -> Denominator {
        let step = Totals { tokens, episodes: tokens };
        Denominator { normaliser: Normaliser::TOKEN_MEAN, step }
    }

    /// The policy gives 1/2 where the reference gives 1/4, so `d = ln 2` and `e^-d = 1/2`; and the
    /// other way round, `d = -ln 2` and `e^-d = 2`.
    #[test]
    fn estimates_worked_by_hand() {
        let ln2 = std::f64::consts::LN_2;
        let (half, quarter) = (0.5_f64.ln(), 0.25_f64.ln());
        for (estimator, up, up_slope, down, down_slope) in [
            (KlEstimator::K1, ln2, 1.0, -ln2, 1.0),
            (KlEstimator::K2, ln2 * ln2 / 2.0, ln2, ln2 * ln2 / 2.0, -ln2),
            (KlEstimator::K3, ln2 - 0.5, 0.5, 1.0 - ln2, -1.0),
        ] {
            let (above, below) =
                (estimate(estimator, half, quarter), estimate(estimator, quarter, half));
            assert_near(above.value, up);
            assert_near(above.slope, up_slope);
            assert_near(below.value, down);
            assert_near(below.slope, down_slope);
            assert!(!above.clamped && !below.clamped);
        }
    }

    /// Two tokens, one of them with `d = ln 2` and one with 0, of a step with four in all:
    /// 0.05 · (ln 2 - 1/2) / 4 with a signal of 0.05 · 1/2 / 4 at the first.
    #[test]
    fn a_penalty_worked_by_hand() {
        let (logp, reference) = ([0.5_f64.ln(), -9.0, -3.0], [0.25_f64.ln(), f64::NAN, -3.0]);
        let batch = [sequence(&[true, false, true], &logp, &reference)];
        let settings = Penalty { estimator: KlEstimator::K3, coefficient: 0.05 };
        let found = penalty(&batch, settings, token_mean(4)).unwrap();
        let divergence = std::f64::consts::LN_2 - 0.5;
        assert_near(found.objective.loss, 0.05 * divergence / 4.0);
        assert_all_near(&found.objective.signals.dlogp, &[0.05 * 0.5 / 4.0, 0.0, 0.0]);
        assert_near(found.divergence.get().unwrap(), divergence / 2.0);
    }

    #[test]
    fn what_makes_no_penalty_is_refused() {
        let settings = Penalty { estimator: KlEstimator::K3, coefficient: 0.05 };
        let refused = |batch: Sequence<'_>, settings| {
            penalty(&[batch], settings, token_mean(1)).unwrap_err().to_string()
        };
        let good = sequence(&[true], &[-1.0], &[-1.0]);
        assert!(penalty(&[good], Penalty { coefficient: 0.0, ..settings }, token_mean(1)).is_ok());
        let found = refused(good, Penalty { coefficient: -0.1, ..settings });
        assert!(found.starts_with("the KL coefficient is -0.1;"), "{found}");
        let found = refused(Sequence { reference_logp: None, ..good }, settings);
        assert!(found.starts_with("sequence 0 has no reference_logp;"), "{found}");
        let found = refused(sequence(&[true], &[f64::NAN], &[-1.0]), settings);
        assert!(found.starts_with("logp of token 0 in sequence 0 is NaN;"), "{found}");
        assert!(penalty(&[good], settings, token_mean(0)).is_err());
    }

    /// e^1000 is beyond the largest number: such a token is counted, and pulls nowhere.
    #[test]
    fn a_token_far_off_is_clamped_and_counted() {
        let (logp, reference) = ([-1000.0, 0.0, -1.0], [0.0, -1000.0, -1.5]);
        let batch = [sequence(&[true; 3], &logp, &reference)];
        for (estimator, values) in [
            (KlEstimator::K1, [-10.0, 10.0, 0.5]),
            (KlEstimator::K2, [10.0, 10.0, 0.125]),
            (KlEstimator::K3, [10.0, 10.0, (-0.5_f64).exp() - 0.5]),
        ] {
            let settings = Penalty { estimator, coefficient: 1.0 };
            let found = penalty(&batch, settings, token_mean(1)).unwrap_err().to_string();
            assert!(found.starts_with("this batch trains 3 tokens"), "{found}");
            let found = penalty(&batch, settings, token_mean(3)).unwrap();
            assert_eq!(found.clamped, 2);
            assert_near(found.divergence.get().unwrap(), values.iter().sum::<f64>() / 3.0);
            assert_all_near(&found.objective.signals.dlogp[..2], &[0.0, 0.0]);
            assert!(found.objective.signals.dlogp[2] > 0.0);
        }
    }

    /// Two tokens with `d` = 1 and -3: k1 charges 0.1 · (1 - 3), k2 0.1 · (1/2 + 9/2).
    #[test]
    fn a_charge_is_the_sum_over_the_tokens_of_a_rollout() {
        let of = |estimator, reference: &[f64]| {
            charge(Penalty { estimator, coefficient: 0.1 }, &[-1.0, -4.0], reference)
        };
        assert_near(of(KlEstimator::K1, &[-2.0, -1.0]).unwrap(), -0.2);
        assert_near(of(KlEstimator::K2, &[-2.0, -1.0]).unwrap(), 0.5);
        let error = of(KlEstimator::K1, &[-2.0]).unwrap_err().to_string();
        assert!(error.starts_with("there are 1 of reference_logp, but 2"), "{error}");
        let error = of(KlEstimator::K1, &[-2.0, f64::NAN]).unwrap_err().to_string();
        assert_eq!(error, "reference_logp 1 is NaN; leave it out");
    }

    proptest! {
        #[test]
        fn the_signal_is_the_slope(
            numbers in prop::collection::vec((-2.0..0.0, -2.0..0.0), 1..6),
        ) {
            let (logp, reference): (Vec<f64>, Vec<f64>) = numbers.into_iter().unzip();
            let trained = vec![true; logp.len()];
            for estimator in EVERY {
                let settings = Penalty { estimator, coefficient: 0.7 };
                let at = |logp: &[f64]| {
                    penalty(&[sequence(&trained, logp, &reference)], settings, token_mean(9))
                        .unwrap()
                        .objective
                };
                assert_slopes(&at(&logp).signals.dlogp, &logp, |logp| at(logp).loss);
            }
        }

        /// Over a whole vocabulary, where means are sums: k1 and k3 are the divergence, the slope
        /// of k1 carries nothing, that of k2 the gradient of KL(p ‖ q) and that of k3 the one of
        /// KL(q ‖ p), all by the logits. No estimate is near its clamp.
        #[test]
        fn in_the_mean_estimates_and_slopes_are_what_the_head_says(
            p in prop::collection::vec(-0.6..0.6, 4), q in prop::collection::vec(-0.6..0.6, 4),
        ) {
            let softmax = |logits: &[f64]| -> Vec<f64> {
                let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
                logits.iter().map(|logit| logit.exp() / total).collect()
            };
            let divergence = |p: &[f64], q: &[f64]| -> f64 {
                p.iter().zip(q).map(|(p, q)| p * (p / q).ln()).sum()
            };
            let (policy, reference) = (softmax(&p), softmax(&q));
            let mean = |of: &dyn Fn(usize) -> f64| -> f64 { (0..4).map(|i| policy[i] * of(i)).sum() };
            let logs = |i: usize| (policy[i].ln(), reference[i].ln());
            for estimator in [KlEstimator::K1, KlEstimator::K3] {
                let found = mean(&|i| estimate(estimator, logs(i).0, logs(i).1).value);
                assert_near(found, divergence(&policy, &reference));
            }
            // d logp_i / d logit_j = (i == j) - p_j.
            let gradient = |estimator: KlEstimator| -> Vec<f64> {
                let slope = |i: usize| estimate(estimator, logs(i).0, logs(i).1).slope;
                let by = |j: usize| mean(&|i| slope(i) * (f64::from(i == j) - policy[j]));
                (0..4).map(by).collect()
            };
            assert_all_near(&gradient(KlEstimator::K1), &[0.0; 4]);
            let forth = slopes(&p, |p| divergence(&softmax(p), &reference));
            let back = slopes(&p, |p| divergence(&reference, &softmax(p)));
            for (estimator, expected) in [(KlEstimator::K2, forth), (KlEstimator::K3, back)] {
                for (found, expected) in gradient(estimator).into_iter().zip(expected) {
                    prop_assert!((found - expected).abs() < 1e-8, "{estimator:?}");
                }
            }
        }
    }
}
