//! How far the policy is from the reference, estimated from the tokens it wrote.
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
//! An estimator that is right about the divergence need not have a slope that is right about its
//! gradient. In the mean over sampled tokens, that of k1 is 0: as a loss it holds nothing back, and
//! it is of use in a reward or on a dashboard. That of k2 is the gradient of the divergence. That of
//! k3 is the gradient of the divergence the other way round, KL(reference ‖ policy), which is what
//! GRPO trains with.

use crate::error::setting;
use crate::sequence::Place;
use crate::{AlgoError, Denominator, Mean, Objective, Sequence};

/// Which estimate of the divergence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Estimator {
    /// The log-ratio itself.
    K1,
    /// Half its square.
    K2,
    /// The ratio's distance from its tangent.
    #[default]
    K3,
}

/// A divergence as a part of a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalty {
    /// Which estimate.
    pub estimator: Estimator,
    /// What it is multiplied by.
    pub coefficient: f64,
}

/// The penalty of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KlLoss {
    /// The loss, coefficient included, and its signal.
    pub objective: Objective,
    /// The divergence itself, over trained tokens, in nats.
    pub divergence: Mean,
}

impl Estimator {
    /// The estimate at one token.
    pub fn value(self, logp: f64, reference_logp: f64) -> f64 {
        let d = logp - reference_logp;
        match self {
            Self::K1 => d,
            Self::K2 => d * d / 2.0,
            Self::K3 => (-d).exp_m1() + d,
        }
    }

    /// Its derivative by `logp`.
    pub fn slope(self, logp: f64, reference_logp: f64) -> f64 {
        let d = logp - reference_logp;
        match self {
            Self::K1 => 1.0,
            Self::K2 => d,
            Self::K3 => -(-d).exp_m1(),
        }
    }
}

