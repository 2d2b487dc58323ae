//! On-policy distillation: the student is moved towards a teacher on the tokens that the student sampled
//! (arXiv:2306.13649, section 3 with the reverse KL divergence; Thinking Machines, "On-Policy Distillation", 2025).
//!
//! At a prefix that the student wrote, the reverse KL divergence of its next token is
//!
//! ```text
//! KL(π ‖ p) = E over t ~ π of [log π(t) - log p(t)]        π the student, p the teacher
//! ```
//!
//! and its gradient is that of a policy whose reward for the token `t` is `log p(t) - log π(t)`. So every sampled token has
//! the advantage
//!
//! ```text
//! A(t) = log p(t) - log π_old(t)                           k1 of the divergence, with the sign of a reward
//! loss = -Σ weight · min(r · A, clip(r, 1 - low, 1 + high) · A)        r = π(t) / π_old(t)
//! ```
//!
//! which is the [clipped surrogate](crate::policy::clip). Nothing is discounted: a token answers for its own divergence,
//! not for that of the tokens behind it. No baseline is subtracted, so a student that equals its teacher has advantages of
//! exactly 0.
//!
//! Not here: the full divergence over the vocabulary, which needs the logits of both models.

use whetstone_core::config::RatioOf;

use crate::policy::{self, Clip, Statistics, Surrogate};
use crate::sequence::TrainedTokens;
use crate::{Advantages, AlgoError, Denominator, Mean, Objective, Sequence};

/// A sequence that the student sampled and the teacher scored, token by token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<'a> {
    /// The mask of trained tokens.
    pub trained: &'a [bool],
    /// Log-probabilities under the student as it is now.
    pub logp: &'a [f64],
    /// Log-probabilities under the student when it sampled.
    pub old_logp: &'a [f64],
    /// Log-probabilities under the teacher.
    pub teacher_logp: &'a [f64],
}

/// The loss of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DistillLoss {
    /// The loss and its signal.
    pub objective: Objective,
    /// The reverse KL divergence of the student that sampled, over trained tokens, in nats.
    pub reverse_kl: Mean,
    /// Statistics of the ratios.
    pub statistics: Statistics,
}

