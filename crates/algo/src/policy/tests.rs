//! The policy loss on whole sequences: hand-worked batches, slopes, and what is refused.

use proptest::prelude::*;

use super::*;
use crate::Normaliser;
use crate::testing::{assert_all_near, assert_near, assert_slopes};

const RATIOS: [RatioOf; 3] = [RatioOf::Token, RatioOf::Sequence, RatioOf::Weight];

fn surrogate(ratio: RatioOf) -> Surrogate {
    Surrogate { ratio, clip: Clip::new(0.25, 0.5).unwrap(), cap: None }
}

fn sequence<'a>(trained: &'a [bool], logp: &'a [f64], old_logp: &'a [f64]) -> Sequence<'a> {
    Sequence {
        trained,
        logp,
        old_logp,
        sampler_logp: None,
        reference_logp: None,
        entropy: None,
        advantage: Advantages::Whole(1.0),
        episode_tokens: None,
    }
}

fn denominator(normaliser: Normaliser, tokens: u64, episodes: u64) -> Denominator {
    Denominator { normaliser, step: Totals { tokens, episodes } }
}

/// Two sequences, bounds at 3/4 and 3/2, five trained tokens in the step:
///
/// ```text
///          token   ratio   A    -min(rA, clip(r)A)   by logp
/// first    0       2       1    -3/2                 0        clipped high
///          1       (not trained)
///          2       1       1    -1                   -1
/// second   0       1/2    -2    3/2                  0        clipped low
///          1       2      -2    4                    4
/// ```
///
/// Together 3, divided by 5.
#[test]
fn ratios_of_tokens_worked_by_hand() {
    let (ln2, half) = (2.0_f64.ln(), 0.5_f64.ln());
    let now = [ln2 - 3.0, f64::NAN, -1.0, half - 1.0, ln2 - 2.0];
    let first = sequence(&[true, false, true], &now[..3], &[-3.0, 0.0, -1.0]);
    let second = sequence(&[true, true], &now[3..], &[-1.0, -2.0]);
    let second = Sequence { advantage: Advantages::Whole(-2.0), ..second };
    let step = denominator(Normaliser::TOKEN_MEAN, 5, 2);
    let found = loss(&[first, second], surrogate(RatioOf::Token), step).unwrap();
    assert_near(found.objective.loss, 3.0 / 5.0);
    assert_all_near(&found.objective.signals.dlogp, &[0.0, 0.0, -0.2, 0.0, 0.8]);
    let seen = found.statistics;
    assert_eq!((seen.tokens, seen.clipped_low, seen.clipped_high), (4, 1, 1));
    assert_near(seen.ratio_mean().unwrap(), (2.0 + 1.0 + 0.5 + 2.0) / 4.0);
    assert_eq!((seen.importance.get(), seen.entropy.get(), seen.clamped), (None, None, 0));
}

/// The same numbers for one sequence with ratios 2 and 8, so `s = 4` and is clipped with `A = 1`
/// and free with `A = -1`; as one of two sequences, `weight = 1/2` for all its tokens together.
/// By each of the two: `s / n · 1/2 = 1`.
#[test]
fn a_ratio_of_a_sequence_worked_by_hand() {
    let logp = [2.0_f64.ln() - 1.0, 7.0, 8.0_f64.ln() - 3.0];
    let sequence = sequence(&[true, false, true], &logp, &[-1.0, 0.0, -3.0]);
    let step = denominator(Normaliser::SEQUENCE_MEAN, 9, 2);
    let up = loss(&[sequence], surrogate(RatioOf::Sequence), step).unwrap();
    assert_near(up.objective.loss, -1.5 / 2.0);
    assert_all_near(&up.objective.signals.dlogp, &[0.0; 3]);
    assert_eq!(up.statistics.clipped_high, 2);
    let down = Sequence { advantage: Advantages::Whole(-1.0), ..sequence };
    let down = loss(&[down], surrogate(RatioOf::Sequence), step).unwrap();
    assert_near(down.objective.loss, 4.0 / 2.0);
    assert_all_near(&down.objective.signals.dlogp, &[1.0, 0.0, 1.0]);
    let (lowest, highest) = down.statistics.ratio_range().unwrap();
    assert_near(lowest, 4.0);
    assert_near(highest, 4.0);
}

