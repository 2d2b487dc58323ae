//! Rollouts of one task at one step: what an advantage is measured within.
//!
//! A group is *alive* when it has something to teach. [`Spread::is_alive`] is the one place that
//! decides it, for dynamic sampling, advantages, metrics and reports alike:
//!
//! ```text
//! rewards with a tests term    alive if that term differs, and the totals do too
//! rewards without one, or paid by a reward model
//!                              alive if the totals differ by more than a floor (`grpo.alive_spread`)
//! ```
//!
//! So form (syntax, quality) can move a rollout within a group in which tests differ, and never
//! makes an advantage by itself.

use crate::reward::{MODEL, PROCESS, Reward};

/// Values closer than this, relative to the largest, are equal: terms may have been added up in
/// another order.
const RELATIVE_SLACK: f64 = 1e-9;

/// A reward as its group compares it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupReward {
    /// The total, which the advantage is computed from.
    pub total: f64,
    /// The value of the tests term, if the environment has one.
    pub tests: Option<f64>,
}

impl From<&Reward> for GroupReward {
    fn from(reward: &Reward) -> Self {
        // What a reward model says may differ where tests do not.
        let pays = |name| reward.terms().get(name).is_some_and(|term| term.weight > 0.0);
        let is_paid_by_model = pays(MODEL) || pays(PROCESS);
        Self { total: reward.total(), tests: reward.tests().filter(|_| !is_paid_by_model) }
    }
}

/// The extremes of a group's rewards: all that deciding whether it is alive needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    rewards: u64,
    totals: Extremes,
    tests: Extremes,
    /// Some reward has no tests term.
    untested: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Extremes {
    low: f64,
    high: f64,
    all_finite: bool,
}

impl Spread {
    /// The spread of `rewards`.
    pub fn of(rewards: &[GroupReward]) -> Self {
        let mut spread = Self::default();
        for &reward in rewards {
            spread.add(reward);
        }
        spread
    }

    /// Takes in one more reward of the group.
    pub fn add(&mut self, reward: GroupReward) {
        self.rewards += 1;
        self.totals.add(reward.total);
        match reward.tests {
            Some(tests) => self.tests.add(tests),
            None => self.untested = true,
        }
    }

    /// Whether the group gives a gradient. `floor` counts where a reward has no tests term; it is that
    /// of the settings, [`Config::alive_floor`](crate::config::Config::alive_floor).
    ///
    /// A group of fewer than two, or with a value that is not finite, is not alive.
    pub fn is_alive(&self, floor: f64) -> bool {
        if self.rewards < 2 || !self.totals.differ() {
            return false;
        }
        if self.untested {
            // Halved first, so that the difference of two large numbers is finite.
            return self.totals.high / 2.0 - self.totals.low / 2.0 > floor / 2.0;
        }
        self.tests.differ()
    }
}

impl Default for Spread {
    fn default() -> Self {
        Self { rewards: 0, totals: Extremes::NONE, tests: Extremes::NONE, untested: false }
    }
}

impl Extremes {
    const NONE: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY, all_finite: true };

    fn add(&mut self, value: f64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
        self.all_finite &= value.is_finite();
    }

    fn differ(self) -> bool {
        let largest = self.low.abs().max(self.high.abs());
        self.all_finite
            && largest > 0.0
            && self.high / largest - self.low / largest > RELATIVE_SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(rewards: &[(f64, Option<f64>)]) -> bool {
        let rewards: Vec<_> =
            rewards.iter().map(|&(total, tests)| GroupReward { total, tests }).collect();
        Spread::of(&rewards).is_alive(0.01)
    }

    #[test]
    fn a_group_is_alive_when_its_tests_term_differs_and_never_by_form_alone() {
        // `pass`, a stub with a docstring, an honest attempt: nobody passed a test.
        assert!(!alive(&[(0.44, Some(0.0)), (0.50, Some(0.0)), (0.416, Some(0.0))]));
        assert!(alive(&[(0.44, Some(0.0)), (0.58, Some(1.0 / 3.0)), (0.416, Some(0.0))]));
        assert!(!alive(&[(1.0, Some(1.0)), (0.85, Some(1.0))]), "all solved it");
        assert!(!alive(&[(0.0, Some(0.0)), (0.0, Some(0.5))]), "the tests term pays nothing");
        assert!(!alive(&[(0.3, Some(0.1 + 0.2)), (0.4, Some(0.3))]), "rounding is no difference");
    }

    #[test]
    fn without_a_tests_term_totals_must_differ_by_more_than_the_floor() {
        assert!(!alive(&[(0.5, None), (0.509, None)]));
        assert!(alive(&[(0.5, None), (0.511, None)]));
        assert!(alive(&[(f64::MAX, None), (f64::MIN, None)]));
        assert!(alive(&[(0.5, None), (0.6, Some(0.0))]), "one without the term: totals decide");
        assert!(
            Spread::of(&[0.5, 0.501].map(|total| GroupReward { total, tests: None })).is_alive(0.0)
        );
    }

    #[test]
    fn fewer_than_two_or_a_value_that_is_not_finite_is_not_alive() {
        assert!(!alive(&[]));
        assert!(!alive(&[(1.0, Some(1.0))]));
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(!alive(&[(0.0, Some(0.0)), (1.0, Some(1.0)), (bad, Some(0.0))]));
            assert!(!alive(&[(0.0, Some(0.0)), (1.0, Some(bad))]));
            assert!(!alive(&[(0.0, None), (1.0, None), (bad, None)]));
        }
    }
}
