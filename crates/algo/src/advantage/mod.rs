//! Advantages of rollouts within their group.
//!
//! ```text
//! standard score   (r - mean) / std      the default, as GRPO has it
//! mean             r - mean
//! leave one out    r - mean of the others = n/(n-1) · (r - mean)
//! ```
//!
//! `std` is the population's, `√(Σ(r - mean)² / n)`, without an epsilon. The group is all there is,
//! not a sample from which a larger one is guessed; so every group that has any variance comes out
//! with a mean square of exactly 1, one of two as well as one of sixteen, and multiplying all
//! rewards by a number changes nothing. Tools that divide by `n - 1` (PyTorch's default) give the
//! same directions, shorter by `√((n-1)/n)`.
//!
//! A group that is not alive ([`Spread::is_alive`]) has only advantages of 0: it gives no gradient.
//! Above all a group in which no two rollouts differ in their tests is not, however their form
//! differs: to divide by such a difference would make a full signal of it. Nor do rewards count that
//! differ only in their last bits, because terms were added in another order.
//!
//! Where a reward model or a process reward model pays a part, its advantage is added apart ([`models`]),
//! so that its weight is what it weighs. Advantages of the turns of episodes are in [`of_turns`].

mod models;
mod turns;

pub use turns::{EpisodeTurns, of_turns};

use whetstone_core::config::{AdvantageBy, Config};
use whetstone_core::group::{GroupReward, Spread};

use crate::error::{as_many, entries};
use crate::{AlgoError, number};

/// Rewards closer than this, relative to the largest, are equal.
const RELATIVE_SLACK: f64 = 1e-9;

/// Beyond these a square would overflow or vanish, so the group is scaled first.
const COMFORTABLE: std::ops::Range<f64> = 1e-100..1e100;

/// The advantages of a group, and the condition under which a group has any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupRule {
    /// The formula.
    pub how: AdvantageBy,
    /// The minimum spread of rewards in a live group without tests.
    pub floor: f64,
}

impl GroupRule {
    /// That of the settings.
    pub fn new(config: &Config) -> Self {
        Self { how: config.grpo.advantage, floor: config.alive_floor() }
    }
}

/// The advantages of a group, in the order of its rewards; all 0 unless the group is alive.
///
/// # Errors
///
/// If a reward is not finite.
///
/// # Example
///
/// Two rollouts that differ in quality alone teach nothing:
///
/// ```
/// use whetstone_algo::advantage::{GroupRule, of_group};
/// use whetstone_core::config::AdvantageBy;
/// use whetstone_core::group::GroupReward;
/// let stub = GroupReward::judged(0.50, Some(0.0));
/// let honest = GroupReward::judged(0.42, Some(0.0));
/// let solved = GroupReward::judged(1.00, Some(1.0));
/// let rule = GroupRule { how: AdvantageBy::StandardScore, floor: 0.01 };
/// assert_eq!(of_group(&[stub, honest], rule)?, [0.0, 0.0]);
/// assert_eq!(of_group(&[stub, solved], rule)?, [-1.0, 1.0]);
/// # Ok::<(), whetstone_algo::AlgoError>(())
/// ```
pub fn of_group(rewards: &[GroupReward], rule: GroupRule) -> Result<Vec<f64>, AlgoError> {
    let judged: Vec<f64> = rewards.iter().map(|reward| reward.judged).collect();
    entries("reward", &judged)?;
    let spread = Spread::of(rewards);
    if !spread.is_alive(rule.floor) {
        return Ok(vec![0.0; judged.len()]);
    }
    let of_judged = if spread.is_judged_apart(rule.floor) {
        models::weighed(group(&judged, rule.how)?, rewards, rule.how)
    } else {
        vec![0.0; judged.len()]
    };
    models::added(of_judged, rewards, rule.how)
}

