//! CISPO: the clipped ratio is a constant weight.
//!
//! With `c = clip(r, 1 - low, 1 + high)` held constant (`MiniMax-M1`, arXiv:2506.13585, eq. 4, 5):
//!
//! ```text
//! loss = -c · A · logp        by logp: -c · A
//! ```
//!
//! Every token keeps a signal, whatever its ratio is; clipping bounds its weight. The paper has no lower
//! bound, which is `low = 1`, and gives no value for the upper one. The value of the loss depends on the
//! level of the log-probabilities and says little; only its gradient matters.

use super::clip::{Bound, Clip, ClippedTerm};
use super::formula::{Formula, Ratio, Token, TokenLoss};

/// Each token has its own ratio, which is a constant weight; past the bound it weighs no more. A clamped
/// ratio still counts for as much as its bound lets it.
pub(super) const FORMULA: Formula = Formula { losses, needs_one_advantage: false };

fn losses(clip: Clip, tokens: &[Token]) -> Vec<TokenLoss> {
    let loss = |token: &Token| {
        let ratio = Ratio::new(token.log_ratio());
        token.weigh_constant(ratio, term(clip, ratio.value, token.logp, token.advantage))
    };
    tokens.iter().map(loss).collect()
}

/// The loss of one token.
pub fn term(clip: Clip, ratio: f64, logp: f64, advantage: f64) -> ClippedTerm {
    let dlogp = -ratio.clamp(clip.lowest(), clip.highest()) * advantage;
    let clipped = if ratio > clip.highest() {
        Some(Bound::High)
    } else if ratio < clip.lowest() {
        Some(Bound::Low)
    } else {
        None
    };
    ClippedTerm { loss: dlogp * logp, dlogp, clipped }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{assert_near, assert_slopes};

    #[track_caller]
    fn check(ratio: f64, advantage: f64, expected: ClippedTerm) {
        // Bounds at 3/4 and 3/2, a log-probability of -3.
        let found = term(Clip::new(0.25, 0.5).unwrap(), ratio, -3.0, advantage);
        assert_near(found.loss, expected.loss);
        assert_near(found.dlogp, expected.dlogp);
        assert_eq!(found.clipped, expected.clipped);
    }

    #[test]
    fn worked_by_hand() {
        check(1.25, 2.0, ClippedTerm { loss: 7.5, dlogp: -2.5, clipped: None });
        check(2.0, 2.0, ClippedTerm { loss: 9.0, dlogp: -3.0, clipped: Some(Bound::High) });
        check(2.0, -2.0, ClippedTerm { loss: -9.0, dlogp: 3.0, clipped: Some(Bound::High) });
        check(0.5, -2.0, ClippedTerm { loss: -4.5, dlogp: 1.5, clipped: Some(Bound::Low) });
        check(0.75, 1.0, ClippedTerm { loss: 2.25, dlogp: -0.75, clipped: None });
        check(1.5, 1.0, ClippedTerm { loss: 4.5, dlogp: -1.5, clipped: None });
    }

    proptest! {
        /// With the ratio held where it is, as the formula says.
        #[test]
        fn the_signal_is_the_slope(
            ratio in 0.1..3.0_f64, logp in -5.0..0.0_f64, advantage in -2.0..2.0_f64,
        ) {
            let clip = Clip::new(0.2, 0.28).unwrap();
            let signal = term(clip, ratio, logp, advantage).dlogp;
            assert_slopes(&[signal], &[logp], |x| term(clip, ratio, x[0], advantage).loss);
        }
    }
}
