//! The denominator of a loss over tokens.
//!
//! Of a step with `E` trained episodes that have `n_i` trained tokens each, `N = Σ n_i` in all,
//! a token of episode `i` has the weight
//!
//! ```text
//! token mean        1 / N            DAPO, arXiv:2503.14476, eq. 8: every token weighs the same
//! sequence mean     1 / (E · n_i)    GRPO, arXiv:2402.03300, eq. 3: every episode weighs the same
//! constant length   1 / (E · L)      Dr. GRPO, arXiv:2503.20783: a long answer is not diluted
//! ```
//!
//! An episode of several turns is several sequences and still one episode: ten turns do not weigh as
//! much as ten episodes.
//!
//! `N` and `E` are those of the whole optimizer step, over all micro-batches and machines: they
//! are counted before the first of them is computed ([`Totals::count`] is a sum), so that a split
//! changes no weight. An episode without a trained token counts nowhere.

use std::iter::Sum;
use std::num::NonZeroU32;
use std::ops::Add;

use whetstone_core::config::{GrpoConfig, NormaliserBy};

use crate::sequence::TrainedTokens;
use crate::{AlgoError, Sequence, number};

/// The denominator of the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Normaliser {
    by: NormaliserBy,
    /// The divisor of [`NormaliserBy::ConstantLength`].
    length: NonZeroU32,
}

/// Trained tokens, sequences and episodes of a step or a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Trained tokens.
    pub tokens: u64,
    /// Episodes with at least one of them.
    pub episodes: u64,
}

/// A normaliser with the totals of the step it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denominator {
    /// The denominator of the loss.
    pub normaliser: Normaliser,
    /// Totals of the whole step, over all micro-batches.
    pub step: Totals,
}

impl Normaliser {
    /// The mean over all trained tokens of the step.
    pub const TOKEN_MEAN: Self = Self { by: NormaliserBy::TokenMean, length: NonZeroU32::MIN };
    /// The mean over episodes of the mean over their tokens.
    pub const SEQUENCE_MEAN: Self =
        Self { by: NormaliserBy::SequenceMean, length: NonZeroU32::MIN };

    /// The mean over episodes of the sum over their tokens, divided by `length`.
    pub const fn constant_length(length: NonZeroU32) -> Self {
        Self { by: NormaliserBy::ConstantLength, length }
    }

    /// The normaliser of the settings.
    pub fn new(config: &GrpoConfig) -> Self {
        match config.normaliser {
            NormaliserBy::TokenMean => Self::TOKEN_MEAN,
            NormaliserBy::SequenceMean => Self::SEQUENCE_MEAN,
            // A limit of 0 is refused with the settings; one token is then as good as any.
            NormaliserBy::ConstantLength => Self::constant_length(
                NonZeroU32::new(config.max_completion_length).unwrap_or(NonZeroU32::MIN),
            ),
        }
    }
}

impl Totals {
    /// Counts sequences by their masks, each an episode of its own.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_algo::Totals;
    /// let masks: [&[bool]; 2] = [&[false, true, true], &[false]];
    /// assert_eq!(Totals::count(masks), Totals { tokens: 2, episodes: 1 });
    /// ```
    pub fn count<'a>(masks: impl IntoIterator<Item = &'a [bool]>) -> Self {
        let count = |trained: &[bool]| TrainedTokens { sequence: 0, trained }.trained_count();
        masks.into_iter().map(count).map(Self::episode).sum()
    }

    /// One episode with this many trained tokens in all its turns.
    pub fn episode(tokens: u64) -> Self {
        Self { tokens, episodes: tokens.min(1) }
    }

    /// What a batch has of its step. A turn is a part of an episode and counts as none.
    pub(crate) fn of(batch: &[Sequence<'_>]) -> Self {
        let of = |sequence: &Sequence<'_>| match sequence.episode_tokens {
            None => Self::count([sequence.trained]),
            Some(_) => Self { episodes: 0, ..Self::count([sequence.trained]) },
        };
        batch.iter().map(of).sum()
    }
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, episodes: self.episodes + other.episodes }
    }
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

impl Denominator {
    /// The weight of one token in an episode with this many trained tokens.
    pub fn weight(self, trained: u64) -> f64 {
        let episodes = number(self.step.episodes);
        match self.normaliser.by {
            NormaliserBy::TokenMean => 1.0 / number(self.step.tokens),
            NormaliserBy::SequenceMean => 1.0 / (episodes * number(trained)),
            NormaliserBy::ConstantLength => {
                1.0 / (episodes * f64::from(self.normaliser.length.get()))
            }
        }
    }

