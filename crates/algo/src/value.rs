//! The loss of a critic.
//!
//! With the value `V`, the value `O` when the rollout was sampled, and the return `R`:
//!
//! ```text
//! plain      (V - R)²                                   by V: 2 (V - R)
//! clipped    max( (V - R)², (O + clip(V - O, ±range) - R)² )        0 where the second is larger
//! ```
//!
//! The plain square, without a half, as the requirements have it (mean squared error times 0.5).
//! The clip is that of PPO's authors' code (S. Huang et al., "The 37 implementation details of
//! PPO", 2022, detail 9): a value that already moved `range` towards its target moves no further
//! within one update.

use crate::error::setting;
use crate::sequence::TrainedTokens;
use crate::{AlgoError, Denominator, Mean, Objective, Signals, Totals};

/// One rollout, as its critic sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Valued<'a> {
    /// The mask of trained tokens.
    pub trained: &'a [bool],
    /// Values, as the critic has them now.
    pub value: &'a [f64],
    /// Values when the rollout was sampled.
    pub old_value: &'a [f64],
    /// The target values.
    pub returns: &'a [f64],
}

/// The value loss of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValueLoss {
    /// The loss and its signal, which is by values.
    pub objective: Objective,
    /// The values, over trained tokens.
    pub value: Mean,
    /// Trained tokens whose value the clip holds.
    pub clipped: u64,
}