/// Ratios 2 (weighs 3/2) and 1, `logp` -3 and -1, advantages 2 and -1, ten tokens in the step:
/// (3/2 · 2 · 3 - 1 · 1 · 1) / 10 with signals -3/10 and 1/10.
#[test]
fn a_ratio_as_a_weight_worked_by_hand() {
    let advantage = Advantages::Tokens(&[2.0, -1.0]);
    let old = [-3.0 - 2.0_f64.ln(), -1.0];
    let sequence = sequence(&[true, true], &[-3.0, -1.0], &old);
    let step = denominator(Normaliser::TOKEN_MEAN, 10, 1);
    let batch = [Sequence { advantage, ..sequence }];
    let found = loss(&batch, surrogate(RatioOf::Weight), step).unwrap();
    assert_near(found.objective.loss, 0.8);
    assert_all_near(&found.objective.signals.dlogp, &[-0.3, 0.1]);
    assert_eq!(found.statistics.clipped_high, 1);
}

/// The sampler thought the first token half as likely as we (weight 2, capped at 3/2) and the
/// second twice (weight 1/2); nothing has moved since.
#[test]
fn a_foreign_sampler_is_weighed_and_capped() {
    let old_logp = [-1.0, -2.0];
    let sampler = [-1.0 - 2.0_f64.ln(), -2.0 + 2.0_f64.ln()];
    let entropy = [0.5, 1.5];
    let sequence = Sequence {
        sampler_logp: Some(&sampler),
        entropy: Some(&entropy),
        ..sequence(&[true, true], &old_logp, &old_logp)
    };
    let step = denominator(Normaliser::TOKEN_MEAN, 2, 1);
    let cap = Some(Cap::new(1.5).unwrap());
    let found = loss(&[sequence], Surrogate { cap, ..surrogate(RatioOf::Token) }, step).unwrap();
    assert_near(found.objective.loss, -1.0);
    assert_all_near(&found.objective.signals.dlogp, &[-0.75, -0.25]);
    let seen = found.statistics;
    assert_eq!(seen.truncated, 1);
    assert_near(seen.importance.get().unwrap(), 1.0);
    assert_near(seen.entropy.get().unwrap(), 1.0);
    // Without a cap, what the sampler says is not looked at.
    let found = loss(&[sequence], surrogate(RatioOf::Token), step).unwrap();
    assert_all_near(&found.objective.signals.dlogp, &[-0.5, -0.5]);
    // One ratio for both: each gets half of the sum of the weights 3/2 and 1/2, halved again.
    let found = loss(&[sequence], Surrogate { cap, ..surrogate(RatioOf::Sequence) }, step).unwrap();
    assert_all_near(&found.objective.signals.dlogp, &[-0.5, -0.5]);
}

