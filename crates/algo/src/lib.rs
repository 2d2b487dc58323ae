//! The arithmetic of post-training: advantages, losses with their signals, schedules, pass@k.
//!
//! Numbers in, numbers out: no tensor, no file, no clock (invariant 2). A model gives numbers of
//! tokens (log-probability, entropy, value), a function here gives the loss and its derivative by
//! each of them, and the model carries those on. What a reward is made of, and which rollouts are
//! a group, is decided before anything here is called.
//!
//! ```text
//! advantage, gae        what a rollout, or a token, was worth
//! policy, kl, entropy   losses on rollouts; grpo is their sum
//! value                 the loss of a critic; explained_variance says how good it is
//! cross_entropy         the loss on traces
//! normaliser            what a token counts in its step
//! schedule, pass_at_k   learning rates, and what is reported in the end
//! ```
//!
//! A policy loss is a file in `policy` and a name in the settings: `policy::formula` joins them.
//!
//! Three rules hold for every loss. Its denominator is that of the whole optimizer step, given by
//! the caller, so that a split into micro-batches changes no signal by a bit. A token that is not
//! trained does not exist: whatever its numbers are, its signal is 0. And a number of a trained
//! token that is infinite or none is an error with its place, never a 0. Log-ratios of finite numbers are
//! clamped, which is counted, so that one token far off cannot end a run.
//!
//! `gae`, `value`, `entropy` and `explained_variance` are PPO's; no loop calls them yet.

#![forbid(unsafe_code)]

pub mod advantage;
pub mod cross_entropy;
pub mod entropy;
mod error;
pub mod explained_variance;
pub mod gae;
pub mod grpo;
pub mod kl;
mod mean;
pub mod normaliser;
mod objective;
pub mod pass_at_k;
pub mod policy;
pub mod schedule;
mod sequence;
#[cfg(test)]
mod testing;
pub mod value;

pub use error::AlgoError;
pub use mean::Mean;
pub use normaliser::{Denominator, Normaliser, Totals};
pub use objective::{Objective, Signals};
pub use sequence::{Advantages, OwnedAdvantages, Sequence};

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "a step has far fewer than 2^53 tokens")]
fn number(count: u64) -> f64 {
    count as f64
}