/// The distillation loss over the trained tokens of a batch.
///
/// # Errors
///
/// If a value is or becomes non-finite, a list is of another length, or the step is smaller than the batch.
pub fn loss(
    batch: &[Scored<'_>],
    clip: Clip,
    denominator: Denominator,
) -> Result<DistillLoss, AlgoError> {
    let mut reverse_kl = Mean::default();
    let mut advantages = Vec::with_capacity(batch.len());
    for (at, scored) in batch.iter().enumerate() {
        let own = advantages_of(TrainedTokens { sequence: at, trained: scored.trained }, scored)?;
        let trained = own.iter().zip(scored.trained).filter(|(_, trained)| **trained);
        trained.for_each(|(advantage, _)| reverse_kl.add(-advantage));
        advantages.push(own);
    }
    let sequences = batch.iter().zip(&advantages);
    let sequences: Vec<Sequence<'_>> =
        sequences.map(|(scored, advantages)| sequence(scored, advantages)).collect();
    let surrogate = Surrogate { ratio: RatioOf::Token, clip, cap: None };
    let found = policy::loss(&sequences, surrogate, denominator)?;
    Ok(DistillLoss { objective: found.objective, reverse_kl, statistics: found.statistics })
}

/// The advantage of every token; 0 where it is not trained.
fn advantages_of(place: TrainedTokens<'_>, scored: &Scored<'_>) -> Result<Vec<f64>, AlgoError> {
    place.check("old_logp", scored.old_logp)?;
    place.check("teacher_logp", scored.teacher_logp)?;
    let mut advantages = vec![0.0; scored.trained.len()];
    for token in place.tokens() {
        advantages[token] = scored.teacher_logp[token] - scored.old_logp[token];
    }
    Ok(advantages)
}

fn sequence<'a>(scored: &Scored<'a>, advantages: &'a [f64]) -> Sequence<'a> {
    Sequence {
        trained: scored.trained,
        logp: scored.logp,
        old_logp: scored.old_logp,
        sampler_logp: None,
        reference_logp: None,
        entropy: None,
        advantage: Advantages::Tokens(advantages),
        episode_tokens: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_all_near, assert_near, assert_slopes};
    use crate::{Normaliser, Totals};

    fn wide() -> Clip {
        Clip::new(1.0, 1e6).unwrap()
    }

    /// A denominator of `count` tokens.
    fn tokens(count: u64) -> Denominator {
        Denominator { normaliser: Normaliser::TOKEN_MEAN, step: Totals::episode(count) }
    }

    /// Log-probabilities of a softmax, from its definition.
    fn log_softmax(logits: &[f64]) -> Vec<f64> {
        let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
        logits.iter().map(|logit| (logit.exp() / sum).ln()).collect()
    }

    /// KL(student ‖ teacher), from its definition.
    fn reverse_kl(student: &[f64], teacher: &[f64]) -> f64 {
        let (student, teacher) = (log_softmax(student), log_softmax(teacher));
        student.iter().zip(&teacher).map(|(own, other)| own.exp() * (own - other)).sum()
    }

    #[test]
    fn worked_by_hand() {
        // Tokens: the teacher likes the first better by 0.5, the third less by 2; the second is not the student's.
        let scored = Scored {
            trained: &[true, false, true],
            logp: &[-1.0, f64::NAN, -3.0 + 2f64.ln()],
            old_logp: &[-1.0, f64::NAN, -3.0],
            teacher_logp: &[-0.5, f64::NAN, -5.0],
        };
        let found = loss(&[scored], wide(), tokens(4)).unwrap();
        // Ratios 1 and 2: -(1 · 0.5 + 2 · -2) / 4.
        assert_near(found.objective.loss, 3.5 / 4.0);
        assert_all_near(&found.objective.signals.dlogp, &[-0.125, 0.0, 1.0]);
        assert_eq!((found.reverse_kl.get(), found.reverse_kl.count()), (Some(0.75), 2));
    }

    #[test]
    fn the_signal_is_the_slope_of_the_loss() {
        let (old, teacher) = ([-1.0, -2.5, -0.25], [-1.5, -0.5, -4.0]);
        let clip = Clip::new(0.2, 0.28).unwrap();
        let at = |logp: &[f64]| {
            let trained = &[true, true, true];
            let scored = Scored { trained, logp, old_logp: &old, teacher_logp: &teacher };
            loss(&[scored], clip, tokens(3)).unwrap().objective
        };
        for moved in [0.0, 0.1, -0.1, 0.7, -0.7] {
            let logp = old.map(|old| old + moved);
            assert_slopes(&at(&logp).signals.dlogp, &logp, |logp| at(logp).loss);
        }
    }

    /// Over all tokens that the student may sample, weighted by how often it does, the signal is the slope of the reverse
    /// KL divergence by the logits: what the loss is for.
    #[test]
    fn its_expectation_is_the_gradient_of_the_reverse_kl_divergence() {
        let (student, teacher) = ([0.3, -1.2, 0.8], [-0.5, 0.9, 0.1]);
        let (own, other) = (log_softmax(&student), log_softmax(&teacher));
        let mut gradient = [0.0; 3];
        for token in 0..3 {
            let (logp, teacher_logp) = ([own[token]], [other[token]]);
            let scored = Scored {
                trained: &[true],
                logp: &logp,
                old_logp: &logp,
                teacher_logp: &teacher_logp,
            };
            let found = loss(&[scored], wide(), tokens(1)).unwrap();
            for (logit, slope) in gradient.iter_mut().enumerate() {
                let is_own = if logit == token { 1.0 } else { 0.0 };
                let by_logit = is_own - own[logit].exp();
                *slope += own[token].exp() * found.objective.signals.dlogp[0] * by_logit;
            }
        }
        assert_slopes(&gradient, &student, |logits| reverse_kl(logits, &teacher));
    }

    #[test]
    fn a_student_that_equals_its_teacher_has_nothing_to_learn() {
        let logp = &[-0.1, -7.25, -1e-9][..];
        let scored = Scored { trained: &[true; 3], logp, old_logp: logp, teacher_logp: logp };
        let found = loss(&[scored], Clip::new(0.2, 0.2).unwrap(), tokens(3)).unwrap();
        assert!(found.objective.signals.dlogp.iter().all(|&signal| signal == 0.0), "{found:?}");
        assert_eq!(found.reverse_kl.get(), Some(0.0));
    }

    /// Two tokens, one logit. A batch of a thousand has each token as often as the student says it.
    #[test]
    fn repeated_updates_bring_a_student_to_the_distribution_of_its_teacher() {
        let teacher = [1.5, 0.0];
        let mut logit = -2.0;
        for _ in 0..400 {
            let (own, other) = (log_softmax(&[logit, 0.0]), log_softmax(&teacher));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of a thousand"
            )]
            let first = (1000.0 * own[0].exp()).round() as usize;
            let said = |at: usize| usize::from(at >= first);
            let of = |logps: &[f64]| (0..1000).map(|at| logps[said(at)]).collect::<Vec<f64>>();
            let (logp, teacher_logp, trained) = (of(&own), of(&other), vec![true; 1000]);
            let scored = Scored {
                trained: &trained,
                logp: &logp,
                old_logp: &logp,
                teacher_logp: &teacher_logp,
            };
            let found = loss(&[scored], wide(), tokens(1000)).unwrap();
            let slope = |at: usize| if said(at) == 0 { 1.0 - own[0].exp() } else { -own[0].exp() };
            let signals = found.objective.signals.dlogp.iter().enumerate();
            logit -= signals.map(|(at, signal)| signal * slope(at)).sum::<f64>();
        }
        let apart = log_softmax(&[logit, 0.0])[0].exp() - log_softmax(&teacher)[0].exp();
        assert!(apart.abs() < 0.005, "the student says the first token too often by {apart}");
    }

    #[test]
    fn what_the_teacher_cannot_score_is_an_error_with_its_place() {
        fn of(teacher_logp: &[f64]) -> AlgoError {
            let logp = &[-1.0, -1.0];
            let scored = Scored { trained: &[true, true], logp, old_logp: logp, teacher_logp };
            loss(&[scored], wide(), tokens(2)).unwrap_err()
        }
        let (what, value) = ("teacher_logp", f64::NEG_INFINITY);
        assert_eq!(of(&[-1.0, value]), AlgoError::Token { what, sequence: 0, token: 1, value });
        assert_eq!(of(&[-1.0]), AlgoError::Length { what, sequence: 0, found: 1, expected: 2 });
    }
}
