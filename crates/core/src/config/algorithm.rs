//! Names of algorithms and of policy losses in settings.
//!
//! What the algorithms set is in [`preset`](super::preset).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An algorithm on groups of rollouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// No named algorithm: every key has its own value.
    Custom,
    /// GRPO (`DeepSeekMath`, arXiv:2402.03300).
    Grpo,
    /// Dr. GRPO (arXiv:2503.20783).
    DrGrpo,
    /// DAPO (arXiv:2503.14476).
    Dapo,
    /// RLOO (arXiv:2402.14740).
    Rloo,
    /// GSPO (arXiv:2507.18071).
    Gspo,
    /// CISPO (`MiniMax-M1`, arXiv:2506.13585).
    Cispo,
}

/// A policy loss: which probability ratio is clipped, and what clipping does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatioOf {
    /// The ratio of each token; a clipped token has no gradient (PPO, GRPO).
    Token,
    /// The ratio of the whole sequence; a clipped sequence has no gradient (GSPO).
    Sequence,
    /// The ratio of each token as a constant weight, which clipping bounds (CISPO).
    Weight,
}

impl RatioOf {
    /// Whether the ratio is a weight of a token, which is bounded whatever its advantage is.
    pub(super) fn is_weight(self) -> bool {
        self == Self::Weight
    }
}
