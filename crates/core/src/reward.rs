//! What a verdict is worth: named weighted terms, gates, and a total.
//!
//! ```text
//! total = min( Σ weight · value,  cap of every failed gate )
//! ```
//!
//! A gate does not subtract: it caps, so that nothing earned elsewhere can pay for a failed one.
//! The total is computed here and nowhere else; a line whose total is not that of its own terms
//! and gates is refused. Terms and gates stay apart in files, so that a report can show each; a term
//! that pays nothing stands there too, with weight 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Name of the term that says how many hidden tests passed, in every environment that has tests.
pub const TESTS: &str = "tests";

/// Name of the term that a reward model pays.
pub const MODEL: &str = "model";

/// Name of the term that a process reward model pays, and of the gate that bounds it.
pub const PROCESS: &str = "process";

/// A reward with the parts it is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawReward", into = "RawReward")]
pub struct Reward {
    total: f64,
    terms: BTreeMap<String, Term>,
    gates: BTreeMap<String, Gate>,
}

/// One weighted part of a reward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The measurement itself.
    pub value: f64,
    /// Its weight in the total.
    pub weight: f64,
}

impl Term {
    /// Its contribution to the total, before gates cap the total.
    pub fn paid(self) -> f64 {
        self.weight * self.value
    }
}

/// A condition that caps the total when it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Whether the condition held.
    pub passed: bool,
    /// The most that the total can be when it did not.
    pub cap: f64,
}

/// Why numbers are not a valid reward.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RewardError {
    /// A value, weight or cap is infinite or NaN.
    #[error("`{0}` has a value, weight or cap that is not finite")]
    NotFinite(String),
    /// The written total is not the sum of the written parts.
    #[error("`total` is {written}, but its terms and gates make {computed}")]
    Total {
        /// The total in the line.
        written: f64,
        /// The total computed from the terms.
        computed: f64,
    },
    /// A weight has no term.
    #[error("`weights` names `{0}`, which is no term")]
    Weight(String),
}

impl Reward {
    /// Adds up `terms` and applies `gates`.
    pub fn new(
        terms: BTreeMap<String, Term>,
        gates: BTreeMap<String, Gate>,
    ) -> Result<Self, RewardError> {
        let total = total(&terms, &gates);
        let bad_term = terms.iter().find(|(_, t)| !(t.value * t.weight).is_finite());
        let bad_gate = gates.iter().find(|(_, gate)| !gate.cap.is_finite());
        match bad_term.map(|(name, _)| name).or(bad_gate.map(|(name, _)| name)) {
            Some(name) => Err(RewardError::NotFinite(name.clone())),
            None if !total.is_finite() => Err(RewardError::NotFinite("total".to_owned())),
            None => Ok(Self { total, terms, gates }),
        }
    }

    /// The number that the learner sees.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The parts, by name.
    pub fn terms(&self) -> &BTreeMap<String, Term> {
        &self.terms
    }

    /// The value of the term [`TESTS`]; none where nothing was tested.
    pub fn tests(&self) -> Option<f64> {
        self.terms.get(TESTS).map(|term| term.value)
    }

    /// The gates, by name.
    pub fn gates(&self) -> &BTreeMap<String, Gate> {
        &self.gates
    }

    /// What the environment pays: the total without the terms [`MODEL`] and [`PROCESS`], and without
    /// the latter's gate.
    pub fn judged(&self) -> f64 {
        let terms = self.terms.iter().filter(|(name, _)| *name != MODEL && *name != PROCESS);
        let sum: f64 = terms.map(|(_, term)| term.paid()).sum();
        capped(sum, self.gates.iter().filter(|(name, _)| *name != PROCESS))
    }

