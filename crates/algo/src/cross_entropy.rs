//! Cross-entropy: the supervised loss on traces.
//!
//! ```text
//! loss = -Σ weight · logp        by logp: -weight
//! ```
//!
//! Labels are a mask: response tokens, thinking and code alike, carry one, prompt tokens do not.
//! The mean over tokens is the usual one; the perplexity is its exponential.

use crate::sequence::TrainedTokens;
use crate::{AlgoError, Denominator, Mean, Objective, Totals};

/// One trace, token by token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labelled<'a> {
    /// The mask of labelled tokens.
    pub trained: &'a [bool],
    /// Log-probabilities of the tokens that stand there.
    pub logp: &'a [f64],
}

/// The cross-entropy of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CrossEntropy {
    /// The loss and its signal.
    pub objective: Objective,
    /// `-logp` over labelled tokens, in nats, whatever the weights.
    pub surprise: Mean,
}

/// The cross-entropy over the labelled tokens of a batch.
///
/// # Errors
///
/// If a value is not finite, a list is of another length, or the step is smaller than the batch.
pub fn loss(batch: &[Labelled<'_>], denominator: Denominator) -> Result<CrossEntropy, AlgoError> {
    denominator.covers(Totals::count(batch.iter().map(|trace| trace.trained)))?;
    let mut out = CrossEntropy::default();
    for (sequence, trace) in batch.iter().enumerate() {
        let place = TrainedTokens { sequence, trained: trace.trained };
        place.check("logp", trace.logp)?;
        let weight = denominator.weight(place.trained_count());
        let mut dlogp = vec![0.0; trace.trained.len()];
        for token in place.tokens() {
            out.surprise.add(-trace.logp[token]);
            out.objective.loss -= weight * trace.logp[token];
            dlogp[token] = -weight;
        }
        out.objective.signals.dlogp.append(&mut dlogp);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Normaliser;
    use crate::testing::{assert_all_near, assert_near, assert_slopes};

    fn step(normaliser: Normaliser) -> Denominator {
        Denominator { normaliser, step: Totals { tokens: 8, episodes: 2 } }
    }

    /// Probabilities 1/2 and 1/8 in the first trace, 1/4 in the second: ln 2 + 3 ln 2 + 2 ln 2 over
    /// eight tokens, or the mean of (ln 2 + 3 ln 2) / 2 and 2 ln 2.
    #[test]
    fn worked_by_hand_and_by_differences() {
        let logp = [f64::NAN, 0.5_f64.ln(), 0.125_f64.ln(), 0.25_f64.ln()];
        let ln2 = std::f64::consts::LN_2;
        for (normaliser, expected, weights) in [
            (Normaliser::TOKEN_MEAN, 6.0 * ln2 / 8.0, [0.125, 0.125]),
            (Normaliser::SEQUENCE_MEAN, 2.0 * ln2, [0.25, 0.5]),
        ] {
            let at = |logp: &[f64]| {
                let (first, second) = logp.split_at(3);
                let first = Labelled { trained: &[false, true, true], logp: first };
                let second = Labelled { trained: &[true], logp: second };
                loss(&[first, second], step(normaliser)).unwrap()
            };
            let found = at(&logp);
            assert_near(found.objective.loss, expected);
            let [first, second] = weights;
            assert_all_near(&found.objective.signals.dlogp, &[0.0, -first, -first, -second]);
            assert_near(found.surprise.get().unwrap(), 2.0 * ln2);
            assert_slopes(&found.objective.signals.dlogp, &logp, |logp| at(logp).objective.loss);
        }
    }

    #[test]
    fn what_makes_no_loss_is_refused_with_its_place() {
        let good = Labelled { trained: &[true], logp: &[-1.0] };
        let bad = Labelled { trained: &[false, true], logp: &[0.0, f64::NEG_INFINITY] };
        let error = loss(&[good, bad], step(Normaliser::TOKEN_MEAN)).unwrap_err().to_string();
        assert!(error.starts_with("logp of token 1 in sequence 1 is -inf;"), "{error}");
        let large = Labelled { trained: &[true; 9], logp: &[-1.0; 9] };
        let error = loss(&[large], step(Normaliser::TOKEN_MEAN)).unwrap_err().to_string();
        assert!(error.starts_with("this batch trains 9 tokens"), "{error}");
    }
}
