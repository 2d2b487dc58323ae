//! The arithmetic of post-training: advantages, losses with their signals, schedules, pass@k.
//!
//! Numbers in, numbers out: no tensor, no file, no clock (invariant 2). A model gives numbers of
//! tokens (log-probability, entropy, value), a function here gives the loss and its derivative by
//! each of them, and the model backpropagates them. What a reward is made of, and which rollouts are
//! a group, is decided before anything here is called.
//!
//! ```text
//! advantage, gae        advantages of rollouts, or of tokens
//! policy, kl, entropy   losses on rollouts; grpo and ppo are sums of them
//! value                 the loss of a critic; explained_variance measures its fit
//! bradley_terry         the loss of a reward model; pairwise measures its scores
//! binary                the loss of a process reward model, and what its probabilities are worth
//! cross_entropy         the loss on traces
//! distill               the reverse KL divergence from a teacher on sampled tokens
//! normaliser            the weight of a token in its step
//! schedule, pass_at_k   learning rates; the estimator of an evaluation
//! format_gain           the part of a gain that is more replies with code
//! ```
//!
//! A policy loss is a file in `policy` and a name in the settings: `policy::formula` joins them.
//!
//! Three rules hold for every loss. Its denominator is that of the whole optimizer step, given by
//! the caller, so that a split into micro-batches changes no signal by a bit. A token that is not
//! trained is ignored: whatever its values are, its signal is 0. And a non-finite value at a trained
//! token is an error that names its position. Log-ratios of finite values are clamped, and the clamping
//! is counted, so that one outlier token cannot end a run.

#![forbid(unsafe_code)]

pub mod advantage;
pub mod best_of;
pub mod binary;
pub mod bradley_terry;
pub mod cross_entropy;
pub mod distill;
pub mod entropy;
mod error;
pub mod explained_variance;
pub mod format_gain;
pub mod gae;
pub mod grpo;
pub mod kl;
mod mean;
pub mod normaliser;
mod objective;
pub mod pairwise;
pub mod pass_at_k;
pub mod policy;
pub mod ppo;
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