/// The weighted sum of estimates over the trained tokens of a batch.
///
/// # Errors
///
/// If a sequence lacks `reference_logp`, a number is none, or the step is smaller than the batch.
pub fn penalty(
    batch: &[Sequence<'_>],
    penalty: Penalty,
    denominator: Denominator,
) -> Result<KlLoss, AlgoError> {
    let Penalty { estimator, coefficient } = penalty;
    setting("the KL coefficient", coefficient, (coefficient >= 0.0, "0 or more"))?;
    denominator.covers(batch.iter().map(|sequence| sequence.trained))?;
    let mut out = KlLoss::default();
    for (at, sequence) in batch.iter().enumerate() {
        let place = Place { sequence: at, trained: sequence.trained };
        place.check("logp", sequence.logp)?;
        let reference = place.needed("reference_logp", sequence.reference_logp)?;
        let weight = coefficient * denominator.weight(place.trained_count());
        let mut dlogp = vec![0.0; sequence.trained.len()];
        for token in place.tokens() {
            let (logp, reference) = (sequence.logp[token], reference[token]);
            let value = place.finite("KL estimate", token, estimator.value(logp, reference))?;
            out.divergence.add(value);
            out.objective.loss += weight * value;
            dlogp[token] = weight * estimator.slope(logp, reference);
        }
        out.objective.dlogp.append(&mut dlogp);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{assert_all_near, assert_near, assert_slopes, slopes};
    use crate::{Advantages, Normaliser, Totals};

    const EVERY: [Estimator; 3] = [Estimator::K1, Estimator::K2, Estimator::K3];

    fn sequence<'a>(trained: &'a [bool], logp: &'a [f64], reference: &'a [f64]) -> Sequence<'a> {
        Sequence {
            trained,
            logp,
            old_logp: &[],
            sampler_logp: None,
            reference_logp: Some(reference),
            entropy: None,
            advantage: Advantages::Whole(f64::NAN),
        }
    }

    fn token_mean(tokens: u64) -> Denominator {
        let step = Totals { tokens, sequences: tokens };
        Denominator { normaliser: Normaliser::TokenMean, step }
    }

    /// The policy gives 1/2 where the reference gives 1/4, so `d = ln 2` and `e^-d = 1/2`; and the
    /// other way round, `d = -ln 2` and `e^-d = 2`.
    #[test]
    fn estimates_worked_by_hand() {
        let ln2 = std::f64::consts::LN_2;
        let (half, quarter) = (0.5_f64.ln(), 0.25_f64.ln());
        for (estimator, up, up_slope, down, down_slope) in [
            (Estimator::K1, ln2, 1.0, -ln2, 1.0),
            (Estimator::K2, ln2 * ln2 / 2.0, ln2, ln2 * ln2 / 2.0, -ln2),
            (Estimator::K3, ln2 - 0.5, 0.5, 1.0 - ln2, -1.0),
        ] {
            assert_near(estimator.value(half, quarter), up);
            assert_near(estimator.slope(half, quarter), up_slope);
            assert_near(estimator.value(quarter, half), down);
            assert_near(estimator.slope(quarter, half), down_slope);
        }
    }

    /// Two tokens, one of them with `d = ln 2` and one with 0, of a step with four in all:
    /// 0.05 · (ln 2 - 1/2) / 4 with a signal of 0.05 · 1/2 / 4 at the first.
    #[test]
    fn a_penalty_worked_by_hand() {
        let (logp, reference) = ([0.5_f64.ln(), -9.0, -3.0], [0.25_f64.ln(), f64::NAN, -3.0]);
        let batch = [sequence(&[true, false, true], &logp, &reference)];
        let settings = Penalty { estimator: Estimator::K3, coefficient: 0.05 };
        let found = penalty(&batch, settings, token_mean(4)).unwrap();
        let divergence = std::f64::consts::LN_2 - 0.5;
        assert_near(found.objective.loss, 0.05 * divergence / 4.0);
        assert_all_near(&found.objective.dlogp, &[0.05 * 0.5 / 4.0, 0.0, 0.0]);
        assert_near(found.divergence.get().unwrap(), divergence / 2.0);
    }

    #[test]
    fn what_makes_no_penalty_is_refused() {
        let settings = Penalty { estimator: Estimator::K3, coefficient: 0.05 };
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
        // e^1000 is beyond the largest number.
        let found = refused(sequence(&[true], &[-1000.0], &[0.0]), settings);
        assert!(found.starts_with("KL estimate of token 0 in sequence 0 is inf;"), "{found}");
        assert!(penalty(&[good], settings, token_mean(0)).is_err());
    }

    proptest! {
        #[test]
        fn the_signal_is_the_slope(
            numbers in prop::collection::vec((-4.0..0.0, -4.0..0.0), 1..6),
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
                assert_slopes(&at(&logp).dlogp, &logp, |logp| at(logp).loss);
            }
        }

        /// Over a whole vocabulary, where means are sums: k1 and k3 are the divergence, the slope
        /// of k1 carries nothing, that of k2 the gradient of KL(p ‖ q) and that of k3 the one of
        /// KL(q ‖ p), all by the logits.
        #[test]
        fn in_the_mean_estimates_and_slopes_are_what_the_head_says(
            p in prop::collection::vec(-2.0..2.0, 4), q in prop::collection::vec(-2.0..2.0, 4),
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
            for estimator in [Estimator::K1, Estimator::K3] {
                let found = mean(&|i| estimator.value(logs(i).0, logs(i).1));
                assert_near(found, divergence(&policy, &reference));
            }
            // d logp_i / d logit_j = (i == j) - p_j.
            let gradient = |estimator: Estimator| -> Vec<f64> {
                let slope = |i: usize| estimator.slope(logs(i).0, logs(i).1);
                let by = |j: usize| mean(&|i| slope(i) * (f64::from(i == j) - policy[j]));
                (0..4).map(by).collect()
            };
            assert_all_near(&gradient(Estimator::K1), &[0.0; 4]);
            let forth = slopes(&p, |p| divergence(&softmax(p), &reference));
            let back = slopes(&p, |p| divergence(&reference, &softmax(p)));
            for (estimator, expected) in [(Estimator::K2, forth), (Estimator::K3, back)] {
                for (found, expected) in gradient(estimator).into_iter().zip(expected) {
                    prop_assert!((found - expected).abs() < 1e-8, "{estimator:?}");
                }
            }
        }
    }
}