    /// What a reward model, or a process reward model, pays beside the environment; none if none does.
    pub fn model_pay(&self) -> Option<ModelPay> {
        let term = |name| self.terms.get(name).filter(|term| term.weight > 0.0);
        let paid = self.total - self.judged();
        if let Some(&Term { weight, .. }) = term(MODEL) {
            // Both weights are shares of 1, unless the line is another writer's.
            let others = self.terms.iter().filter(|(name, _)| *name != MODEL);
            let sum = || others.map(|(_, term)| term.weight).sum();
            let against = if weight < 1.0 { 1.0 - weight } else { sum() };
            return Some(ModelPay { paid, weight, against });
        }
        term(PROCESS).map(|&Term { weight, .. }| ModelPay { paid, weight, against: 1.0 })
    }
}

/// What a model pays in a reward, apart from what the environment pays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPay {
    /// Its contribution to the total, as far as gates let it through.
    pub paid: f64,
    /// The weight of its term.
    pub weight: f64,
    /// The weight of what the environment pays.
    pub against: f64,
}

impl ModelPay {
    /// What it paid for, from 0 to 1: its term's value, as far as gates let it through.
    pub fn value(self) -> f64 {
        self.paid / self.weight
    }
}

fn total(terms: &BTreeMap<String, Term>, gates: &BTreeMap<String, Gate>) -> f64 {
    capped(terms.values().map(|term| term.paid()).sum(), gates.iter())
}

fn capped<'a>(sum: f64, gates: impl Iterator<Item = (&'a String, &'a Gate)>) -> f64 {
    gates.filter(|(_, gate)| !gate.passed).fold(sum, |total, (_, gate)| total.min(gate.cap))
}

/// The wire form; a term without a weight counts once.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReward {
    total: f64,
    #[serde(default)]
    terms: BTreeMap<String, f64>,
    #[serde(default)]
    weights: BTreeMap<String, f64>,
    #[serde(default)]
    gates: BTreeMap<String, Gate>,
}

impl TryFrom<RawReward> for Reward {
    type Error = RewardError;

    fn try_from(raw: RawReward) -> Result<Self, RewardError> {
        if let Some(name) = raw.weights.keys().find(|name| !raw.terms.contains_key(*name)) {
            return Err(RewardError::Weight(name.clone()));
        }
        let weight = |name: &str| raw.weights.get(name).copied().unwrap_or(1.0);
        let with_weight = |(name, value): (String, f64)| {
            let weight = weight(&name);
            (name, Term { value, weight })
        };
        let terms = raw.terms.into_iter().map(with_weight).collect();
        let reward = Self::new(terms, raw.gates)?;
        // Another writer may have added the terms up in another order.
        let slack = 1e-9 * reward.total.abs().max(1.0);
        if (raw.total - reward.total).abs() > slack {
            return Err(RewardError::Total { written: raw.total, computed: reward.total });
        }
        Ok(reward)
    }
}