/// The advantages of a group whose rewards are charged for the divergence from the reference.
///
/// Whether a group's rewards count is decided by what it earned. If they do, advantages are those of
/// rewards less charges. If they do not, the charges alone are compared, and never divided by their own
/// standard deviation: that would make a full signal of the smallest difference.
///
/// # Errors
///
/// If there is not one charge for each reward, or a reward or charge is not finite.
pub fn of_charged_group(
    rewards: &[GroupReward],
    charges: &[f64],
    rule: GroupRule,
) -> Result<Vec<f64>, AlgoError> {
    as_many("charges", charges.len(), rewards.len())?;
    entries("charge", charges)?;
    let spread = Spread::of(rewards);
    let of_judged = if spread.is_judged_apart(rule.floor) {
        let both = rewards.iter().zip(charges);
        let left: Vec<f64> = both.map(|(reward, charge)| reward.judged - charge).collect();
        models::weighed(group(&left, rule.how)?, rewards, rule.how)
    } else {
        let how = if rule.how == AdvantageBy::StandardScore { AdvantageBy::Mean } else { rule.how };
        group(&charges.iter().map(|charge| -charge).collect::<Vec<f64>>(), how)?
    };
    if !spread.is_alive(rule.floor) {
        return Ok(of_judged);
    }
    models::added(of_judged, rewards, rule.how)
}

/// The formula alone: advantages of totals, in their order.
///
/// Every one is finite. Totals that are [all equal](is_constant) have only zeros.
///
/// # Errors
///
/// If a reward is not finite.
///
/// # Example
///
/// ```
/// use whetstone_algo::advantage::group;
/// use whetstone_core::config::AdvantageBy;
/// assert_eq!(group(&[1.0, 0.0], AdvantageBy::StandardScore)?, [1.0, -1.0]);
/// assert_eq!(group(&[1.0, 0.0], AdvantageBy::Mean)?, [0.5, -0.5]);
/// assert_eq!(group(&[1.0, 0.0], AdvantageBy::LeaveOneOut)?, [1.0, -1.0]);
/// # Ok::<(), whetstone_algo::AlgoError>(())
/// ```
pub fn group(rewards: &[f64], how: AdvantageBy) -> Result<Vec<f64>, AlgoError> {
    entries("reward", rewards)?;
    if is_constant(rewards) {
        return Ok(vec![0.0; rewards.len()]);
    }
    let largest = largest(rewards);
    let scale = if COMFORTABLE.contains(&largest) { 1.0 } else { largest };
    let n = number(rewards.len() as u64);
    let mean = rewards.iter().map(|reward| reward / scale / n).sum::<f64>();
    let centred = rewards.iter().map(|reward| reward / scale - mean);
    let (factor, scale) = match how {
        AdvantageBy::StandardScore => {
            (1.0 / centred.clone().map(|value| value * value / n).sum::<f64>().sqrt(), 1.0)
        }
        AdvantageBy::Mean => (1.0, scale),
        AdvantageBy::LeaveOneOut => (n / (n - 1.0), scale),
    };
    Ok(centred.map(|value| (value * factor * scale).clamp(f64::MIN, f64::MAX)).collect())
}

/// Whether totals have no variance: fewer than two, or all equal.
///
/// Rewards are finite by their type; a group in which one is not counts as constant too, and
/// [`group`] refuses it. Whether a group is *alive* is more: [`Spread::is_alive`].
pub fn is_constant(rewards: &[f64]) -> bool {
    let low = rewards.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all_finite = rewards.iter().all(|reward| reward.is_finite());
    let largest = largest(rewards);
    // Divided first, so that the difference of two large numbers is finite.
    let spread = high / largest - low / largest;
    !all_finite || rewards.len() < 2 || largest == 0.0 || spread <= RELATIVE_SLACK
}

fn largest(rewards: &[f64]) -> f64 {
    rewards.iter().fold(0.0, |largest, reward| reward.abs().max(largest))
}

#[cfg(test)]
mod tests;
