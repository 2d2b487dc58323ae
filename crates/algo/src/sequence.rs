//! One sequence as the input of a loss on rollouts, and its validation.
//!
//! Sequences are packed: every list has one number for each token that the model was asked for, in
//! order, and `trained` says which of them the model itself wrote and shall learn from. The others
//! (a prompt, an answer of a tool, padding) may hold anything, even NaN.

use crate::AlgoError;

/// One rollout, token by token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sequence<'a> {
    /// The mask of trained tokens.
    pub trained: &'a [bool],
    /// Log-probabilities under the policy that is trained, as it is now.
    pub logp: &'a [f64],
    /// Log-probabilities under the policy as it was when the rollout was sampled.
    pub old_logp: &'a [f64],
    /// Log-probabilities reported by a remote sampler, if the trained model did not sample them
    /// itself.
    pub sampler_logp: Option<&'a [f64]>,
    /// Log-probabilities under the reference, which is the student without its adapter.
    pub reference_logp: Option<&'a [f64]>,
    /// Entropies of the predictions.
    pub entropy: Option<&'a [f64]>,
    /// The advantage of the rollout in its group, or of its tokens against a critic.
    pub advantage: Advantages<'a>,
    /// Trained tokens of all turns of the episode that this is one turn of; none where the sequence is
    /// the whole episode.
    pub episode_tokens: Option<u64>,
}

/// The advantage of a rollout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Advantages<'a> {
    /// One for all its tokens, as GRPO has it.
    Whole(f64),
    /// One for each token, as PPO has it.
    Tokens(&'a [f64]),
}

/// [`Advantages`] with a list of their own, for a batch to keep.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedAdvantages {
    /// One for all tokens of a sequence.
    Whole(f64),
    /// One for each token.
    Tokens(Vec<f64>),
}

impl OwnedAdvantages {
    /// The advantages, for a loss.
    pub fn view(&self) -> Advantages<'_> {
        match self {
            Self::Whole(advantage) => Advantages::Whole(*advantage),
            Self::Tokens(advantages) => Advantages::Tokens(advantages),
        }
    }

    /// Whether no token has an advantage other than 0.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Whole(advantage) => *advantage == 0.0,
            Self::Tokens(advantages) => advantages.iter().all(|&advantage| advantage == 0.0),
        }
    }
}

impl Advantages<'_> {
    /// The advantage of one token.
    pub(crate) fn of(self, token: usize) -> f64 {
        match self {
            Self::Whole(advantage) => advantage,
            Self::Tokens(advantages) => advantages[token],
        }
    }

    /// Refuses non-finite values of a sequence that is trained at all.
    pub(crate) fn check(self, place: TrainedTokens<'_>) -> Result<(), AlgoError> {
        match self {
            Self::Tokens(advantages) => place.check("advantage", advantages),
            Self::Whole(value) if !value.is_finite() && place.trained_count() > 0 => {
                Err(AlgoError::Sequence { what: "advantage", sequence: place.sequence, value })
            }
            Self::Whole(_) => Ok(()),
        }
    }
}

/// The trained tokens of one sequence of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrainedTokens<'a> {
    pub(crate) sequence: usize,
    pub(crate) trained: &'a [bool],
}

impl<'a> TrainedTokens<'a> {
    /// The number of trained tokens.
    pub(crate) fn trained_count(self) -> u64 {
        self.trained.iter().filter(|&&trained| trained).count() as u64
    }

    /// The trained tokens.
    pub(crate) fn tokens(self) -> impl Iterator<Item = usize> + Clone + use<'a> {
        self.trained.iter().enumerate().filter(|&(_, &trained)| trained).map(|(token, _)| token)
    }

    /// Refuses a list that has not one number for each token, finite where it is trained.
    pub(crate) fn check(self, what: &'static str, values: &[f64]) -> Result<(), AlgoError> {
        let (sequence, expected) = (self.sequence, self.trained.len());
        if values.len() != expected {
            return Err(AlgoError::Length { what, sequence, found: values.len(), expected });
        }
        self.tokens().try_for_each(|token| self.finite(what, token, values[token]).map(|_| ()))
    }

    /// Like [`TrainedTokens::check`], for values that may be missing.
    pub(crate) fn needed<'n>(
        self,
        what: &'static str,
        values: Option<&'n [f64]>,
    ) -> Result<&'n [f64], AlgoError> {
        let values = values.ok_or(AlgoError::Missing { what, sequence: self.sequence })?;
        self.check(what, values)?;
        Ok(values)
    }

    /// The number, if it is one.
    pub(crate) fn finite(
        self,
        what: &'static str,
        token: usize,
        value: f64,
    ) -> Result<f64, AlgoError> {
        if value.is_finite() {
            return Ok(value);
        }
        Err(AlgoError::Token { what, sequence: self.sequence, token, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: TrainedTokens<'_> = TrainedTokens { sequence: 3, trained: &[false, true, true] };

    #[test]
    fn a_number_is_checked_where_it_is_trained_and_named_with_its_place() {
        assert_eq!(PLACE.check("logp", &[f64::NAN, -1.0, -2.0]), Ok(()));
        let error = PLACE.check("logp", &[0.0, -1.0, f64::NEG_INFINITY]).unwrap_err();
        let value = f64::NEG_INFINITY;
        assert_eq!(error, AlgoError::Token { what: "logp", sequence: 3, token: 2, value });
        let error = PLACE.check("logp", &[0.0, -1.0]).unwrap_err();
        assert_eq!(error, AlgoError::Length { what: "logp", sequence: 3, found: 2, expected: 3 });
    }

    #[test]
    fn what_is_needed_and_not_there_is_named() {
        let error = PLACE.needed("reference", None).unwrap_err();
        assert_eq!(error, AlgoError::Missing { what: "reference", sequence: 3 });
        assert_eq!(PLACE.needed("reference", Some(&[0.0, 1.0, 2.0])).unwrap(), [0.0, 1.0, 2.0]);
        assert!(PLACE.needed("reference", Some(&[0.0, 1.0, f64::NAN])).is_err());
    }

    #[test]
    fn an_advantage_must_be_a_number_where_something_is_trained() {
        assert_eq!(Advantages::Whole(0.5).check(PLACE), Ok(()));
        assert_eq!(
            Advantages::Whole(f64::INFINITY).check(PLACE).unwrap_err(),
            AlgoError::Sequence { what: "advantage", sequence: 3, value: f64::INFINITY }
        );
        let nothing = TrainedTokens { sequence: 0, trained: &[false, false] };
        assert_eq!(Advantages::Whole(f64::NAN).check(nothing), Ok(()));
        assert_eq!(Advantages::Tokens(&[f64::NAN, 1.0, -1.0]).check(PLACE), Ok(()));
        assert!(Advantages::Tokens(&[0.0, f64::NAN, 1.0]).check(PLACE).is_err());
    }

    #[test]
    fn the_trained_tokens_are_found() {
        assert_eq!(PLACE.trained_count(), 2);
        assert_eq!(PLACE.tokens().collect::<Vec<_>>(), [1, 2]);
    }
}
