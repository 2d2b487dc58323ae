//! Errors of the losses: invalid inputs and settings.
//!
//! A non-finite value is never replaced by 0: the update would be on a different objective. Sequences
//! and tokens are counted from 0, in the given order; untrained tokens count too.

/// The numbers given make no loss.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AlgoError {
    /// A value of a trained token is not finite, as given or as computed.
    #[error(
        "{what} of token {token} in sequence {sequence} is {value}; \
         leave the sequence out of the step, or do not train the token"
    )]
    Token {
        /// The name of the value.
        what: &'static str,
        /// Index of the sequence in the batch.
        sequence: usize,
        /// Index of the token in the sequence.
        token: usize,
        /// The number.
        value: f64,
    },
    /// A value of a whole sequence is not finite.
    #[error("{what} of sequence {sequence} is {value}; leave the sequence out of the step")]
    Sequence {
        /// The name of the value.
        what: &'static str,
        /// Index of the sequence in the batch.
        sequence: usize,
        /// The number.
        value: f64,
    },
    /// A value in a list is not finite.
    #[error("{what} {at} is {value}; leave it out")]
    Entry {
        /// The name of the values.
        what: &'static str,
        /// The index of the value.
        at: usize,
        /// The number.
        value: f64,
    },
    /// A sequence has not one number for each of its tokens.
    #[error("sequence {sequence} has {found} of {what} for {expected} tokens; give one for each")]
    Length {
        /// The name of the values.
        what: &'static str,
        /// Index of the sequence in the batch.
        sequence: usize,
        /// The number of values.
        found: usize,
        /// The number of tokens.
        expected: usize,
    },
    /// Two lists that belong together differ in length.
    #[error("there are {found} of {what}, but {expected} are needed; give one for each")]
    Lengths {
        /// The name of the values.
        what: &'static str,
        /// The number of values.
        found: usize,
        /// The required number of values.
        expected: usize,
    },
    /// A sequence lacks numbers that the loss is made of.
    #[error("sequence {sequence} has no {what}; this loss needs one for each token")]
    Missing {
        /// The name of the values.
        what: &'static str,
        /// Index of the sequence in the batch.
        sequence: usize,
    },
    /// One ratio for a sequence, but an advantage for each token.
    #[error(
        "sequence {sequence} has an advantage for each token; \
         a ratio of whole sequences needs one for the sequence"
    )]
    TokenAdvantages {
        /// Index of the sequence in the batch.
        sequence: usize,
    },
    /// A setting is out of its bounds.
    #[error("{what} is {value}; it must be {must}")]
    Setting {
        /// The name of the setting.
        what: &'static str,
        /// To what.
        value: f64,
        /// The allowed range.
        must: &'static str,
    },
    /// A micro-batch is larger than the step it is said to be a part of.
    #[error(
        "this batch trains {tokens} tokens in {episodes} episodes, but its step was counted as \
         {step_tokens} in {step_episodes}; count every micro-batch of the step before the first"
    )]
    Denominator {
        /// Trained tokens in the batch.
        tokens: u64,
        /// Episodes in the batch that train a token.
        episodes: u64,
        /// Trained tokens in the step, as it was counted.
        step_tokens: u64,
        /// Episodes in the step that train a token, as it was counted.
        step_episodes: u64,
    },
    /// An estimator whose slope carries nothing, as a term of the loss.
    #[error(
        "`k1` in the loss holds nothing back: the gradient of its mean is 0; take `k3` or `k2`, or \
         charge it to the reward"
    )]
    EstimatorInLoss,
}

/// The setting, if it is within its bounds.
pub(crate) fn setting(
    what: &'static str,
    value: f64,
    fits: bool,
    must: &'static str,
) -> Result<(), AlgoError> {
    if value.is_finite() && fits { Ok(()) } else { Err(AlgoError::Setting { what, value, must }) }
}

/// Refuses a list with a non-finite value.
pub(crate) fn entries(what: &'static str, values: &[f64]) -> Result<(), AlgoError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(AlgoError::Entry { what, at, value: values[at] }),
        None => Ok(()),
    }
}

/// Refuses a list that is not as long as it must be.
pub(crate) fn as_many(what: &'static str, found: usize, expected: usize) -> Result<(), AlgoError> {
    if found == expected { Ok(()) } else { Err(AlgoError::Lengths { what, found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_place_and_what_to_do() {
        let error = AlgoError::Token { what: "logp", sequence: 2, token: 5, value: f64::NAN };
        assert_eq!(
            error.to_string(),
            "logp of token 5 in sequence 2 is NaN; leave the sequence out of the step, or do not \
             train the token"
        );
        let error =
            AlgoError::Denominator { tokens: 9, episodes: 2, step_tokens: 8, step_episodes: 3 };
        assert_eq!(
            error.to_string(),
            "this batch trains 9 tokens in 2 episodes, but its step was counted as 8 in 3; count \
             every micro-batch of the step before the first"
        );
    }

    #[test]
    fn a_setting_must_be_a_number_even_where_its_bounds_hold() {
        assert_eq!(setting("x", 1.0, true, "positive"), Ok(()));
        let error = setting("x", -1.0, false, "positive").unwrap_err();
        assert_eq!(error.to_string(), "x is -1; it must be positive");
        assert!(setting("x", f64::INFINITY, true, "positive").is_err());
    }

    #[test]
    fn the_first_entry_that_is_no_number_is_named() {
        assert_eq!(entries("reward", &[0.0, 1.0]), Ok(()));
        let error = entries("reward", &[0.0, f64::INFINITY, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "reward 1 is inf; leave it out");
    }

    #[test]
    fn lists_that_belong_together_are_equally_long() {
        assert_eq!(as_many("values", 3, 3), Ok(()));
        let error = as_many("values", 2, 3).unwrap_err();
        assert_eq!(error.to_string(), "there are 2 of values, but 3 are needed; give one for each");
    }
}
