//! What a sum over tokens is divided by.
//!
//! Of a step with `S` trained sequences that have `n_i` trained tokens each, `N = Σ n_i` in all,
//! a token of sequence `i` counts
//!
//! ```text
//! token mean        1 / N            DAPO, arXiv:2503.14476, eq. 8: every token weighs the same
//! sequence mean     1 / (S · n_i)    GRPO, arXiv:2402.03300, eq. 3: every sequence weighs the same
//! constant length   1 / (S · L)      Dr. GRPO, arXiv:2503.20783: a long answer is not diluted
//! ```
//!
//! `N` and `S` are those of the whole optimizer step, over all micro-batches and machines: they
//! are counted before the first of them is computed ([`Totals::count`] is a sum), so that a split
//! changes no weight. A sequence without a trained token counts nowhere.

use std::iter::Sum;
use std::num::NonZeroU32;
use std::ops::Add;

use crate::AlgoError;
use crate::number;
use crate::sequence::Place;

/// How losses of tokens become one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Normaliser {
    /// The mean over all trained tokens of the step.
    #[default]
    TokenMean,
    /// The mean over sequences of the mean over their tokens.
    SequenceMean,
    /// The mean over sequences of the sum over their tokens, divided by this many.
    ConstantLength(NonZeroU32),
}

/// What a step, or a part of it, trains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Trained tokens.
    pub tokens: u64,
    /// Sequences with at least one of them.
    pub sequences: u64,
}

/// A normaliser with the totals of the step it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denominator {
    /// How losses of tokens become one number.
    pub normaliser: Normaliser,
    /// What the whole step trains, all micro-batches together.
    pub step: Totals,
}

impl Totals {
    /// Counts sequences by their masks.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_algo::Totals;
    /// let masks: [&[bool]; 2] = [&[false, true, true], &[false]];
    /// assert_eq!(Totals::count(masks), Totals { tokens: 2, sequences: 1 });
    /// ```
    pub fn count<'a>(masks: impl IntoIterator<Item = &'a [bool]>) -> Self {
        let one = |trained: &[bool]| {
            let tokens = Place { sequence: 0, trained }.trained_count();
            Self { tokens, sequences: tokens.min(1) }
        };
        masks.into_iter().map(one).sum()
    }
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, sequences: self.sequences + other.sequences }
    }
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

impl Denominator {
    /// What one token counts in a sequence that has so many trained ones.
    pub fn weight(self, trained: u64) -> f64 {
        let sequences = number(self.step.sequences);
        match self.normaliser {
            Normaliser::TokenMean => 1.0 / number(self.step.tokens),
            Normaliser::SequenceMean => 1.0 / (sequences * number(trained)),
            Normaliser::ConstantLength(length) => 1.0 / (sequences * f64::from(length.get())),
        }
    }

    /// The batch's own totals, if it can be a part of the step.
    ///
    /// # Errors
    ///
    /// If the batch has more than the whole step.
    pub fn covers<'a>(
        self,
        masks: impl IntoIterator<Item = &'a [bool]>,
    ) -> Result<Totals, AlgoError> {
        let (batch, step) = (Totals::count(masks), self.step);
        if batch.tokens <= step.tokens && batch.sequences <= step.sequences {
            return Ok(batch);
        }
        Err(AlgoError::Denominator {
            tokens: batch.tokens,
            sequences: batch.sequences,
            step_tokens: step.tokens,
            step_sequences: step.sequences,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_near;

    const STEP: Totals = Totals { tokens: 20, sequences: 4 };

    /// Twenty tokens in four sequences; one sequence has 5 of them.
    #[test]
    fn weights_worked_by_hand() {
        let eight = NonZeroU32::new(8).unwrap();
        for (normaliser, expected) in [
            (Normaliser::TokenMean, 1.0 / 20.0),
            (Normaliser::SequenceMean, 1.0 / 4.0 / 5.0),
            (Normaliser::ConstantLength(eight), 1.0 / 4.0 / 8.0),
        ] {
            assert_near(Denominator { normaliser, step: STEP }.weight(5), expected);
        }
        let sequences = Denominator { normaliser: Normaliser::SequenceMean, step: STEP };
        assert_near(sequences.weight(10), 1.0 / 40.0);
    }

    #[test]
    fn totals_count_trained_tokens_and_the_sequences_that_have_one() {
        let masks: [&[bool]; 4] = [&[true, false, true], &[], &[false], &[true]];
        assert_eq!(Totals::count(masks), Totals { tokens: 3, sequences: 2 });
        let (left, right) = masks.split_at(1);
        let parts = [left, right].map(|part| Totals::count(part.iter().copied()));
        assert_eq!(parts.into_iter().sum::<Totals>(), Totals { tokens: 3, sequences: 2 });
    }

    #[test]
    fn a_batch_larger_than_its_step_is_refused() {
        let of = |tokens, sequences| Denominator {
            normaliser: Normaliser::TokenMean,
            step: Totals { tokens, sequences },
        };
        let masks: [&[bool]; 2] = [&[true, true], &[true]];
        assert_eq!(of(3, 2).covers(masks), Ok(Totals { tokens: 3, sequences: 2 }));
        assert_eq!(
            of(2, 2).covers(masks).unwrap_err(),
            AlgoError::Denominator { tokens: 3, sequences: 2, step_tokens: 2, step_sequences: 2 }
        );
        assert!(of(3, 1).covers(masks).is_err());
        let nothing: [&[bool]; 1] = [&[false]];
        assert_eq!(of(0, 0).covers(nothing), Ok(Totals::default()), "nothing needs no divisor");
    }
}
