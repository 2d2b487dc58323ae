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
//! `tests` is 1 for all and 0 otherwise, or the fraction that passed less what a constant passes of these tests.
//!
//! Where nothing was run there is no tests term, and neither `loads` nor `test_passed`.
// size: the terms and gates, and a table of what they pay.

use std::collections::BTreeMap;

use whetstone_core::config::{Composite, QualityWeights, RewardConfig};
use whetstone_core::judgement::Judgement;
use whetstone_core::program::Language;
use whetstone_core::reward::{Gate, Reward, TESTS, Term};
use whetstone_core::verdict::Verdict;

use super::constant_baseline::above;
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
            (self.tests_value(reading, judgement), quality(reading, &self.reward.quality));
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
        // A gate that only a run could test is left out, neither held nor failed.
        if entry_point(reading) != EntryPoint::Unknown {
            gates.insert("entry_point", entry_point(reading) == EntryPoint::Defined);
        }
        reward(&parts, &gates)
    }

    fn tests_value(&self, reading: &Reading, judgement: &Judgement) -> f64 {
        let counts = judgement.counts();
        if self.reward.needs_all_tests() {
            f64::from(u8::from(judgement.verdict().is_pass()))
        } else {
            let constant_baseline = match reading {
                Reading::Runs(candidate) => candidate.constant_baseline,
                Reading::Settled { .. } => 0.0,
            };
            above(f64::from(counts.passed) / f64::from(counts.total.max(1)), constant_baseline)
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
        Reading::Settled { language, .. } => (*language != Language::Javascript).then_some(0.0),
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
        Reading::Settled { .. } => EntryPoint::Absent,
        Reading::Runs(candidate) => candidate.entry_point,
    }
}