/// The value loss over the trained tokens of a batch, clipped if there is a range.
///
/// # Errors
///
/// If a value is or becomes non-finite, a list is of another length, or the step is smaller than
/// the batch.
pub fn loss(
    batch: &[Valued<'_>],
    range: Option<f64>,
    denominator: Denominator,
) -> Result<ValueLoss, AlgoError> {
    if let Some(range) = range {
        setting("the clip range of values", range, range > 0.0, "above 0")?;
    }
    denominator.covers(Totals::count(batch.iter().map(|sequence| sequence.trained)))?;
    let (mut out, mut all) = (ValueLoss::default(), Vec::new());
    for (at, sequence) in batch.iter().enumerate() {
        let place = TrainedTokens { sequence: at, trained: sequence.trained };
        place.check("value", sequence.value)?;
        place.check("old_value", sequence.old_value)?;
        place.check("return", sequence.returns)?;
        let weight = denominator.weight(place.trained_count());
        let mut dvalue = vec![0.0; sequence.trained.len()];
        for token in place.tokens() {
            let (value, old) = (sequence.value[token], sequence.old_value[token]);
            let (square, slope) = term(value, old, sequence.returns[token], range);
            out.objective.loss += weight * place.finite("value loss", token, square)?;
            dvalue[token] = weight * slope.unwrap_or(0.0);
            out.clipped += u64::from(slope.is_none());
            out.value.add(value);
        }
        all.append(&mut dvalue);
    }
    let dlogp = vec![0.0; all.len()];
    out.objective.signals = Signals { dlogp, dentropy: None, dvalue: Some(all) };
    Ok(out)
}

/// The loss of one value and its slope, if the clip leaves it one.
fn term(value: f64, old: f64, target: f64, range: Option<f64>) -> (f64, Option<f64>) {
    let error = value - target;
    // A clamp gives a value within the range back to the bit, so that rounding clips nothing.
    let held = range.map_or(error, |range| value.clamp(old - range, old + range) - target);
    if held * held > error * error {
        return (held * held, None);
    }
    (error * error, Some(2.0 * error))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Normaliser;
    use crate::testing::{assert_all_near, assert_near, assert_slopes};

    const STEP: Denominator =
        Denominator { normaliser: Normaliser::TOKEN_MEAN, step: Totals { tokens: 4, episodes: 4 } };

    fn one(value: f64, old: f64, target: f64, range: Option<f64>) -> ValueLoss {
        let (value, old_value, returns) = (&[value][..], &[old][..], &[target][..]);
        loss(&[Valued { trained: &[true], value, old_value, returns }], range, STEP).unwrap()
    }

    /// A quarter of each square, for one token of four; the range is 1/2.
    #[test]
    fn worked_by_hand() {
        for (value, old, target, range, square, slope, clipped) in [
            // No clip: (3 - 1)² and 2 · 2.
            (3.0, 0.0, 1.0, None, 4.0, 4.0, 0),
            // Moved 1 towards the target, held at 1/2: (1/2 - 2)² and no slope.
            (1.0, 0.0, 2.0, Some(0.5), 2.25, 0.0, 1),
            // Moved 1 away from it: the free square is the larger one.
            (1.0, 0.0, -2.0, Some(0.5), 9.0, 6.0, 0),
            // Within the range both squares are one.
            (0.25, 0.0, 2.0, Some(0.5), 3.0625, -3.5, 0),
            (-1.0, 0.0, -2.0, Some(0.5), 2.25, 0.0, 1),
        ] {
            let found = one(value, old, target, range);
            assert_near(found.objective.loss, square / 4.0);
            assert_all_near(found.objective.signals.dvalue.as_ref().unwrap(), &[slope / 4.0]);
            assert_eq!((found.clipped, found.value.get()), (clipped, Some(value)));
        }
    }

    /// Here `old + (value - old)` is not `value`, but one rounding further from the target.
    #[test]
    fn within_the_range_rounding_clips_nothing() {
        let (value, old, target) =
            (0.066_373_386_891_393_7, 0.231_421_283_898_314_54, 0.484_767_182_595_791_05);
        assert!(f64::abs(old + (value - old) - target) > f64::abs(value - target));
        let found = one(value, old, target, Some(0.3));
        assert_eq!(found.clipped, 0);
        assert_all_near(
            found.objective.signals.dvalue.as_ref().unwrap(),
            &[2.0 * (value - target) / 4.0],
        );
    }

    #[test]
    fn sequences_are_packed_and_untrained_tokens_are_not_looked_at() {
        let nan = f64::NAN;
        let first = Valued {
            trained: &[false, true],
            value: &[nan, 2.0],
            old_value: &[nan, 2.0],
            returns: &[nan, 1.0],
        };
        let second = Valued { trained: &[true], value: &[4.0], old_value: &[4.0], returns: &[7.0] };
        let found = loss(&[first, second], Some(0.2), STEP).unwrap();
        assert_near(found.objective.loss, (1.0 + 9.0) / 4.0);
        assert_all_near(found.objective.signals.dvalue.as_ref().unwrap(), &[0.0, 0.5, -1.5]);
        assert_near(found.value.get().unwrap(), 3.0);
    }

    #[test]
    fn what_makes_no_loss_is_refused_with_its_place() {
        let good = Valued { trained: &[true], value: &[0.0], old_value: &[0.0], returns: &[0.0] };
        let bad = [f64::NAN];
        let refused =
            |sequence, range| loss(&[good, sequence], range, STEP).unwrap_err().to_string();
        for (sequence, start) in [
            (Valued { value: &bad, ..good }, "value of token 0 in sequence 1 is NaN;"),
            (Valued { old_value: &bad, ..good }, "old_value of token 0 in sequence 1 is NaN;"),
            (Valued { returns: &bad, ..good }, "return of token 0 in sequence 1 is NaN;"),
            (Valued { value: &[1e300], ..good }, "value loss of token 0 in sequence 1 is inf;"),
            (Valued { returns: &[], ..good }, "sequence 1 has 0 of return for 1 tokens;"),
        ] {
            let found = refused(sequence, None);
            assert!(found.starts_with(start), "{found}");
        }
        let found = refused(good, Some(0.0));
        assert_eq!(found, "the clip range of values is 0; it must be above 0");
        let few = Denominator { step: Totals { tokens: 1, episodes: 4 }, ..STEP };
        assert!(matches!(loss(&[good; 2], None, few), Err(AlgoError::Denominator { .. })));
    }

    proptest! {
        /// Divided by odd numbers, so that sums and differences are rounded.
        #[test]
        fn a_value_within_the_range_is_never_clipped(
            value in 0.0..0.85_f64, old in 0.0..2.0_f64, target in -6.0..6.0_f64,
        ) {
            let (value, old, target) = (value / 3.0, old / 7.0, target / 3.0);
            let found = one(value, old, target, Some(0.3));
            prop_assert_eq!(found.clipped, 0);
            assert_all_near(found.objective.signals.dvalue.as_ref().unwrap(), &[2.0 * (value - target) / 4.0]);
        }

        #[test]
        fn the_signal_is_the_slope_and_the_loss_the_larger_square(
            (value, old, target) in (-2.0..2.0_f64, -2.0..2.0_f64, -2.0..2.0_f64),
        ) {
            let bounded = value.clamp(old - 0.3, old + 0.3);
            let (free, held) = ((value - target).powi(2), (bounded - target).powi(2));
            assert_near(one(value, old, target, Some(0.3)).objective.loss, free.max(held) / 4.0);
            // Where the two squares cross there is no slope.
            prop_assume!((free - held).abs() > 1e-3 || (value - old).abs() < 0.299);
            for range in [None, Some(0.3)] {
                let at = |value: f64| one(value, old, target, range);
                assert_slopes(at(value).objective.signals.dvalue.as_ref().unwrap(), &[value], |value| at(value[0]).objective.loss);
            }
        }
    }
}
