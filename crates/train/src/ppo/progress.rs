//! What PPO keeps in a checkpoint beside the progress of every training.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use whetstone_core::config::PpoConfig;

/// The name of this training in events and checkpoints.
pub const STAGE: &str = "ppo";

/// Rewards that are looked back at.
pub(super) const KEPT: usize = 40;

/// The state of PPO's rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PpoProgress {
    /// The coefficient of the divergence from the reference.
    #[serde(with = "exact")]
    pub(super) kl_coef: f64,
    /// Steps in a row whose KL was above the target.
    pub(super) kl_above: u64,
    /// The mean rewards of the newest steps, the oldest first.
    rewards: Vec<Exact>,
    /// Why the run ended, if it did.
    pub(super) ended: Option<String>,
}

/// A number that is read back to the bit, which a JSON reader does not promise.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Exact(f64);

impl PpoProgress {
    /// That of a beginning.
    pub(crate) fn new(config: &PpoConfig) -> Self {
        Self { kl_coef: config.kl_coef, kl_above: 0, rewards: Vec::new(), ended: None }
    }

    pub(super) fn remember(&mut self, reward: Option<f64>) {
        self.rewards.extend(reward.map(Exact));
        let old = self.rewards.len().saturating_sub(KEPT);
        self.rewards.drain(..old);
    }

    pub(super) fn rewards(&self) -> Vec<f64> {
        self.rewards.iter().map(|reward| reward.0).collect()
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        exact::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        exact::deserialize(deserializer).map(Self)
    }
}

/// A number as the shortest text that reads back as the same bits.
mod exact {
    use super::{Deserialize, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{value:?}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let value: f64 = text.parse().map_err(de::Error::custom)?;
        if value.is_finite() {
            Ok(value)
        } else {
            Err(de::Error::custom("expected a finite number"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_bit_and_only_the_newest_are_kept() {
        let mut progress = PpoProgress::new(&PpoConfig::default());
        progress.kl_coef = 0.1 + 0.2;
        for at in 0..50 {
            progress.remember(Some(1.0 / f64::from(at + 3)));
        }
        progress.remember(None);
        assert_eq!(progress.rewards().len(), KEPT);
        let text = serde_json::to_string(&progress).unwrap();
        let again: PpoProgress = serde_json::from_str(&text).unwrap();
        assert_eq!(again, progress);
        assert_eq!(again.kl_coef.to_bits(), (0.1_f64 + 0.2).to_bits());
        let bad = text.replacen("0.30000000000000004", "inf", 1);
        assert!(serde_json::from_str::<PpoProgress>(&bad).is_err());
    }
}
