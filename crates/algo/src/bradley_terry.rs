//! The loss of a reward model on a preference pair (Bradley and Terry, Biometrika 1952).
//!
//! With the scores `c` of the chosen and `r` of the rejected reply, the margin `m` that the first is to
//! lead by, and the weight `k` of centring:
//!
//! ```text
//! loss    softplus(m - (c - r)) + k (c + r)²          softplus(x) = ln(1 + eˣ)
//! by c    -σ(m - (c - r)) + 2k (c + r)
//! by r    +σ(m - (c - r)) + 2k (c + r)
//! ```
//!
//! divided by the pairs of the step. The margin is Llama 2's (arXiv:2307.09288, eq. 2). The first term
//! sees differences alone, so nothing holds the scores of one prompt near those of another; the second
//! does (J. Eisenstein et al., arXiv:2312.09244), which is what rewards that are compared across prompts
//! need. `softplus` and `σ` are computed without overflow for every finite score.

use crate::error::setting;
use crate::{AlgoError, number};

/// The scores of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairScores {
    /// Of the reply that is preferred.
    pub chosen: f64,
    /// Of the other one.
    pub rejected: f64,
    /// The lead that the first is to have.
    pub margin: f64,
}

/// What the loss is made of beside the scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairSettings {
    /// The factor of margins; 0 ignores them.
    pub margin_scale: f64,
    /// The weight of centring; 0 is none.
    pub center: f64,
    /// Pairs of the whole optimizer step.
    pub step_pairs: u64,
}

/// The part of a pair in the loss of its step, and its derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairLoss {
    /// This pair's part.
    pub loss: f64,
    /// By the score of the chosen reply.
    pub dchosen: f64,
    /// By the score of the rejected reply.
    pub drejected: f64,
}

/// The loss of a pair; `at` is its place in the step, for messages.
///
/// # Errors
///
/// If a score or a setting is not finite, or the step has no pairs.
pub fn loss(pair: PairScores, settings: PairSettings, at: usize) -> Result<PairLoss, AlgoError> {
    let PairSettings { margin_scale, center, step_pairs } = settings;
    setting("the scale of margins", margin_scale, margin_scale >= 0.0, "at least 0")?;
    setting("the weight of centring", center, center >= 0.0, "at least 0")?;
    let pairs = number(step_pairs);
    setting("the number of pairs of a step", pairs, step_pairs > 0, "at least 1")?;
    let PairScores { chosen, rejected, margin } = pair;
    for (what, value) in [
        ("the score of the chosen reply of pair", chosen),
        ("the score of the rejected reply of pair", rejected),
        ("the margin of pair", margin),
    ] {
        if !value.is_finite() {
            return Err(AlgoError::Entry { what, at, value });
        }
    }
    let lack = margin_scale * margin - (chosen - rejected);
    let (sum, slope) = (chosen + rejected, sigmoid(lack));
    let centring = 2.0 * center * sum;
    let value = softplus(lack) + center * sum * sum;
    if !value.is_finite() {
        return Err(AlgoError::Entry { what: "the loss of pair", at, value });
    }
    Ok(PairLoss {
        loss: value / pairs,
        dchosen: (centring - slope) / pairs,
        drejected: (centring + slope) / pairs,
    })
}

/// `1 / (1 + e⁻ˣ)`: the probability that a lead of `x` stands for.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        return 1.0 / (1.0 + (-x).exp());
    }
    let small = x.exp();
    small / (1.0 + small)
}

