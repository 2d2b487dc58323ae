//! The clipped surrogate of one token.
//!
//! With the ratio `r = exp(logp - old_logp)` and the advantage `A` (PPO, arXiv:1707.06347, eq. 7):
//!
//! ```text
//! loss = -min(r · A, clip(r, 1 - low, 1 + high) · A)       by logp: -r · A, or 0 where clipped
//! ```
//!
//! `low == high` is PPO's own; a larger `high` leaves room for tokens that were unlikely and good
//! (DAPO, arXiv:2503.14476, section 3.1). Only a move that has already gone far in the direction
//! that pays is clipped: up for a good token, down for a bad one. At the bound itself the signal
//! is that of the free side.
//!
//! A bad token has no upper bound there: a ratio of 1000 has a loss of 1000. With a second bound `c`
//! (dual clip, arXiv:1912.09729, eq. 5; 3 in its paper) the loss of `A < 0` is at most `-c · A`, and past
//! it there is no signal.

use crate::AlgoError;
use crate::error::setting;

/// The clip range of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    low: f64,
    high: f64,
    /// The ratio at which the loss of a negative advantage stops growing.
    dual: Option<f64>,
}

/// The bound that a ratio exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Below `1 - low`.
    Low,
    /// Above `1 + high`.
    High,
}

/// The unweighted loss of one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClippedTerm {
    /// The loss.
    pub loss: f64,
    /// Its derivative by `logp`.
    pub dlogp: f64,
    /// The bound that took hold.
    pub clipped: Option<Bound>,
}

impl Clip {
    /// Bounds at `1 - low` and `1 + high`.
    ///
    /// # Errors
    ///
    /// If `low` is not between 0 and 1, or `high` is negative.
    pub fn new(low: f64, high: f64) -> Result<Self, AlgoError> {
        setting("the lower clip range", low, (0.0..=1.0).contains(&low), "between 0 and 1")?;
        setting("the upper clip range", high, high >= 0.0, "0 or more")?;
        Ok(Self { low, high, dual: None })
    }

    /// Adds a second upper bound for negative advantages (dual clip).
    ///
    /// # Errors
    ///
    /// If it is not above the first.
    pub fn with_dual(self, bound: f64) -> Result<Self, AlgoError> {
        let is_above = bound > self.highest();
        setting("the dual clip bound", bound, is_above, "above the upper clip bound")?;
        Ok(Self { dual: Some(bound), ..self })
    }

    /// The lowest ratio that is not clipped.
    pub fn lowest(self) -> f64 {
        1.0 - self.low
    }

    /// The highest ratio that is not clipped.
    pub fn highest(self) -> f64 {
        1.0 + self.high
    }