/// The gates that reading alone decides. Without code there is no syntax either.
fn gates_of_reading(reading: &Reading) -> BTreeMap<&'static str, bool> {
    let (code, syntax) = match reading {
        Reading::Settled { judgement, .. } => (judgement.verdict() != &Verdict::NoCode, false),
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
mod tests {
    use whetstone_core::config::TestsWorth;
    use whetstone_core::judgement::{Counts, Held, Isolation};
    use whetstone_core::program::Program;

    use super::*;
    use crate::python::Candidate;

    const QUALITY: Quality = Quality { complexity: 0.5, readability: 1.0, documentation: 0.0 };
    const EVERY: [Composite; 3] =
        [Composite::Tests, Composite::WeightedSum, Composite::PassTimesQuality];
    const TERMS: [&str; 3] = ["quality", "syntax", "tests"];

    fn reading(entry_point: EntryPoint) -> Reading {
        let program =
            Program { language: Language::Python, source: String::new(), truncated: true };
        let may_vary = false;
        Reading::Runs(Candidate {
            program,
            quality: QUALITY,
            may_vary,
            entry_point,
            constant_baseline: 0.0,
        })
    }

    fn runs() -> Reading {
        reading(EntryPoint::Defined)
    }

    fn ran(verdict: Verdict, passed: u32, total: u32) -> Judgement {
        let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
        Judgement::of_run(verdict, Counts { passed, total }, held).unwrap()
    }

    fn rules(composite: Composite, tests: TestsWorth) -> Rules {
        Rules::new(RewardConfig { composite, tests, ..RewardConfig::default() })
    }

    /// The weighted sum without any condition on tests.
    fn bare() -> Rules {
        let mut rules = rules(Composite::WeightedSum, TestsWorth::Fraction);
        rules.reward.form_needs_pass = false;
        rules
    }

    #[track_caller]
    fn check(reward: &Reward, total: f64, terms: &[&str]) {
        assert!((reward.total() - total).abs() < 1e-12, "{reward:?}");
        assert_eq!(reward.terms().keys().collect::<Vec<_>>(), terms);
    }

    fn failed(reward: &Reward) -> Vec<&str> {
        let failed = reward.gates().iter().filter(|(_, gate)| !gate.passed);
        failed.map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn by_default_whole_solutions_are_paid_and_nothing_else_and_all_terms_are_recorded() {
        let rules = Rules::new(RewardConfig::default());
        check(&rules.reward(&runs(), &ran(Verdict::Timeout, 0, 4)), 0.0, &TERMS);
        let reward = rules.reward(&runs(), &ran(Verdict::Wrong { test: 1 }, 1, 4));
        check(&reward, 0.0, &TERMS);
        assert_eq!(reward.terms()["quality"], Term { value: 0.5, weight: 0.0 });
        assert_eq!(reward.terms()["syntax"], Term { value: 1.0, weight: 0.0 });
        check(&rules.reward(&runs(), &ran(Verdict::Pass, 4, 4)), 1.0, &TERMS);
    }

    #[test]
    fn where_the_tests_are_one_part_of_several_their_fraction_counts_by_default() {
        let part = ran(Verdict::Wrong { test: 1 }, 1, 4);
        for composite in EVERY {
            let paid = |tests| rules(composite, tests).reward(&runs(), &part);
            let same = match composite {
                Composite::Tests => TestsWorth::All,
                Composite::WeightedSum | Composite::PassTimesQuality => TestsWorth::Fraction,
            };
            assert_eq!(paid(TestsWorth::Auto), paid(same), "{composite:?}");
            assert_ne!(paid(TestsWorth::Fraction), paid(TestsWorth::All), "{composite:?}");
        }
    }

    #[test]
    fn the_weighted_sum_is_the_one_of_the_settings() {
        let rules = rules(Composite::WeightedSum, TestsWorth::Fraction);
        // Quality: 0.4 · 0.5 + 0.3 · 1 = 0.5.
        let reward = rules.reward(&runs(), &ran(Verdict::Wrong { test: 1 }, 1, 4));
        check(&reward, 0.3 + 0.5 * 0.25 + 0.2 * 0.5, &TERMS);
        let reward = rules.reward(&runs(), &ran(Verdict::Pass, 4, 4));
        check(&reward, 0.3 + 0.5 + 0.1, &TERMS);
    }

    #[test]
    fn form_is_paid_only_with_a_passed_test_unless_the_bare_sum_is_asked_for() {
        let none = ran(Verdict::Wrong { test: 0 }, 0, 4);
        let reward = rules(Composite::WeightedSum, TestsWorth::Fraction).reward(&runs(), &none);
        check(&reward, 0.0, &TERMS);
        assert_eq!(failed(&reward), ["test_passed"]);
        let reward = bare().reward(&runs(), &none);
        check(&reward, 0.3 + 0.1, &TERMS);
        assert_eq!(failed(&reward), [""; 0]);
    }

    #[test]
    fn all_or_nothing_pays_no_part_of_the_tests() {
        let rules = rules(Composite::WeightedSum, TestsWorth::All);
        let reward = rules.reward(&runs(), &ran(Verdict::Wrong { test: 3 }, 3, 4));
        check(&reward, 0.3 + 0.1, &TERMS);
    }

    #[test]
    fn where_quality_multiplies_nothing_is_earned_without_tests() {
        let rules = rules(Composite::PassTimesQuality, TestsWorth::Fraction);
        let names = ["quality", "syntax", "tests", "tests_times_quality"];
        check(&rules.reward(&runs(), &ran(Verdict::Timeout, 0, 2)), 0.0, &names);
        check(&rules.reward(&runs(), &ran(Verdict::Pass, 2, 2)), 0.85 + 0.15 * 0.5, &names);
        let half = 0.5 * (0.85 + 0.15 * 0.5);
        check(&rules.reward(&runs(), &ran(Verdict::Timeout, 1, 2)), half, &names);
    }

    #[test]
    fn a_reply_without_a_program_that_compiles_earns_nothing_and_says_why() {
        for composite in EVERY {
            let rules = rules(composite, TestsWorth::Fraction);
            for (verdict, has_code) in [(Verdict::NoCode, false), (Verdict::SyntaxError, true)] {
                let judgement = Judgement::of_reply(verdict, 3).unwrap();
                let reading =
                    Reading::Settled { judgement: judgement.clone(), language: Language::Python };
                let judged = rules.reward(&reading, &judgement);
                for reward in [&judged, &rules.static_reward(&reading)] {
                    assert!(reward.total().abs() < f64::EPSILON, "{reward:?}");
                    assert_eq!(!failed(reward).contains(&"code"), has_code, "{reward:?}");
                    for gate in ["syntax", "entry_point"] {
                        assert!(failed(reward).contains(&gate), "{gate}: {reward:?}");
                    }
                }
                assert!(failed(&judged).contains(&"loads"), "what does not parse does not load");
            }
        }
    }

    #[test]
    fn a_program_that_does_not_load_or_defines_nothing_that_is_called_earns_nothing() {
        let load_error = ran(Verdict::LoadError { kind: "NameError".to_owned() }, 0, 3);
        let reward = bare().reward(&runs(), &load_error);
        assert_eq!((reward.total().to_bits(), failed(&reward)), (0, vec!["loads"]));
        let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
        for verdict in [Verdict::Timeout, Verdict::Memory, Verdict::Crashed { signal: 6 }] {
            let loading = Judgement::of_loading(verdict.clone(), 3, held).unwrap();
            let reward = bare().reward(&runs(), &loading);
            assert_eq!((reward.total().to_bits(), failed(&reward)), (0, vec!["loads"]));
            assert_eq!(failed(&bare().reward(&runs(), &ran(verdict, 0, 3))), [""; 0]);
        }
        let raised = ran(Verdict::Raised { test: 0, kind: "NameError".to_owned() }, 0, 3);
        for entry_point in [EntryPoint::Absent, EntryPoint::Unknown] {
            let reward = bare().reward(&reading(entry_point), &raised);
            assert_eq!((reward.total().to_bits(), failed(&reward)), (0, vec!["entry_point"]));
        }
        let reward = bare().static_reward(&reading(EntryPoint::Absent));
        assert_eq!((reward.total().to_bits(), failed(&reward)), (0, vec!["entry_point"]));
        let unknown = bare().static_reward(&reading(EntryPoint::Unknown));
        assert!(!unknown.gates().contains_key("entry_point"), "nobody tested it: {unknown:?}");
        // Whoever passes a test has what it calls, wherever it came from.
        let reward =
            bare().reward(&reading(EntryPoint::Unknown), &ran(Verdict::Wrong { test: 1 }, 1, 2));
        check(&reward, 0.3 + 0.25 + 0.1, &TERMS);
    }

    #[test]
    fn without_a_run_only_what_reading_shows_is_paid() {
        let names = ["quality", "syntax"];
        let tests = rules(Composite::Tests, TestsWorth::Fraction);
        check(&tests.static_reward(&runs()), 0.0, &names);
        let sum = rules(Composite::WeightedSum, TestsWorth::Fraction);
        check(&sum.static_reward(&runs()), 0.3 + 0.1, &names);
        let product = rules(Composite::PassTimesQuality, TestsWorth::Fraction);
        check(&product.static_reward(&runs()), 0.15 * 0.5, &names);
    }

    #[test]
    fn quality_that_is_not_measured_is_no_term_and_earns_nothing() {
        let mut reading = runs();
        let Reading::Runs(candidate) = &mut reading else { unreachable!("it runs") };
        candidate.program.language = Language::Javascript;
        for (composite, total) in [
            (Composite::Tests, 1.0),
            (Composite::WeightedSum, 0.8),
            (Composite::PassTimesQuality, 0.85),
        ] {
            let rules = rules(composite, TestsWorth::Fraction);
            let reward = rules.reward(&reading, &ran(Verdict::Pass, 4, 4));
            assert!(!reward.terms().contains_key("quality"), "{composite:?}");
            assert!((reward.total() - total).abs() < 1e-12, "{composite:?}: {}", reward.total());
            assert!(!rules.static_reward(&reading).terms().contains_key("quality"));
            let judgement = Judgement::of_reply(Verdict::SyntaxError, 4).unwrap();
            let mut settled =
                Reading::Settled { judgement: judgement.clone(), language: Language::Javascript };
            assert!(!rules.reward(&settled, &judgement).terms().contains_key("quality"));
            if let Reading::Settled { language, .. } = &mut settled {
                *language = Language::Python;
            }
            assert!(rules.reward(&settled, &judgement).terms().contains_key("quality"));
        }
    }

    #[test]
    fn what_a_stub_is_said_to_be_paid_is_what_it_is_paid() {
        let mut best = runs();
        let Reading::Runs(candidate) = &mut best else { unreachable!("it runs") };
        candidate.quality = Quality { complexity: 1.0, readability: 1.0, documentation: 1.0 };
        let none = ran(Verdict::Wrong { test: 0 }, 0, 4);
        let rules = bare();
        let paid = rules.reward(&best, &none).total();
        assert!((paid - rules.reward.paid_to_a_stub()).abs() < 1e-12, "{paid}");
        for rules in EVERY.map(|composite| self::rules(composite, TestsWorth::Fraction)) {
            assert_eq!(rules.reward.paid_to_a_stub().to_bits(), 0);
            assert_eq!(rules.reward(&best, &none).total().to_bits(), 0);
        }
    }

    #[test]
    fn weights_that_are_no_numbers_pay_nothing() {
        let weights =
            QualityWeights { complexity: f64::NAN, readability: -1.0, documentation: 0.0 };
        assert!(QUALITY.mean(&weights).abs() < f64::EPSILON);
        let mut rules = bare();
        rules.reward.syntax_weight = f64::NAN;
        assert!((rules.reward(&runs(), &ran(Verdict::Pass, 1, 1)).total() - 0.6).abs() < 1e-12);
    }
}
