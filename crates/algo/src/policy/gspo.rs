//! GSPO: one ratio for a whole sequence.
//!
//! Of `n` trained tokens (arXiv:2507.18071, eq. 7; its gradient is eq. 10):
//!
//! ```text
//! s = exp( (1/n) · Σ (logp - old_logp) )        by each logp: s / n
//! ```
//!
//! Rewards are given to sequences, so the sequence is what is clipped. Every token stands for the
//! loss of its sequence, `-min(s · A, clip(s) · A)`, with its own weight; so the derivative by one
//! of them is the mean of what each would get if `s` were its own. With [sequence
//! means](crate::Normaliser::SEQUENCE_MEAN) this is the paper's objective. Its bounds are narrow,
//! 3e-4 and 4e-4 in the paper, because a mean over tokens moves little.

use super::clip::Clip;
use super::formula::{Formula, Ratio, Token, TokenLoss};
use crate::number;

/// One ratio for a sequence; past the bound no token of it has a signal.
pub(super) const FORMULA: Formula = Formula { losses, needs_one_advantage: true };

fn losses(clip: Clip, tokens: &[Token]) -> Vec<TokenLoss> {
    let ratio = Ratio::new(mean(tokens.iter().map(|token| token.log_ratio())));
    let loss = |token: &Token| token.weigh(ratio, clip.term(ratio.value, token.advantage));
    let mut losses: Vec<TokenLoss> = tokens.iter().map(loss).collect();
    let shared = mean(losses.iter().map(|loss| loss.dlogp));
    for loss in &mut losses {
        loss.dlogp = shared;
    }
    losses
}

/// The mean, 0 of nothing.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = number(values.len().max(1) as u64);
    values.sum::<f64>() / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_all_near, assert_near};

    fn token(logp: f64, old_logp: f64, weight: f64) -> Token {
        Token { logp, old_logp, advantage: -1.0, weight }
    }

    /// Two trained tokens, one twice and one eight times as likely as before: √(2 · 8) = 4. With weights
    /// 1/4 and 3/4 each has a signal of half their sum, 4 · (1/4 + 3/4) / 2 = 2.
    #[test]
    fn the_ratio_is_the_geometric_mean_and_signals_are_shared() {
        let tokens =
            [token(0.5_f64.ln(), 0.25_f64.ln(), 0.25), token(0.8_f64.ln(), 0.1_f64.ln(), 0.75)];
        let found = losses(Clip::new(0.25, 0.5).unwrap(), &tokens);
        for loss in &found {
            assert_near(loss.ratio.value, 4.0);
        }
        assert_all_near(&[found[0].loss, found[1].loss], &[1.0, 3.0]);
        assert_all_near(&[found[0].dlogp, found[1].dlogp], &[2.0, 2.0]);
    }

    #[test]
    fn of_no_trained_token_there_is_no_loss() {
        assert_eq!(losses(Clip::new(0.25, 0.5).unwrap(), &[]), []);
        assert_near(mean([].into_iter()), 0.0);
    }
}
