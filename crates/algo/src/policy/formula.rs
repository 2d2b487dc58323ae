//! The interface of a policy loss: trained tokens of a sequence in, the loss and signal of each out.
//!
//! A policy loss is a file beside this one with a constant [`Formula`], and an arm in
//! [`formula`](super::formula) for its name in the settings. Checks, weights and statistics are the
//! caller's.

use super::clip::{Bound, Clip, ClippedTerm};
use crate::kl::MAX_LOG_RATIO;

/// A policy loss.
#[derive(Clone, Copy)]
pub(super) struct Formula {
    /// The losses of the trained tokens of a sequence, in order.
    pub(super) losses: fn(Clip, &[Token]) -> Vec<TokenLoss>,
    /// Whether all tokens of a sequence must have the same advantage.
    pub(super) needs_one_advantage: bool,
}

/// A trained token, as a policy loss sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token {
    /// The log-probability under the policy as it is now.
    pub(super) logp: f64,
    /// The log-probability under the policy as it was when the rollout was sampled.
    pub(super) old_logp: f64,
    pub(super) advantage: f64,
    /// The factor of its loss: that of the denominator, times its importance.
    pub(super) weight: f64,
}

/// The weighted loss of a trained token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TokenLoss {
    pub(super) loss: f64,
    /// Its derivative by `logp`.
    pub(super) dlogp: f64,
    pub(super) ratio: Ratio,
    /// The bound that took hold.
    pub(super) clipped: Option<Bound>,
}

/// A probability ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio {
    pub(super) value: f64,
    /// Whether its logarithm was clamped to ±[`MAX_LOG_RATIO`].
    pub(super) clamped: bool,
}

impl Ratio {
    /// The ratio with this logarithm.
    pub(super) fn new(log_ratio: f64) -> Self {
        let clamped = log_ratio.abs() > MAX_LOG_RATIO;
        Self { value: log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp(), clamped }
    }
}

impl Token {
    pub(super) fn log_ratio(self) -> f64 {
        self.logp - self.old_logp
    }

    /// The weighted loss of a term in which the ratio depends on `logp`: a clamped one has no slope.
    pub(super) fn weigh(self, ratio: Ratio, term: ClippedTerm) -> TokenLoss {
        let dlogp = if ratio.clamped { 0.0 } else { self.weight * term.dlogp };
        TokenLoss { dlogp, ..self.weigh_constant(ratio, term) }
    }

    /// The weighted loss of a term in which the ratio is a constant.
    pub(super) fn weigh_constant(self, ratio: Ratio, term: ClippedTerm) -> TokenLoss {
        let ClippedTerm { loss, dlogp, clipped } = term;
        TokenLoss { loss: self.weight * loss, dlogp: self.weight * dlogp, ratio, clipped }
    }
}