impl From<Reward> for RawReward {
    fn from(reward: Reward) -> Self {
        let weights = reward.terms.iter().map(|(name, term)| (name.clone(), term.weight)).collect();
        let terms = reward.terms.into_iter().map(|(name, term)| (name, term.value)).collect();
        Self { total: reward.total, terms, weights, gates: reward.gates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(list: &[(&str, f64, f64)]) -> BTreeMap<String, Term> {
        list.iter().map(|&(n, value, weight)| (n.to_owned(), Term { value, weight })).collect()
    }

    fn gates(list: &[(&str, bool, f64)]) -> BTreeMap<String, Gate> {
        list.iter().map(|&(n, passed, cap)| (n.to_owned(), Gate { passed, cap })).collect()
    }

    #[track_caller]
    fn check(parts: &[(&str, f64, f64)], caps: &[(&str, bool, f64)], expected: f64) {
        let total = Reward::new(terms(parts), gates(caps)).unwrap().total();
        assert!((total - expected).abs() < 1e-12, "{total} != {expected}");
    }

    #[test]
    fn the_total_is_the_weighted_sum() {
        check(&[("syntax", 1.0, 0.3), ("function", 0.5, 0.5), ("quality", 0.2, 0.2)], &[], 0.59);
    }

    #[test]
    fn a_failed_gate_caps_and_a_passed_one_does_nothing() {
        check(&[("tests", 1.0, 1.0)], &[("code", true, 0.0)], 1.0);
        check(&[("tests", 1.0, 1.0)], &[("code", false, 0.1)], 0.1);
    }

    #[test]
    fn the_lowest_cap_wins_and_a_cap_never_lifts() {
        check(&[("tests", 1.0, 1.0)], &[("a", false, 0.5), ("b", false, 0.2)], 0.2);
        check(&[("tests", -1.0, 1.0)], &[("a", false, 0.5)], -1.0);
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused_by_name() {
        let err = Reward::new(terms(&[("quality", f64::NAN, 0.2)]), gates(&[])).unwrap_err();
        assert_eq!(err, RewardError::NotFinite("quality".to_owned()));
        let err = Reward::new(terms(&[]), gates(&[("api", true, f64::INFINITY)])).unwrap_err();
        assert_eq!(err, RewardError::NotFinite("api".to_owned()));
    }

    #[test]
    fn a_line_whose_total_is_not_its_parts_is_refused() {
        let line = r#"{"total":1.0,"terms":{"tests":0.5}}"#;
        let err = serde_json::from_str::<Reward>(line).unwrap_err().to_string();
        assert!(err.contains("`total` is 1, but its terms and gates make 0.5"), "{err}");
    }

    #[test]
    fn a_weight_without_its_term_is_refused() {
        let line = r#"{"total":0.0,"terms":{},"weights":{"tests":1.0}}"#;
        let err = serde_json::from_str::<Reward>(line).unwrap_err().to_string();
        assert!(err.contains("`weights` names `tests`"), "{err}");
    }

    #[test]
    fn a_models_part_is_told_apart_with_its_weight_and_no_more_than_gates_let_through() {
        let reward = |list: &[(&str, f64, f64)], caps: &[(&str, bool, f64)]| {
            Reward::new(terms(list), gates(caps)).unwrap()
        };
        let near = |found: [f64; 4], expected: [f64; 4]| {
            let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(near, "{found:?} is not {expected:?}");
        };
        let parts = |reward: Reward| {
            let pay = reward.model_pay().unwrap();
            [reward.judged(), pay.value(), pay.weight, pay.against]
        };
        let paid = [("tests", 1.0, 0.8), (MODEL, 0.5, 0.2)];
        near(parts(reward(&paid, &[("code", true, 0.0)])), [0.8, 0.5, 0.2, 0.8]);
        near(parts(reward(&paid, &[("code", false, 0.0)])), [0.0, 0.0, 0.2, 0.8]);
        near(parts(reward(&[("tests", 1.0, 0.0), (MODEL, 0.5, 1.0)], &[])), [0.0, 0.5, 1.0, 0.0]);
        near(parts(reward(&[("tests", 1.0, 1.0), (MODEL, 0.5, 1.0)], &[])), [1.0, 0.5, 1.0, 1.0]);
        let process = [("right", 0.1, 1.0), (PROCESS, 0.9, 0.2)];
        near(parts(reward(&process, &[(PROCESS, true, 0.19)])), [0.1, 0.9, 0.2, 1.0]);
        near(parts(reward(&process, &[(PROCESS, false, 0.19)])), [0.1, 0.45, 0.2, 1.0]);
        for none in [&[("tests", 1.0, 1.0)][..], &[("tests", 1.0, 1.0), (MODEL, 0.5, 0.0)]] {
            assert_eq!(reward(none, &[]).model_pay(), None);
            assert_eq!(reward(none, &[]).judged().to_bits(), 1.0_f64.to_bits());
        }
    }

    #[test]
    fn it_comes_back_as_it_was_written() {
        let reward = Reward::new(
            terms(&[("tests", 2.0 / 3.0, 0.7), ("quality", 0.1, 0.3)]),
            gates(&[("no_code", true, 0.0)]),
        );
        let json = serde_json::to_string(&reward.clone().unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Reward>(&json).unwrap(), reward.unwrap());
    }
}
