//! The policy loss of PPO and GRPO: the [clipped surrogate](Clip) with the ratio of each token.

use super::clip::Clip;
use super::formula::{Formula, Ratio, Token, TokenLoss};

/// Each token has its own ratio; past the bound it has no signal.
pub(super) const FORMULA: Formula = Formula { losses, needs_one_advantage: false };

fn losses(clip: Clip, tokens: &[Token]) -> Vec<TokenLoss> {
    let loss = |token: &Token| {
        let ratio = Ratio::new(token.log_ratio());
        token.weigh(ratio, clip.term(ratio.value, token.advantage))
    };
    tokens.iter().map(loss).collect()
}
