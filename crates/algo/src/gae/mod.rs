//! Generalised advantage estimation (arXiv:1506.02438, eq. 16), for one rollout.
//!
//! ```text
//! δ_t = r_t + γ · V_{t+1} - V_t
//! A_t = δ_t + γ λ · A_{t+1}            the return that the critic learns is A_t + V_t
//! ```
//!
//! After the last token, `V` is 0, or the critic's value of what follows where these are not the episode's last
//! tokens. A completion that a limit cut off has its reward, so nothing follows it: its value on top of that
//! reward would pay for running into the limit.
//! Untrained tokens are skipped: the successor of a token is the next trained one, so that a tool's
//! answer neither discounts nor bootstraps.

use crate::AlgoError;
use crate::error::{as_many, setting};

/// The parameters of GAE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gae {
    /// The discount per token, γ.
    pub discount: f64,
    /// From one step of the critic (0) to the whole return (1), λ.
    pub lambda: f64,
}

/// The state after the last token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RolloutEnd {
    /// Nothing: the rollout is over.
    Over,
    /// The episode goes on elsewhere: the critic's value there.
    Continues(f64),
}

/// One rollout, token by token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rewarded<'a> {
    /// The mask of trained tokens.
    pub trained: &'a [bool],
    /// The reward of each token; usually all but the last are 0.
    pub rewards: &'a [f64],
    /// The critic's value of each token.
    pub values: &'a [f64],
    /// The state after the last token.
    pub end: RolloutEnd,
}

/// Advantage and return of each token; 0 where it is not trained.
#[derive(Debug, Clone, PartialEq)]
pub struct GaeEstimate {
    /// More or less than the critic expected.
    pub advantages: Vec<f64>,
    /// The return, the critic's target.
    pub returns: Vec<f64>,
}

impl Default for Gae {
    /// γ = 0.99, λ = 0.95.
    fn default() -> Self {
        Self { discount: 0.99, lambda: 0.95 }
    }
}

impl Gae {
    /// The advantages and returns of one rollout.
    ///
    /// # Errors
    ///
    /// If γ or λ is not between 0 and 1, lists differ in length, or a number of a trained token is
    /// none.
    pub fn estimate(self, rollout: Rewarded<'_>) -> Result<GaeEstimate, AlgoError> {
        let Self { discount, lambda } = self;
        let fraction = |what, value: f64| {
            setting(what, value, (0.0..=1.0).contains(&value), "between 0 and 1")
        };
        fraction("the discount", discount)?;
        fraction("lambda", lambda)?;
        let mut next_value = match rollout.end {
            RolloutEnd::Over => 0.0,
            RolloutEnd::Continues(value) => {
                setting("the value after the end", value, true, "a number")?;
                value
            }
        };
        let rewards = known("reward", rollout.rewards, rollout.trained)?;
        let values = known("value", rollout.values, rollout.trained)?;
        let tokens = rollout.trained.len();
        let mut out = GaeEstimate { advantages: vec![0.0; tokens], returns: vec![0.0; tokens] };
        let mut advantage = 0.0;
        for token in (0..tokens).rev().filter(|&token| rollout.trained[token]) {
            let delta = rewards[token] + discount * next_value - values[token];
            advantage = delta + discount * lambda * advantage;
            out.advantages[token] = advantage;
            out.returns[token] = advantage + values[token];
            next_value = values[token];
        }
        Ok(out)
    }
}

impl Gae {
    /// The advantages and returns of one rollout whose steps are responses, each a run of trained tokens: a
    /// response is worth the rewards of its tokens, the critic's value of it is that before its first
    /// token, and all its tokens have its advantage and its return.
    ///
    /// # Errors
    ///
    /// Those of [`Self::estimate`].
    pub fn estimate_by_response(self, rollout: Rewarded<'_>) -> Result<GaeEstimate, AlgoError> {
        let Rewarded { trained, end, .. } = rollout;
        let rewards = known("reward", rollout.rewards, trained)?;
        let values = known("value", rollout.values, trained)?;
        let is_first = first_of_responses(trained);
        let (mut worth, mut expected, mut response_of) = (Vec::new(), Vec::new(), Vec::new());
        for (token, &is_trained) in trained.iter().enumerate() {
            if is_first[token] {
                worth.push(0.0);
                expected.push(values[token]);
            }
            if let (true, Some(last)) = (is_trained, worth.last_mut()) {
                *last += rewards[token];
            }
            response_of.push(is_trained.then(|| worth.len() - 1));
        }
        let of_responses = self.estimate(Rewarded {
            trained: &vec![true; worth.len()],
            rewards: &worth,
            values: &expected,
            end,
        })?;
        let of_tokens = |list: &[f64]| -> Vec<f64> {
            response_of.iter().map(|response| response.map_or(0.0, |at| list[at])).collect()
        };
        Ok(GaeEstimate {
            advantages: of_tokens(&of_responses.advantages),
            returns: of_tokens(&of_responses.returns),
        })
    }
}

/// The first token of each response, a run of trained tokens: the critic's value there is what
/// [`Gae::estimate_by_response`] measures the response against.
///
/// # Example
///
/// ```
/// use whetstone_algo::gae::first_of_responses;
/// let trained = [true, true, false, true];
/// assert_eq!(first_of_responses(&trained), [true, false, false, true]);
/// ```
pub fn first_of_responses(trained: &[bool]) -> Vec<bool> {
    let is_first = |token: usize| trained[token] && (token == 0 || !trained[token - 1]);
    (0..trained.len()).map(is_first).collect()
}

/// The list, if it has a number for each token that is trained.
fn known<'a>(
    what: &'static str,
    values: &'a [f64],
    trained: &[bool],
) -> Result<&'a [f64], AlgoError> {
    as_many(what, values.len(), trained.len())?;
    match (0..values.len()).find(|&at| trained[at] && !values[at].is_finite()) {
        Some(at) => Err(AlgoError::Entry { what, at, value: values[at] }),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests;
