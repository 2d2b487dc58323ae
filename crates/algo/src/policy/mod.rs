//! The policy loss: a surrogate for each trained token, weighted and summed.
//!
//! ```text
//! loss = Σ weight · importance · surrogate(ratio, advantage)
//! ```
//!
//! `weight` is the [denominator](crate::Denominator)'s, `importance` that of a foreign sampler
//! ([`importance`]), and the surrogate one of three: [`clip`] on the ratio of each token (PPO, GRPO,
//! DAPO), the same on one ratio for a sequence ([`gspo`]), or the clipped ratio as a constant weight
//! ([`cispo`]).
//!
//! Log-ratios are clamped to ±[`MAX_LOG_RATIO`] and counted. A clamped ratio has no slope; as a weight it
//! still counts for as much as its bound lets it.
//!
//! Not here: the divergence from the reference ([`crate::kl`]) and the entropy
//! ([`crate::entropy`]), which are losses of their own.

pub mod cispo;
pub mod clip;
pub mod gspo;
pub mod importance;
mod statistics;

pub use clip::{Bound, Clip};
pub use importance::Cap;
pub use statistics::Statistics;

use crate::kl::MAX_LOG_RATIO;
use crate::sequence::Place;
use crate::{Advantages, AlgoError, Denominator, Objective, Sequence, Totals};
use clip::Term;
use statistics::Seen;

/// Whose ratio is bounded, and what the bound does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ratio {
    /// Each token has its own; past the bound it has no signal.
    #[default]
    Token,
    /// One for a sequence (GSPO); past the bound no token of it has a signal.
    Sequence,
    /// Each token has its own, which only weighs it (CISPO); past the bound it weighs no more.
    Weight,
}

/// Which loss rollouts have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surrogate {
    /// Whose ratio is bounded.
    pub ratio: Ratio,
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
    /// What was seen on the way.
    pub statistics: Statistics,
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
        let place = Place { sequence: at, trained: sequence.trained };
        check(place, sequence, surrogate)?;
        let weight = denominator.weight_in(sequence, place);
        let mut signals = out.add(place, sequence, surrogate, weight)?;
        if surrogate.ratio == Ratio::Sequence {
            gspo::share(place, &mut signals);
        }
        out.objective.dlogp.append(&mut signals);
    }
    Ok(out)
}

fn check(place: Place<'_>, sequence: &Sequence<'_>, surrogate: Surrogate) -> Result<(), AlgoError> {
    place.check("logp", sequence.logp)?;
    place.check("old_logp", sequence.old_logp)?;
    if surrogate.cap.is_some() {
        place.needed("sampler_logp", sequence.sampler_logp)?;
    }
    if let Some(entropy) = sequence.entropy {
        place.check("entropy", entropy)?;
    }
    if surrogate.ratio == Ratio::Sequence && matches!(sequence.advantage, Advantages::Tokens(_)) {
        return Err(AlgoError::TokenAdvantages { sequence: place.sequence });
    }
    sequence.advantage.check(place)
}

impl PolicyLoss {
    /// Takes a checked sequence in; gives the signal of each of its tokens.
    fn add(
        &mut self,
        place: Place<'_>,
        sequence: &Sequence<'_>,
        surrogate: Surrogate,
        weight: f64,
    ) -> Result<Vec<f64>, AlgoError> {
        let whole = gspo::log_ratio(place, sequence);
        let mut signals = vec![0.0; sequence.trained.len()];
        for token in place.tokens() {
            let (logp, old_logp) = (sequence.logp[token], sequence.old_logp[token]);
            let moved = match surrogate.ratio {
                Ratio::Token | Ratio::Weight => logp - old_logp,
                Ratio::Sequence => whole,
            };
            let clamped = moved.abs() > MAX_LOG_RATIO;
            let ratio = moved.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp();
            let importance = surrogate
                .cap
                .zip(sequence.sampler_logp)
                .map(|(cap, sampler)| cap.weigh(old_logp, sampler[token]));
            let weight = weight * importance.map_or(1.0, |importance| importance.weight);
            let term = surrogate.term(ratio, logp, sequence.advantage.of(token));
            self.objective.loss += place.finite("policy loss", token, weight * term.loss)?;
            let is_constant = clamped && surrogate.ratio != Ratio::Weight;
            signals[token] = if is_constant { 0.0 } else { weight * term.dlogp };
            let entropy = sequence.entropy.map(|entropy| entropy[token]);
            self.statistics.add(Seen {
                ratio,
                clipped: term.clipped,
                clamped,
                importance,
                entropy,
            });
        }
        Ok(signals)
    }
}

impl Surrogate {
    fn term(self, ratio: f64, logp: f64, advantage: f64) -> Term {
        match self.ratio {
            Ratio::Token | Ratio::Sequence => self.clip.term(ratio, advantage),
            Ratio::Weight => cispo::term(self.clip, ratio, logp, advantage),
        }
    }
}

#[cfg(test)]
mod tests;
