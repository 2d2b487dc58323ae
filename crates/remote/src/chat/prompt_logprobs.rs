//! Log-probabilities of given tokens, by vLLM's extension of OpenAI's completions.
//!
//! ```text
//! POST /v1/completions  {"model", "prompt": [ids], "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
//! answer                {"choices": [{"prompt_logprobs": [null, {"ID": {"logprob": -0.5, …}}, …]}]}
//! ```
//!
//! The list has an entry for each token of the prompt: nothing for the first, which has no prefix, and for every other
//! one an object with the token's id, and with `prompt_logprobs` above 0 those of likelier tokens. vLLM computes
//! them at temperature 1, whatever the temperature of the request, and writes -9999 for minus infinity.
//!
//! An answer that is not of this shape is an error with the index of the token, and is asked for again like any other
//! malformed answer. One without the field at all is final: the server does not know it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CHAT, ChatError, Client, Failure, Miss};
use crate::shown;

/// The path beside that of chat completions.
const COMPLETIONS: &str = "/completions";

/// Tokens whose log-probabilities are asked for.
#[derive(Debug, Clone, Copy)]
pub struct TokensToScore<'a> {
    /// The model, as the server knows it.
    pub model: &'a str,
    /// All tokens of a sequence.
    pub tokens: &'a [u32],
    /// The first that is scored, at least 1: the first token of a sequence has no log-probability.
    pub first: usize,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    prompt: &'a [u32],
    max_tokens: u32,
    temperature: f64,
    prompt_logprobs: u32,
}

#[derive(Deserialize)]
struct RawAnswer {
    choices: Option<Vec<RawChoice>>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct RawChoice {
    prompt_logprobs: Option<Vec<Option<BTreeMap<String, RawLogprob>>>>,
}

#[derive(Deserialize)]
struct RawLogprob {
    logprob: f64,
}

/// Why an answer has no scores.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum BadScores {
    #[error("it is not a completion ({0})")]
    Malformed(String),
    #[error("the server reports an error")]
    Error,
    #[error("it has no choices")]
    NoChoices,
    #[error("it has no `prompt_logprobs`")]
    Absent,
    #[error("its `prompt_logprobs` has {found} entries for {expected} tokens")]
    Length { found: usize, expected: usize },
    #[error("entry {index} of its `prompt_logprobs` does not have token {token}")]
    Missing { index: usize, token: u32 },
    #[error("entry {index} of its `prompt_logprobs` has the log-probability {logprob}")]
    Above { index: usize, logprob: f64 },
}

impl Client {
    /// The log-probabilities of tokens from `first` on, with as many tries as the settings allow.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked, or does not score prompts.
    ///
    /// # Panics
    ///
    /// Never: strings and numbers have a form in JSON.
    pub fn prompt_logprobs(&self, asked: TokensToScore<'_>) -> Result<Vec<f64>, ChatError> {
        let TokensToScore { model, tokens, first } = asked;
        let url = self.url.beside(CHAT, COMPLETIONS);
        let url = url.ok_or_else(|| ChatError::NoCompletions { url: self.url.shown() })?;
        let body =
            Body { model, prompt: tokens, max_tokens: 1, temperature: 0.0, prompt_logprobs: 0 };
        let body = serde_json::to_string(&body).expect("strings and numbers have a form in JSON");
        self.with_retries(&body, || {
            let answer = self.post(&url, &body)?;
            parse(&answer.body, tokens, first).map_err(|bad| match bad {
                BadScores::Absent => {
                    Miss::Final(ChatError::NoPromptLogprobs { url: answer.url.clone() })
                }
                bad => {
                    let text = shown::beginning(&answer.body, self.http.secret());
                    Miss::Passing(Failure::malformed(&answer.url, &bad.to_string(), &text))
                }
            })
        })
    }
}

/// The log-probabilities of the tokens from `first` on.
pub(crate) fn parse(body: &[u8], tokens: &[u32], first: usize) -> Result<Vec<f64>, BadScores> {
    let raw: RawAnswer =
        serde_json::from_slice(body).map_err(|err| BadScores::Malformed(err.to_string()))?;
    if raw.error.is_some_and(|error| !error.is_null()) {
        return Err(BadScores::Error);
    }
    let choice = raw.choices.unwrap_or_default().into_iter().next();
    let entries = choice.ok_or(BadScores::NoChoices)?.prompt_logprobs.ok_or(BadScores::Absent)?;
    if entries.len() != tokens.len() {
        return Err(BadScores::Length { found: entries.len(), expected: tokens.len() });
    }
    let scored = entries.iter().zip(tokens).enumerate().skip(first.max(1));
    let logprob = |(index, (entry, &token)): (usize, (&Option<BTreeMap<_, _>>, &u32))| {
        let found = entry.as_ref().and_then(|entry| entry.get(&token.to_string()));
        let RawLogprob { logprob } = found.ok_or(BadScores::Missing { index, token })?;
        if *logprob > 1e-3 || !logprob.is_finite() {
            return Err(BadScores::Above { index, logprob: *logprob });
        }
        Ok(logprob.min(0.0))
    };
    scored.map(logprob).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of vLLM 0.10 to `prompt_logprobs: 1`, shortened: the second entry has a likelier token beside it.
    const ANSWER: &str = r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,
        "text":" a","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_logprobs":[null,
        {"785":{"logprob":-4.25,"rank":12,"decoded_token":"The"},"2":{"logprob":-0.5,"rank":1,"decoded_token":"A"}},
        {"6722":{"logprob":-9999.0,"rank":9,"decoded_token":" capital"}},
        {"13":{"logprob":0.0,"rank":1,"decoded_token":"."}}]}],
        "usage":{"prompt_tokens":4,"total_tokens":5,"completion_tokens":1}}"#;

    fn scores(body: &str) -> Result<Vec<f64>, BadScores> {
        parse(body.as_bytes(), &[9, 785, 6722, 13], 1)
    }

    #[test]
    fn the_scores_are_those_of_the_tokens_that_were_asked_about() {
        assert_eq!(scores(ANSWER).unwrap(), [-4.25, -9999.0, 0.0]);
        assert_eq!(parse(ANSWER.as_bytes(), &[9, 785, 6722, 13], 3).unwrap(), [0.0]);
    }

    #[test]
    fn an_answer_without_a_score_names_the_entry() {
        let bad = |from: &str, to: &str| {
            assert!(ANSWER.contains(from), "{from}");
            scores(&ANSWER.replace(from, to)).unwrap_err()
        };
        assert_eq!(bad("\"6722\"", "\"6723\""), BadScores::Missing { index: 2, token: 6722 });
        assert_eq!(bad("[null,", "[null,null,"), BadScores::Length { found: 5, expected: 4 });
        assert_eq!(bad("-4.25", "0.5"), BadScores::Above { index: 1, logprob: 0.5 });
        assert!(matches!(bad("-4.25", "null"), BadScores::Malformed(_)));
        assert!(matches!(bad("{\"id\"", "<html>"), BadScores::Malformed(_)));
        assert_eq!(bad("\"prompt_logprobs\"", "\"other\""), BadScores::Absent);
        assert_eq!(bad("\"choices\"", "\"others\""), BadScores::NoChoices);
        assert_eq!(bad("\"id\":\"cmpl-1\"", "\"error\":\"no\""), BadScores::Error);
    }
}
