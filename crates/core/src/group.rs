//! Rollouts of one task at one step: what an advantage is measured within.
//!
//! A group is *alive* when it has something to teach. [`Spread::is_alive`] is the one place that
//! decides it, for dynamic sampling, advantages, metrics and reports alike:
//!
//! ```text
//! rewards with a tests term    alive if that term differs, and what is judged does too
//! rewards without one          alive if they differ by more than a floor (`grpo.alive_spread`)
//! paid by a model as well      also alive if what the model pays differs by more than that floor
//! ```
//!
//! So form (syntax, quality) can move a rollout within a group in which tests differ, and never
//! makes an advantage by itself. What a reward model or a process reward model pays stands apart from
//! what the environment judged ([`ModelPay`]): an advantage divides the one by the group's standard
//! deviation, and never the other.

use crate::reward::{ModelPay, Reward};

/// Values closer than this, relative to the largest, are equal: terms may have been added up in
/// another order.
const RELATIVE_SLACK: f64 = 1e-9;

/// A reward as its group compares it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupReward {
    /// What the environment pays: the total without a model's part.
    pub judged: f64,
    /// The value of the tests term, if the environment has one.
    pub tests: Option<f64>,
    /// What a model pays beside it, if one does.
    pub model: Option<ModelPay>,
}

impl GroupReward {
    /// A reward that no model pays a part of.
    pub const fn judged(judged: f64, tests: Option<f64>) -> Self {
        Self { judged, tests, model: None }
    }
}

impl From<&Reward> for GroupReward {
    fn from(reward: &Reward) -> Self {
        Self { judged: reward.judged(), tests: reward.tests(), model: reward.model_pay() }
    }
}

/// The extremes of a group's rewards: all that deciding whether it is alive needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    rewards: u64,
    judged: Extremes,
    tests: Extremes,
    /// What models pay; 0 where none does.
    models: Extremes,
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
        self.judged.add(reward.judged);
        self.models.add(reward.model.map_or(0.0, |model| model.paid));
        match reward.tests {
            Some(tests) => self.tests.add(tests),
            None => self.untested = true,
        }
    }

    /// Whether the group gives a gradient. `floor` counts where a reward has no tests term, and for
    /// what a model pays; it is that of the settings,
    /// [`Config::alive_floor`](crate::config::Config::alive_floor).
    ///
    /// A group of fewer than two, or with a value that is not finite, is not alive.
    pub fn is_alive(&self, floor: f64) -> bool {
        self.is_judged_apart(floor) || self.is_valued_apart(floor)
    }

    /// Whether the environment tells its rollouts apart.
    pub fn is_judged_apart(&self, floor: f64) -> bool {
        let differs = self.rewards >= 2 && self.judged.differ() && self.models.all_finite;
        differs && if self.untested { self.judged.exceeds(floor) } else { self.tests.differ() }
    }

    /// Whether a model tells its rollouts apart.
    pub fn is_valued_apart(&self, floor: f64) -> bool {
        let is_finite = self.judged.all_finite && (self.untested || self.tests.all_finite);
        self.rewards >= 2 && is_finite && self.models.differ() && self.models.exceeds(floor)
    }
}

impl Default for Spread {
    fn default() -> Self {
        let none = Extremes::NONE;
        Self { rewards: 0, judged: none, tests: none, models: none, untested: false }
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

    fn exceeds(self, floor: f64) -> bool {
        // Halved first, so that the difference of two large numbers is finite.
        self.high / 2.0 - self.low / 2.0 > floor / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(rewards: &[(f64, Option<f64>)]) -> bool {
        let rewards: Vec<_> =
            rewards.iter().map(|&(judged, tests)| GroupReward::judged(judged, tests)).collect();
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
        let close = [0.5, 0.501].map(|judged| GroupReward::judged(judged, None));
        assert!(Spread::of(&close).is_alive(0.0));
    }

    /// Nobody passed: the tests tell nothing apart, and a model may.
    #[test]
    fn what_a_model_pays_makes_a_group_alive_beyond_the_floor_and_leaves_its_tests_alone() {
        let spread = |paid: [f64; 2], tests: [f64; 2]| {
            let reward = |at: usize| {
                let model = Some(ModelPay { paid: paid[at], weight: 0.5, against: 0.5 });
                GroupReward { judged: 0.5 * tests[at], tests: Some(tests[at]), model }
            };
            Spread::of(&[reward(0), reward(1)])
        };
        let told = |spread: Spread| (spread.is_judged_apart(0.01), spread.is_valued_apart(0.01));
        assert_eq!(told(spread([0.3, 0.309], [0.0, 0.0])), (false, false));
        assert_eq!(told(spread([0.3, 0.311], [0.0, 0.0])), (false, true));
        assert_eq!(told(spread([0.3, 0.3], [0.0, 1.0])), (true, false));
        // The model pays as much less as the tests pay more: totals are equal, and it is alive.
        assert_eq!(told(spread([0.5, 0.0], [0.0, 1.0])), (true, true));
        assert_eq!(told(spread([0.5, f64::NAN], [0.0, 1.0])), (false, false));
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
