//! What replies are paid, and what no reply may be paid.

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
    let program = Program { language: Language::Python, source: String::new(), truncated: true };
    let may_vary = false;
    Reading::Runs(Candidate { program, quality: QUALITY, may_vary, entry_point })
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
            let reading = Reading::Settled(judgement.clone());
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
    assert_eq!(failed(&bare().static_reward(&reading(EntryPoint::Unknown))), [""; 0]);
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
    }
}

#[test]
fn what_a_stub_is_said_to_be_paid_is_what_it_is_paid() {
    let mut best = runs();
    let Reading::Runs(candidate) = &mut best else { unreachable!("it runs") };
    candidate.quality = Quality { complexity: 1.0, readability: 1.0, documentation: 1.0 };
    let none = ran(Verdict::Wrong { test: 0 }, 0, 4);
    let rules = bare();
    let said = rules.reward.paid_to_a_stub();
    assert!((rules.reward(&best, &none).total() - said).abs() < 1e-12, "{said}");
    for composite in EVERY {
        let rules = self::rules(composite, TestsWorth::Fraction);
        assert_eq!(rules.reward.paid_to_a_stub().to_bits(), 0);
        assert_eq!(rules.reward(&best, &none).total().to_bits(), 0);
    }
}

#[test]
fn weights_that_are_no_numbers_pay_nothing() {
    let weights = QualityWeights { complexity: f64::NAN, readability: -1.0, documentation: 0.0 };
    assert!(QUALITY.mean(&weights).abs() < f64::EPSILON);
    let mut rules = bare();
    rules.reward.syntax_weight = f64::NAN;
    let reward = rules.reward(&runs(), &ran(Verdict::Pass, 1, 1));
    assert!((reward.total() - 0.6).abs() < 1e-12);
}
