//! The policy loss: a surrogate for each trained token, weighted and summed.
//!
//! ```text
//! loss = Σ weight · importance · surrogate(ratio, advantage)
//! ```
//!
//! `weight` is the [denominator](crate::Denominator)'s, `importance` that of a foreign sampler
//! ([`importance`]), and the surrogate one of three: [`clip`] on the ratio of each token (PPO, GRPO,
//! DAPO), the same on one ratio for a sequence (`gspo`), or the clipped ratio as a constant weight
//! ([`cispo`]). Each is a file; `formula` has them by their names in the settings.
//!
//! Log-ratios are clamped to ±[`MAX_LOG_RATIO`] and counted. A clamped ratio has no slope; as a weight it
//! still counts for as much as its bound lets it.
//!
//! Not here: the divergence from the reference ([`crate::kl`]) and the entropy
//! ([`crate::entropy`]), which are losses of their own.

pub mod cispo;
pub mod clip;
mod formula;
mod gspo;
pub mod importance;
mod statistics;
mod token_ratio;

pub use clip::{Bound, Clip};
pub use importance::Cap;
pub use statistics::Statistics;

use whetstone_core::config::RatioOf;

use self::formula::{Formula, Token, TokenLoss};
use self::importance::Importance;
use self::statistics::TokenStatistics;
use crate::sequence::TrainedTokens;
use crate::{Advantages, AlgoError, Denominator, Objective, Sequence, Totals};

/// The policy loss of rollouts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surrogate {
    /// The probability ratio that is clipped, and the effect of clipping.
    pub ratio: RatioOf,
    /// Its bounds.
    pub clip: Clip,
    /// The cap of importance weights, where the sampler is not the model that is trained.
    pub cap: Option<Cap>,
}

/// The policy loss of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicyLoss {
    /// The loss and its signal.
    pub objective: Objective,
    /// Statistics of the trained tokens.
    pub statistics: Statistics,
}

/// The policy loss of a name in the settings.
fn formula(ratio: RatioOf) -> Formula {
    match ratio {
        RatioOf::Token => token_ratio::FORMULA,
        RatioOf::Sequence => gspo::FORMULA,
        RatioOf::Weight => cispo::FORMULA,
    }
}

/// The policy loss over the trained tokens of a batch.
///
/// # Errors
///
/// If a value is or becomes non-finite, a list is missing or of another length, or the step is
/// smaller than the batch.
pub fn loss(
    batch: &[Sequence<'_>],
    surrogate: Surrogate,
    denominator: Denominator,
) -> Result<PolicyLoss, AlgoError> {
    denominator.covers(Totals::of(batch))?;
    let mut out = PolicyLoss::default();
    for (at, sequence) in batch.iter().enumerate() {
        let place = TrainedTokens { sequence: at, trained: sequence.trained };
        check(place, sequence, surrogate)?;
        let weight = denominator.weight_in(sequence, place);
        out.add(place, sequence, surrogate, weight)?;
    }
    Ok(out)
}

fn check(
    place: TrainedTokens<'_>,
    sequence: &Sequence<'_>,
    surrogate: Surrogate,
) -> Result<(), AlgoError> {
    place.check("logp", sequence.logp)?;
    place.check("old_logp", sequence.old_logp)?;
    if surrogate.cap.is_some() {
        place.needed("sampler_logp", sequence.sampler_logp)?;
    }
    if let Some(entropy) = sequence.entropy {
        place.check("entropy", entropy)?;
    }
    let is_one = matches!(sequence.advantage, Advantages::Whole(_));
    if formula(surrogate.ratio).needs_one_advantage && !is_one {
        return Err(AlgoError::TokenAdvantages { sequence: place.sequence });
    }
    sequence.advantage.check(place)
}

impl PolicyLoss {
    /// Adds a checked sequence, of which a trained token weighs `weight`.
    fn add(
        &mut self,
        place: TrainedTokens<'_>,
        sequence: &Sequence<'_>,
        surrogate: Surrogate,
        weight: f64,
    ) -> Result<(), AlgoError> {
        let importance = |token: usize| -> Option<Importance> {
            let (cap, sampler_logp) = (surrogate.cap?, sequence.sampler_logp?);
            Some(cap.weigh(sequence.old_logp[token], sampler_logp[token]))
        };
        let trained = |token: usize| Token {
            logp: sequence.logp[token],
            old_logp: sequence.old_logp[token],
            advantage: sequence.advantage.of(token),
            weight: weight * importance(token).map_or(1.0, |importance| importance.weight),
        };
        let tokens: Vec<Token> = place.tokens().map(trained).collect();
        let losses = (formula(surrogate.ratio).losses)(surrogate.clip, &tokens);
        let mut dlogp = vec![0.0; sequence.trained.len()];
        for (token, found) in place.tokens().zip(losses) {
            let TokenLoss { loss, dlogp: signal, ratio, clipped } = found;
            self.objective.loss += place.finite("policy loss", token, loss)?;
            dlogp[token] = signal;
            self.statistics.add(TokenStatistics {
                ratio: ratio.value,
                clipped,
                clamped: ratio.clamped,
                importance: importance(token),
                entropy: sequence.entropy.map(|entropy| entropy[token]),
            });
        }
        self.objective.signals.dlogp.append(&mut dlogp);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
