//! What a reading and a verdict are worth.
//!
//! ```text
//! tests               tests
//! weighted_sum        w_s · syntax + w_f · tests + w_q · quality
//! pass_times_quality  0.85 · tests + 0.15 · tests · quality
//! ```
//!
//! Every reward records `syntax`, `tests` and `quality`; what a composite does not pay has weight 0,
//! so that reports show it all the same. Of a JavaScript program nobody measures quality: it has no such
//! term, and earns nothing for it. Gates cap the total at 0 where they fail:
//!
//! | gate | fails when |
//! |---|---|
//! | `code` | the reply has no program |
//! | `syntax` | there is no program that parses |
//! | `entry_point` | there is none, or it defines nothing that the tests call |
//! | `loads` | there is none, or it raises, runs out of something or ends before the first test |
//! | `test_passed` | no hidden test passed; only in `weighted_sum` with `form_needs_pass` |
//!
//! Where nothing was run there is no tests term, and neither `loads` nor `test_passed`.

use std::collections::BTreeMap;

use whetstone_core::config::{Composite, QualityWeights, RewardConfig};
use whetstone_core::judgement::Judgement;
use whetstone_core::program::Language;
use whetstone_core::reward::{Gate, Reward, TESTS, Term};
use whetstone_core::verdict::Verdict;

use super::{EntryPoint, Quality, Reading, Rules};

/// What passing all tests is worth where quality multiplies.
const PASS: f64 = 0.85;
/// The rest, which only good code earns.
const POLISH: f64 = 0.15;
/// No weight that means anything is larger; it keeps the total finite.
const MAX_WEIGHT: f64 = 1e9;

/// A term by its name.
struct Part {
    name: &'static str,
    value: f64,
    weight: f64,
}

impl Rules {
    /// What a judged reply is worth.
    pub fn reward(&self, reading: &Reading, judgement: &Judgement) -> Reward {
        let (tests, quality) =
            (self.tests_value(judgement), quality(reading, &self.reward.quality));
        let weighs = Weights::of(&self.reward);
        let mut parts = vec![
            Part { name: "syntax", value: syntax(reading), weight: weighs.syntax },
            Part { name: TESTS, value: tests, weight: weighs.tests },
        ];
        parts.extend(quality.map(|value| quality_term(value, weighs.quality)));
        if self.reward.composite == Composite::PassTimesQuality {
            let (name, value) = ("tests_times_quality", tests * quality.unwrap_or_default());
            parts.push(Part { name, value, weight: POLISH });
        }
        let any_passed = judgement.counts().passed > 0;
        let mut gates = gates_of_reading(reading);
        // A program that passed a test defines what the test called.
        gates.insert("entry_point", entry_point(reading) == EntryPoint::Defined || any_passed);
        let is_program = matches!(reading, Reading::Runs(_));
        gates.insert("loads", is_program && !judgement.is_of_loading());
        if self.reward.composite == Composite::WeightedSum && self.reward.form_needs_pass {
            gates.insert("test_passed", any_passed);
        }
        reward(&parts, &gates)
    }

    /// What a reply is worth by its static terms alone, where nothing was run. Under `tests` that is
    /// nothing: the terms are recorded and none is paid.
    pub fn static_reward(&self, reading: &Reading) -> Reward {
        let weighs = Weights::of(&self.reward);
        let by_quality = match self.reward.composite {
            Composite::PassTimesQuality => POLISH,
            Composite::Tests | Composite::WeightedSum => weighs.quality,
        };
        let mut parts =
            vec![Part { name: "syntax", value: syntax(reading), weight: weighs.syntax }];
        let quality = quality(reading, &self.reward.quality);
        parts.extend(quality.map(|value| quality_term(value, by_quality)));
        let mut gates = gates_of_reading(reading);
        // Where nothing ran, what nobody can say is not held against the program.
        gates.insert("entry_point", entry_point(reading) != EntryPoint::Absent);
        reward(&parts, &gates)
    }

    fn tests_value(&self, judgement: &Judgement) -> f64 {
        let counts = judgement.counts();
        if self.reward.needs_all_tests() {
            f64::from(u8::from(judgement.verdict().is_pass()))
        } else {
            f64::from(counts.passed) / f64::from(counts.total.max(1))
        }
    }
}

/// What each recorded term is worth in the total.
struct Weights {
    syntax: f64,
    tests: f64,
    quality: f64,
}

impl Weights {
    fn of(config: &RewardConfig) -> Self {
        match config.composite {
            Composite::Tests => Self { syntax: 0.0, tests: 1.0, quality: 0.0 },
            Composite::PassTimesQuality => Self { syntax: 0.0, tests: PASS, quality: 0.0 },
            Composite::WeightedSum => Self {
                syntax: config.syntax_weight,
                tests: config.function_weight,
                quality: config.quality_weight,
            },
        }
    }
}

fn syntax(reading: &Reading) -> f64 {
    f64::from(u8::from(matches!(reading, Reading::Runs(_))))
}

/// How well a program is written; `None` where that is not measured.
fn quality(reading: &Reading, weights: &QualityWeights) -> Option<f64> {
    match reading {
        Reading::Settled(_) => Some(0.0),
        Reading::Runs(candidate) if candidate.program.language == Language::Javascript => None,
        Reading::Runs(candidate) => Some(candidate.quality.mean(weights)),
    }
}

fn quality_term(value: f64, weight: f64) -> Part {
    Part { name: "quality", value, weight }
}

/// A reply without a program that could run defines nothing.
fn entry_point(reading: &Reading) -> EntryPoint {
    match reading {
        Reading::Settled(_) => EntryPoint::Absent,
        Reading::Runs(candidate) => candidate.entry_point,
    }
}

/// The gates that reading alone decides. Without code there is no syntax either.
fn gates_of_reading(reading: &Reading) -> BTreeMap<&'static str, bool> {
    let (code, syntax) = match reading {
        Reading::Settled(judgement) => (judgement.verdict() != &Verdict::NoCode, false),
        Reading::Runs(_) => (true, true),
    };
    BTreeMap::from([("code", code), ("syntax", syntax)])
}

impl Quality {
    /// The weighted mean of the parts; 0 where no part has a weight.
    pub fn mean(&self, weights: &QualityWeights) -> f64 {
        let parts = [
            (self.complexity, weights.complexity),
            (self.readability, weights.readability),
            (self.documentation, weights.documentation),
        ];
        let weights: f64 = parts.iter().map(|(_, weight)| bounded(*weight)).sum();
        let sum: f64 = parts.iter().map(|(value, weight)| value * bounded(*weight)).sum();
        if weights > 0.0 { sum / weights } else { 0.0 }
    }
}

/// A weight as a finite number at least 0.
fn bounded(weight: f64) -> f64 {
    if weight.is_nan() { 0.0 } else { weight.clamp(0.0, MAX_WEIGHT) }
}

fn reward(parts: &[Part], gates: &BTreeMap<&'static str, bool>) -> Reward {
    let term = |part: &Part| {
        (part.name.to_owned(), Term { value: part.value, weight: bounded(part.weight) })
    };
    let gate =
        |(name, passed): (&&str, &bool)| ((*name).to_owned(), Gate { passed: *passed, cap: 0.0 });
    let (terms, gates) = (parts.iter().map(term).collect(), gates.iter().map(gate).collect());
    Reward::new(terms, gates).expect("values and weights are finite")
}

#[cfg(test)]
mod tests;
