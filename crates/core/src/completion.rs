//! What a model answered: text, why it stopped, and the tokens it was sampled as.
//!
//! The token ids are kept beside the text because a text does not determine them: training on a
//! re-tokenised text would train on tokens the model never chose (invariant 10).

use serde::{Deserialize, Serialize};

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The text, without special tokens.
    pub text: String,
    /// Thinking that the server sent in a field of its own, apart from the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Why it ended.
    pub finish: Finish,
    /// The sampled tokens; a remote server may not say them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<SampledTokens>,
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model ended its answer, or a stop string did.
    Stop,
    /// The token limit cut it off.
    Length,
}

/// Token ids with the log-probability each was sampled at. Both lists have the same length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawTokens", into = "RawTokens")]
pub struct SampledTokens {
    ids: Vec<u32>,
    logps: Vec<f32>,
}

/// Why ids and log-probs do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokensError {
    /// One list is longer than the other.
    #[error("{ids} token ids but {logps} log-probs")]
    Length {
        /// Ids there are.
        ids: usize,
        /// Log-probs there are.
        logps: usize,
    },
    /// A log-prob is positive or not a number.
    #[error("log-prob {0} is not a finite number at most 0")]
    Logp(usize),
}

impl SampledTokens {
    /// Pairs ids with log-probs.
    pub fn new(ids: Vec<u32>, logps: Vec<f32>) -> Result<Self, TokensError> {
        if ids.len() != logps.len() {
            return Err(TokensError::Length { ids: ids.len(), logps: logps.len() });
        }
        match logps.iter().position(|logp| !(logp.is_finite() && *logp <= 0.0)) {
            Some(at) => Err(TokensError::Logp(at)),
            None => Ok(Self { ids, logps }),
        }
    }

    /// The token ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The log-probability of each, under the policy that sampled it.
    pub fn logps(&self) -> &[f32] {
        &self.logps
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTokens {
    ids: Vec<u32>,
    logps: Vec<f32>,
}

impl TryFrom<RawTokens> for SampledTokens {
    type Error = TokensError;

    fn try_from(raw: RawTokens) -> Result<Self, TokensError> {
        Self::new(raw.ids, raw.logps)
    }
}

impl From<SampledTokens> for RawTokens {
    fn from(tokens: SampledTokens) -> Self {
        Self { ids: tokens.ids, logps: tokens.logps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_logps_of_different_length_are_refused() {
        let err = SampledTokens::new(vec![1, 2], vec![-0.5]).unwrap_err();
        assert_eq!(err.to_string(), "2 token ids but 1 log-probs");
    }

    #[test]
    fn a_logp_above_zero_or_not_a_number_is_refused() {
        assert_eq!(SampledTokens::new(vec![1], vec![0.1]), Err(TokensError::Logp(0)));
        assert_eq!(SampledTokens::new(vec![1, 2], vec![0.0, f32::NAN]), Err(TokensError::Logp(1)));
    }

    #[test]
    fn the_wire_form_is_checked_like_the_constructor() {
        let text = r#"{"text":"x","finish":"stop","tokens":{"ids":[7],"logps":[-1.5,-2.0]}}"#;
        let err = serde_json::from_str::<Completion>(text).unwrap_err().to_string();
        assert!(err.contains("1 token ids but 2 log-probs"), "{err}");
    }

    #[test]
    fn it_comes_back_as_it_was_written() {
        let tokens = SampledTokens::new(vec![7, 9], vec![-0.1, -0.25]).unwrap();
        let completion = Completion {
            text: "a\u{0}b".to_owned(),
            reasoning: Some(String::new()),
            finish: Finish::Length,
            tokens: Some(tokens),
        };
        let json = serde_json::to_string(&completion).unwrap();
        assert_eq!(serde_json::from_str::<Completion>(&json).unwrap(), completion);
    }
}