/// `ln(1 + eˣ)`.
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{assert_near, assert_slopes};

    const PLAIN: PairSettings = PairSettings { margin_scale: 1.0, center: 0.0, step_pairs: 1 };

    fn of(chosen: f64, rejected: f64, margin: f64, settings: PairSettings) -> PairLoss {
        loss(PairScores { chosen, rejected, margin }, settings, 0).unwrap()
    }

    /// As it is written down, which overflows where scores are far apart.
    fn slow(chosen: f64, rejected: f64, margin: f64, settings: PairSettings) -> f64 {
        let probability = 1.0 / (1.0 + (settings.margin_scale * margin - chosen + rejected).exp());
        let centring = settings.center * (chosen + rejected) * (chosen + rejected);
        (centring - probability.ln()) / number(settings.step_pairs)
    }

    /// ```python
    /// import torch; from torch.nn.functional import logsigmoid
    /// for c, r, m, k in [(0., 0., 0., 0.), (2., -1., .5, 0.), (-1., 2., .5, 0.), (1.5, .25, 0., .01)]:
    ///     c, r = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (c, r))
    ///     loss = -logsigmoid(c - r - m) + k * (c + r) ** 2
    ///     loss.backward(); print(loss.item(), c.grad.item(), r.grad.item())
    /// ```
    #[test]
    fn the_numbers_of_pytorch() {
        let expected = [
            (of(0.0, 0.0, 0.0, PLAIN), [std::f64::consts::LN_2, -0.5, 0.5]),
            (
                of(2.0, -1.0, 0.5, PLAIN),
                [0.078_889_734_292_549_63, -0.075_858_180_021_243_56, 0.075_858_180_021_243_56],
            ),
            (
                of(-1.0, 2.0, 0.5, PLAIN),
                [3.529_750_418_272_620_5, -0.970_687_769_248_643_6, 0.970_687_769_248_643_6],
            ),
            (
                of(1.5, 0.25, 0.0, PairSettings { center: 0.01, ..PLAIN }),
                [0.282_554_081_345_372_9, -0.187_700_138_825_308_84, 0.257_700_138_825_308_84],
            ),
        ];
        for (found, [loss, dchosen, drejected]) in expected {
            assert_near(found.loss, loss);
            assert_near(found.dchosen, dchosen);
            assert_near(found.drejected, drejected);
        }
    }

    #[test]
    fn scores_that_are_far_apart_neither_overflow_nor_lose_the_loss() {
        let far = of(-1e4, 1e4, 0.0, PLAIN);
        assert_near(far.loss, 2e4);
        assert_eq!((far.dchosen, far.drejected), (-1.0, 1.0));
        let led = of(20.0, -20.0, 0.0, PLAIN);
        assert!((led.loss - (-40.0_f64).exp()).abs() < 1e-30, "{}", led.loss);
        assert_near(sigmoid(-800.0), 0.0);
        assert_near(sigmoid(800.0), 1.0);
    }

    #[test]
    fn margins_are_scaled_and_parts_of_a_step_add_up_to_its_mean() {
        let half = PairSettings { margin_scale: 0.5, step_pairs: 2, ..PLAIN };
        let sum = of(1.0, 0.0, 3.0, half).loss + of(0.0, 1.0, 0.0, half).loss;
        let mean = f64::midpoint(of(1.0, 0.0, 1.5, PLAIN).loss, of(0.0, 1.0, 0.0, PLAIN).loss);
        assert_near(sum, mean);
    }

    #[test]
    fn a_score_that_is_not_finite_is_named_with_its_pair() {
        let refused = |chosen, rejected| {
            let scores = PairScores { chosen, rejected, margin: 0.0 };
            loss(scores, PLAIN, 7).unwrap_err().to_string()
        };
        assert_eq!(
            refused(f64::NAN, 0.0),
            "the score of the chosen reply of pair 7 is NaN; leave it out"
        );
        assert_eq!(
            refused(0.0, f64::INFINITY),
            "the score of the rejected reply of pair 7 is inf; leave it out"
        );
        let scores = PairScores { chosen: 0.0, rejected: 0.0, margin: 0.0 };
        let none = PairSettings { step_pairs: 0, ..PLAIN };
        assert!(loss(scores, none, 0).is_err());
        let negative = PairSettings { center: -1.0, ..PLAIN };
        assert!(loss(scores, negative, 0).is_err());
    }

    proptest! {
        #[test]
        fn the_loss_is_the_slow_one_and_its_signals_are_slopes(
            (chosen, rejected) in (-8.0..8.0_f64, -8.0..8.0_f64),
            (margin, scale, center) in (0.0..3.0_f64, 0.0..2.0_f64, 0.0..0.5_f64),
            step_pairs in 1..9_u64,
        ) {
            let settings = PairSettings { margin_scale: scale, center, step_pairs };
            let found = of(chosen, rejected, margin, settings);
            assert_near(found.loss, slow(chosen, rejected, margin, settings));
            let at = |scores: &[f64]| of(scores[0], scores[1], margin, settings).loss;
            assert_slopes(&[found.dchosen, found.drejected], &[chosen, rejected], at);
        }
    }
}
