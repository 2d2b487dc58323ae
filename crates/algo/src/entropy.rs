//! The entropy bonus, which keeps a policy exploring.
//!
//! ```text
//! loss = -coefficient · Σ weight · H        by H: -coefficient · weight
//! ```
//!
//! `H` is the entropy of the whole prediction at a token, which the model gives (PPO,
//! arXiv:1707.06347, eq. 9), not an estimate from the token that came.

use crate::error::setting;
use crate::sequence::TrainedTokens;
use crate::{AlgoError, Denominator, Mean, Objective, Sequence, Signals, Totals};

/// The bonus of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EntropyLoss {
    /// The loss and its signal, which is by entropies.
    pub objective: Objective,
    /// The entropy itself, over trained tokens, in nats.
    pub entropy: Mean,
}

/// The bonus over the trained tokens of a batch, as a loss.
///
/// # Errors
///
/// If a sequence lacks `entropy`, a value is not finite, or the step is smaller than the batch.
pub fn bonus(
    batch: &[Sequence<'_>],
    coefficient: f64,
    denominator: Denominator,
) -> Result<EntropyLoss, AlgoError> {
    setting("the entropy coefficient", coefficient, coefficient >= 0.0, "0 or more")?;
    denominator.covers(Totals::of(batch))?;
    let (mut out, mut all) = (EntropyLoss::default(), Vec::new());
    for (at, sequence) in batch.iter().enumerate() {
        let place = TrainedTokens { sequence: at, trained: sequence.trained };
        let entropy = place.needed("entropy", sequence.entropy)?;
        let weight = -coefficient * denominator.weight_in(sequence, place);
        let mut dentropy = vec![0.0; sequence.trained.len()];
        for token in place.tokens() {
            out.entropy.add(entropy[token]);
            out.objective.loss += weight * entropy[token];
            dentropy[token] = weight;
        }
        all.append(&mut dentropy);
    }
    let dlogp = vec![0.0; all.len()];
    out.objective.signals = Signals { dlogp, dentropy: Some(all), dvalue: None };
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_all_near, assert_near, assert_slopes};
    use crate::{Advantages, Normaliser};

    fn of<'a>(trained: &'a [bool], entropy: Option<&'a [f64]>) -> Sequence<'a> {
        let advantage = Advantages::Whole(0.0);
        let (sampler_logp, reference_logp) = (None, None);
        let (logp, old_logp) = (&[][..], &[][..]);
        Sequence {
            trained,
            logp,
            old_logp,
            sampler_logp,
            reference_logp,
            entropy,
            advantage,
            episode_tokens: None,
        }
    }

    const STEP: Denominator =
        Denominator { normaliser: Normaliser::TOKEN_MEAN, step: Totals { tokens: 4, episodes: 2 } };

    /// 0.01 · (2 + 3 + 1) / 4, and a signal of -0.01 / 4 for each.
    #[test]
    fn worked_by_hand_and_by_differences() {
        let entropies = [2.0, f64::NAN, 3.0, 1.0];
        let at = |entropies: &[f64]| {
            let (first, second) = entropies.split_at(3);
            let batch = [of(&[true, false, true], Some(first)), of(&[true], Some(second))];
            bonus(&batch, 0.01, STEP).unwrap()
        };
        let found = at(&entropies);
        assert_near(found.objective.loss, -0.015);
        let dentropy = found.objective.signals.dentropy.unwrap();
        assert_all_near(&dentropy, &[-0.0025, 0.0, -0.0025, -0.0025]);
        assert_all_near(&found.objective.signals.dlogp, &[0.0; 4]);
        assert_near(found.entropy.get().unwrap(), 2.0);
        assert_slopes(&dentropy, &entropies, |entropies| at(entropies).objective.loss);
    }

    #[test]
    fn what_makes_no_bonus_is_refused() {
        let refused =
            |sequence, coefficient| bonus(&[sequence], coefficient, STEP).unwrap_err().to_string();
        let found = refused(of(&[true], None), 0.01);
        assert!(found.starts_with("sequence 0 has no entropy;"), "{found}");
        let found = refused(of(&[true], Some(&[f64::NAN])), 0.01);
        assert!(found.starts_with("entropy of token 0 in sequence 0 is NaN;"), "{found}");
        let found = refused(of(&[true], Some(&[1.0])), -0.01);
        assert!(found.starts_with("the entropy coefficient is -0.01;"), "{found}");
        let found = refused(of(&[true; 5], Some(&[1.0; 5])), 0.01);
        assert!(found.starts_with("this batch trains 5 tokens"), "{found}");
        let found = bonus(&[of(&[true], Some(&[1.5]))], 0.0, STEP).unwrap();
        assert_eq!(found.entropy.get(), Some(1.5), "without a weight it is still measured");
    }
}