    /// The surrogate of one token.
    pub fn term(self, ratio: f64, advantage: f64) -> ClippedTerm {
        if advantage > 0.0 && ratio > self.highest() {
            let loss = -self.highest() * advantage;
            return ClippedTerm { loss, dlogp: 0.0, clipped: Some(Bound::High) };
        }
        if advantage < 0.0 && ratio < self.lowest() {
            let loss = -self.lowest() * advantage;
            return ClippedTerm { loss, dlogp: 0.0, clipped: Some(Bound::Low) };
        }
        if let Some(bound) = self.dual.filter(|&bound| advantage < 0.0 && ratio > bound) {
            return ClippedTerm {
                loss: -bound * advantage,
                dlogp: 0.0,
                clipped: Some(Bound::High),
            };
        }
        // The ratio is its own derivative by `logp`.
        ClippedTerm { loss: -ratio * advantage, dlogp: -ratio * advantage, clipped: None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{assert_near, assert_slopes};

    #[track_caller]
    fn check(ratio: f64, advantage: f64, expected: ClippedTerm) {
        let found = Clip::new(0.25, 0.5).unwrap().term(ratio, advantage);
        assert_near(found.loss, expected.loss);
        assert_near(found.dlogp, expected.dlogp);
        assert_eq!(found.clipped, expected.clipped);
    }

    /// Bounds at 3/4 and 3/2, which are exact.
    #[test]
    fn worked_by_hand() {
        // Nothing has moved: the plain policy gradient.
        check(1.0, 2.0, ClippedTerm { loss: -2.0, dlogp: -2.0, clipped: None });
        check(1.0, -2.0, ClippedTerm { loss: 2.0, dlogp: 2.0, clipped: None });
        // Far in the direction that pays.
        check(2.0, 2.0, ClippedTerm { loss: -3.0, dlogp: 0.0, clipped: Some(Bound::High) });
        check(0.5, -2.0, ClippedTerm { loss: 1.5, dlogp: 0.0, clipped: Some(Bound::Low) });
        // Just as far in the wrong direction: the gradient that brings it back is kept.
        check(0.5, 2.0, ClippedTerm { loss: -1.0, dlogp: -1.0, clipped: None });
        check(2.0, -2.0, ClippedTerm { loss: 4.0, dlogp: 4.0, clipped: None });
        // At the bounds themselves.
        check(1.5, 2.0, ClippedTerm { loss: -3.0, dlogp: -3.0, clipped: None });
        check(0.75, -2.0, ClippedTerm { loss: 1.5, dlogp: 1.5, clipped: None });
        // Without an advantage there is nothing to clip.
        check(2.0, 0.0, ClippedTerm { loss: 0.0, dlogp: 0.0, clipped: None });
        check(0.5, 0.0, ClippedTerm { loss: 0.0, dlogp: 0.0, clipped: None });
    }

    /// The loss of a bad token stops at four times its size; of a good one nothing changes.
    #[test]
    fn a_second_bound_holds_bad_tokens_alone() {
        let clip = Clip::new(0.25, 0.5).unwrap().with_dual(4.0).unwrap();
        let clipped = Some(Bound::High);
        assert_eq!(clip.term(1000.0, -2.0), ClippedTerm { loss: 8.0, dlogp: 0.0, clipped });
        assert_eq!(clip.term(4.0, -2.0), ClippedTerm { loss: 8.0, dlogp: 8.0, clipped: None });
        assert_eq!(clip.term(1000.0, 2.0), ClippedTerm { loss: -3.0, dlogp: 0.0, clipped });
        let error = Clip::new(0.2, 0.5).unwrap().with_dual(1.5).unwrap_err().to_string();
        assert_eq!(error, "the dual clip bound is 1.5; it must be above the upper clip bound");
    }

    #[test]
    fn bounds_that_make_no_sense_are_refused() {
        assert!(Clip::new(0.0, 0.0).is_ok() && Clip::new(1.0, 1e9).is_ok());
        let message = |low, high| Clip::new(low, high).unwrap_err().to_string();
        assert_eq!(message(1.1, 0.2), "the lower clip range is 1.1; it must be between 0 and 1");
        assert_eq!(message(-0.1, 0.2), "the lower clip range is -0.1; it must be between 0 and 1");
        assert_eq!(message(0.2, -0.1), "the upper clip range is -0.1; it must be 0 or more");
        assert!(Clip::new(0.2, f64::INFINITY).is_err() && Clip::new(f64::NAN, 0.2).is_err());
    }

    proptest! {
        #[test]
        fn it_is_the_minimum_of_the_formula(ratio in 0.0..3.0_f64, advantage in -2.0..2.0_f64) {
            let found = Clip::new(0.2, 0.28).unwrap().term(ratio, advantage);
            let bounded = ratio.clamp(0.8, 1.28);
            assert_near(found.loss, -(ratio * advantage).min(bounded * advantage));
        }

        #[test]
        fn the_signal_is_the_slope(log_ratio in -1.5..1.5_f64, advantage in -2.0..2.0_f64) {
            let clip = Clip::new(0.2, 0.28).unwrap();
            // At the two corners there is no slope.
            prop_assume!((log_ratio - 0.8_f64.ln()).abs() > 1e-4);
            prop_assume!((log_ratio - 1.28_f64.ln()).abs() > 1e-4);
            let at = |log_ratio: f64| clip.term(log_ratio.exp(), advantage);
            assert_slopes(&[at(log_ratio).dlogp], &[log_ratio], |x| at(x[0]).loss);
        }
    }
}