#[track_caller]
fn refused(sequence: Sequence<'_>, surrogate: Surrogate, start: &str) {
    let good = [-1.0];
    let first = Sequence { sampler_logp: Some(&good), ..self::sequence(&[true], &good, &good) };
    let step = denominator(Normaliser::TOKEN_MEAN, 100, 100);
    let error = loss(&[first, sequence], surrogate, step).unwrap_err().to_string();
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn what_makes_no_loss_is_refused_with_its_place() {
    let token = surrogate(RatioOf::Token);
    let good = sequence(&[false, true], &[0.0, -1.0], &[0.0, -1.0]);
    let bad = [0.0, f64::NAN];
    refused(Sequence { logp: &bad, ..good }, token, "logp of token 1 in sequence 1 is NaN;");
    refused(Sequence { old_logp: &bad, ..good }, token, "old_logp of token 1 in sequence 1 is");
    refused(Sequence { entropy: Some(&bad), ..good }, token, "entropy of token 1 in sequence 1 is");
    let whole = Advantages::Whole(f64::INFINITY);
    refused(Sequence { advantage: whole, ..good }, token, "advantage of sequence 1 is inf;");
    let tokens = Advantages::Tokens(&bad);
    refused(Sequence { advantage: tokens, ..good }, token, "advantage of token 1 in sequence 1");
    refused(Sequence { logp: &[], ..good }, token, "sequence 1 has 0 of logp for 2 tokens;");
    let capped = Surrogate { cap: Some(Cap::new(2.0).unwrap()), ..token };
    refused(good, capped, "sequence 1 has no sampler_logp;");
    let sampled = Sequence { sampler_logp: Some(&bad), ..good };
    refused(sampled, capped, "sampler_logp of token 1 in sequence 1 is NaN;");
    let tokens = Advantages::Tokens(&[0.0, 1.0]);
    let sequence_level = surrogate(RatioOf::Sequence);
    refused(Sequence { advantage: tokens, ..good }, sequence_level, "sequence 1 has an advantage");
    let step = denominator(Normaliser::TOKEN_MEAN, 0, 1);
    assert!(matches!(loss(&[good], token, step), Err(AlgoError::Denominator { .. })));
}

/// e^800 is beyond the largest number: the log-ratio is clamped at 20, counted, and has no slope.
#[test]
fn a_ratio_far_off_is_clamped_and_counted() {
    let step = denominator(Normaliser::TOKEN_MEAN, 2, 1);
    let far = sequence(&[true, true], &[0.0, -1.0], &[-800.0, -1.0]);
    let far = Sequence { advantage: Advantages::Whole(-1.0), ..far };
    let found = loss(&[far], surrogate(RatioOf::Token), step).unwrap();
    assert_near(found.objective.loss / f64::midpoint(20.0_f64.exp(), 1.0), 1.0);
    assert_all_near(&found.objective.signals.dlogp, &[0.0, 0.5]);
    assert_eq!(found.statistics.clamped, 1);
    let (_, highest) = found.statistics.ratio_range().unwrap();
    assert_near(highest / 20.0_f64.exp(), 1.0);
    // As a weight it counts for the upper bound of 3/2.
    let found = loss(&[far], surrogate(RatioOf::Weight), step).unwrap();
    assert_all_near(&found.objective.signals.dlogp, &[0.75, 0.5]);
    assert_eq!(found.statistics.clamped, 1);
    // The mean over both tokens is 400, so both are past it.
    let found = loss(&[far], surrogate(RatioOf::Sequence), step).unwrap();
    assert_all_near(&found.objective.signals.dlogp, &[0.0, 0.0]);
    assert_eq!(found.statistics.clamped, 2);
    // Both ways at once: the sequence's ratio is 1.
    let apart = sequence(&[true, true], &[-800.0, 0.0], &[0.0, -800.0]);
    let found = loss(&[apart], surrogate(RatioOf::Sequence), step).unwrap();
    assert_eq!(found.statistics.clamped, 0);
    assert_near(found.objective.loss, -1.0);
}

#[test]
fn a_loss_that_overflows_is_refused_with_its_place() {
    let good = sequence(&[true], &[-1.0], &[-701.0]);
    let huge = Sequence { advantage: Advantages::Whole(-1e305), ..good };
    refused(huge, surrogate(RatioOf::Token), "policy loss of token 0 in sequence 1 is inf;");
}

proptest! {
    #[test]
    fn the_signal_is_the_slope(
        tokens in prop::collection::vec((-3.0..0.0_f64, -1.0..1.0_f64, any::<bool>()), 1..8),
        cut in 0..8_usize,
        advantages in (-2.0..2.0_f64, -2.0..2.0_f64),
        by_sequence in any::<bool>(),
    ) {
        let logp: Vec<f64> = tokens.iter().map(|token| token.0).collect();
        let old: Vec<f64> = tokens.iter().map(|token| token.0 - token.1).collect();
        let trained: Vec<bool> = tokens.iter().map(|token| token.2).collect();
        let sampler: Vec<f64> = old.iter().map(|old| old - 0.3).collect();
        let cut = cut.min(tokens.len());
        let normaliser =
            if by_sequence { Normaliser::SEQUENCE_MEAN } else { Normaliser::TOKEN_MEAN };
        let clip = Clip::new(0.2, 0.28).unwrap();
        let corner = |ratio: f64| (ratio / 0.8).ln().abs() < 1e-3 || (ratio / 1.28).ln().abs() < 1e-3;
        for ratio in [RatioOf::Token, RatioOf::Sequence] {
            let surrogate = Surrogate { ratio, clip, cap: Some(Cap::new(1.2).unwrap()) };
            let part = |logp: &'_ [f64], from: usize, to: usize, advantage: f64| {
                let sequence = Sequence {
                    sampler_logp: Some(&sampler[from..to]),
                    advantage: Advantages::Whole(advantage),
                    ..sequence(&trained[from..to], &logp[from..to], &old[from..to])
                };
                loss(&[sequence], surrogate, denominator(normaliser, 9, 2)).unwrap()
            };
            let at = |logp: &[f64]| {
                let mut left = part(logp, 0, cut, advantages.0);
                let right = part(logp, cut, logp.len(), advantages.1);
                left.objective.loss += right.objective.loss;
                left.objective.signals.dlogp.extend(&right.objective.signals.dlogp);
                (left, right.statistics)
            };
            let (found, other) = at(&logp);
            let ranges = [found.statistics.ratio_range(), other.ratio_range()];
            let ends = ranges.iter().flatten().flat_map(|&(low, high)| [low, high]);
            let token_corner = logp.iter().zip(&old).any(|(now, old)| corner((now - old).exp()));
            prop_assume!(!token_corner && !ends.into_iter().any(corner));
            assert_slopes(&found.objective.signals.dlogp, &logp, |logp| at(logp).0.objective.loss);
        }
    }

    /// The ratio as a weight is held constant: moving now and then together leaves it alone.
    #[test]
    fn the_signal_of_a_weight_is_the_slope_at_a_held_ratio(
        logp in prop::collection::vec(-3.0..0.0_f64, 3),
        moved in prop::collection::vec(-1.0..1.0_f64, 3),
        advantage in -2.0..2.0_f64,
    ) {
        let at = |logp: &[f64]| {
            let old: Vec<f64> = logp.iter().zip(&moved).map(|(logp, by)| logp - by).collect();
            let advantage = Advantages::Whole(advantage);
            let batch = [Sequence { advantage, ..sequence(&[true; 3], logp, &old) }];
            loss(&batch, surrogate(RatioOf::Weight), denominator(Normaliser::TOKEN_MEAN, 7, 1))
                .unwrap()
                .objective
        };
        assert_slopes(&at(&logp).signals.dlogp, &logp, |logp| at(logp).loss);
    }

    /// What one sampled: all three are the plain policy gradient, and nothing is clipped.
    #[test]
    fn on_policy_the_three_are_one(
        logp in prop::collection::vec(-3.0..0.0_f64, 1..6), advantage in -2.0..2.0_f64,
    ) {
        let trained = vec![true; logp.len()];
        for ratio in RATIOS {
            let advantage = Advantages::Whole(advantage);
            let batch = [Sequence { advantage, ..sequence(&trained, &logp, &logp) }];
            let found = loss(&batch, surrogate(ratio), denominator(Normaliser::TOKEN_MEAN, 8, 1));
            let found = found.unwrap();
            assert_all_near(&found.objective.signals.dlogp, &vec![-advantage.of(0) / 8.0; logp.len()]);
            prop_assert_eq!(found.statistics.clip_fraction(), Some(0.0));
            prop_assert_eq!(found.statistics.ratio_range(), Some((1.0, 1.0)));
        }
    }
}

/// One advantage for a sequence is the same as that one for each of its tokens.
#[test]
fn an_advantage_for_each_token_that_is_the_same_changes_nothing() {
    let (logp, old) = ([-0.5, -1.0, -2.0], [-0.75, -0.8, -2.0]);
    let whole = sequence(&[true, false, true], &logp, &old);
    let each = Sequence { advantage: Advantages::Tokens(&[1.0; 3]), ..whole };
    let step = denominator(Normaliser::TOKEN_MEAN, 4, 1);
    for ratio in [RatioOf::Token, RatioOf::Weight] {
        let of = |sequence| loss(&[sequence], surrogate(ratio), step).unwrap();
        assert_eq!(of(whole), of(each), "{ratio:?}");
    }
}