    /// Refuses a batch that has more than the whole step.
    ///
    /// # Errors
    ///
    /// If it has.
    pub fn covers(self, batch: Totals) -> Result<(), AlgoError> {
        let step = self.step;
        if batch.tokens <= step.tokens && batch.episodes <= step.episodes {
            return Ok(());
        }
        Err(AlgoError::Denominator {
            tokens: batch.tokens,
            episodes: batch.episodes,
            step_tokens: step.tokens,
            step_episodes: step.episodes,
        })
    }

    /// The weight of one token of a sequence.
    pub(crate) fn weight_in(self, sequence: &Sequence<'_>, place: TrainedTokens<'_>) -> f64 {
        self.weight(sequence.episode_tokens.unwrap_or_else(|| place.trained_count()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_near;

    const STEP: Totals = Totals { tokens: 20, episodes: 4 };

    /// Twenty tokens in four episodes; one episode has 5 of them.
    #[test]
    fn weights_worked_by_hand() {
        let eight = NonZeroU32::new(8).unwrap();
        for (normaliser, expected) in [
            (Normaliser::TOKEN_MEAN, 1.0 / 20.0),
            (Normaliser::SEQUENCE_MEAN, 1.0 / 4.0 / 5.0),
            (Normaliser::constant_length(eight), 1.0 / 4.0 / 8.0),
        ] {
            assert_near(Denominator { normaliser, step: STEP }.weight(5), expected);
        }
        let sequences = Denominator { normaliser: Normaliser::SEQUENCE_MEAN, step: STEP };
        assert_near(sequences.weight(10), 1.0 / 40.0);
    }

    #[test]
    fn totals_count_trained_tokens_and_the_episodes_that_have_one() {
        let masks: [&[bool]; 4] = [&[true, false, true], &[], &[false], &[true]];
        assert_eq!(Totals::count(masks), Totals { tokens: 3, episodes: 2 });
        let (left, right) = masks.split_at(1);
        let parts = [left, right].map(|part| Totals::count(part.iter().copied()));
        assert_eq!(parts.into_iter().sum::<Totals>(), Totals { tokens: 3, episodes: 2 });
    }

    #[test]
    fn a_batch_larger_than_its_step_is_refused() {
        let of = |tokens, episodes| Denominator {
            normaliser: Normaliser::TOKEN_MEAN,
            step: Totals { tokens, episodes },
        };
        let batch = Totals { tokens: 3, episodes: 2 };
        assert_eq!(of(3, 2).covers(batch), Ok(()));
        assert_eq!(
            of(2, 2).covers(batch).unwrap_err(),
            AlgoError::Denominator { tokens: 3, episodes: 2, step_tokens: 2, step_episodes: 2 }
        );
        assert!(of(3, 1).covers(batch).is_err());
        assert_eq!(of(0, 0).covers(Totals::default()), Ok(()), "nothing needs no divisor");
    }

    /// Three turns of one episode, 2 + 2 + 4 tokens, beside one episode of 4: each episode weighs a
    /// half under the mean over sequences, however many turns it has.
    #[test]
    fn an_episode_of_several_turns_weighs_as_much_as_one_of_one() {
        let turn = |trained, episode_tokens| Sequence {
            trained,
            logp: &[],
            old_logp: &[],
            sampler_logp: None,
            reference_logp: None,
            entropy: None,
            advantage: crate::Advantages::Whole(0.0),
            episode_tokens,
        };
        let all = Some(8);
        let turns = [turn(&[true; 2], all), turn(&[true; 2], all), turn(&[true; 4], all)];
        let whole = turn(&[true; 4], None);
        let step = Totals::episode(8) + Totals::episode(4);
        assert_eq!(step, Totals { tokens: 12, episodes: 2 });
        for (normaliser, long, short) in [
            (Normaliser::SEQUENCE_MEAN, 0.5, 0.5),
            (Normaliser::constant_length(NonZeroU32::new(16).unwrap()), 0.25, 0.125),
            (Normaliser::TOKEN_MEAN, 8.0 / 12.0, 4.0 / 12.0),
        ] {
            let denominator = Denominator { normaliser, step };
            assert_eq!(denominator.covers(Totals::of(&turns)), Ok(()));
            let weigh = |sequence: &Sequence<'_>| {
                let place = TrainedTokens { sequence: 0, trained: sequence.trained };
                number(place.trained_count()) * denominator.weight_in(sequence, place)
            };
            assert_near(turns.iter().map(weigh).sum(), long);
            assert_near(weigh(&whole), short);
        }
    }
}
