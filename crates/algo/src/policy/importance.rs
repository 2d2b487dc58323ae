//! Truncated importance sampling: rollouts of a sampler that is not quite the policy.
//!
//! A remote server computes the same model with other kernels and other roundings, so its tokens
//! come from a policy that is only nearly ours. Each token's loss is multiplied by
//!
//! ```text
//! min( exp(old_logp - sampler_logp), cap )
//! ```
//!
//! held constant (F. Yao et al., "Your efficient RL framework secretly brings you off-policy RL
//! training", 2025, fengyao.notion.site/off-policy-rl). `old_logp` is then our own figure for the
//! weights that sampled, computed once more, and not what the sampler said.

use crate::AlgoError;
use crate::error::setting;

/// The most that one token may be weighed up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap(f64);

/// The importance weight of one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Importance {
    /// The factor.
    pub weight: f64,
    /// Whether the cap took hold.
    pub truncated: bool,
}

impl Cap {
    /// A cap.
    ///
    /// # Errors
    ///
    /// If it is not positive.
    pub fn new(cap: f64) -> Result<Self, AlgoError> {
        setting("the cap of importance weights", cap, cap > 0.0, "above 0")?;
        Ok(Self(cap))
    }

    /// The weight of one token.
    pub fn weigh(self, old_logp: f64, sampler_logp: f64) -> Importance {
        let ratio = (old_logp - sampler_logp).exp();
        Importance { weight: ratio.min(self.0), truncated: ratio > self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_near;

    #[test]
    fn worked_by_hand() {
        let cap = Cap::new(2.0).unwrap();
        for (old, sampler, weight, truncated) in [
            (0.5_f64, 0.25_f64, 2.0, false),
            (0.5, 0.5, 1.0, false),
            (0.25, 0.5, 0.5, false),
            (0.75, 0.25, 2.0, true),
        ] {
            let found = cap.weigh(old.ln(), sampler.ln());
            assert_near(found.weight, weight);
            assert_eq!(found.truncated, truncated, "{old} / {sampler}");
        }
        let one = Cap::new(1.0).unwrap().weigh(-2.0, -2.0);
        assert_eq!(one, Importance { weight: 1.0, truncated: false });
        let far = cap.weigh(0.0, -1e9);
        assert_eq!(far, Importance { weight: 2.0, truncated: true }, "no overflow");
    }

    #[test]
    fn a_cap_is_positive() {
        for cap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Cap::new(cap).unwrap_err().to_string();
            assert!(error.ends_with("it must be above 0"), "{error}");
        }
    }
}
