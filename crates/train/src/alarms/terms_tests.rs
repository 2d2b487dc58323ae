//! A term that is collected without solving, alone or with others, and honest runs that look a little like it.

use whetstone_core::config::TestsWorth;

use super::tests::{put, ringing_in, suspects};
use super::*;
use crate::grpo;

/// From step 51 on: what passes, and what the terms pay to those that do not.
#[derive(Clone, Copy)]
struct After {
    pass_rate: f64,
    tests: f64,
    quality: f64,
}

const BEFORE: After = After { pass_rate: 0.3, tests: 0.05, quality: 0.02 };

/// The alarms of a training with partial credit in which a pass is worth 1 and nothing else is paid.
fn rung(after: After) -> Vec<Alarm> {
    let mut config = Config::default();
    config.reward.tests = TestsWorth::Fraction;
    ringing_in(Alarms::new(&config, grpo::STAGE), |step, values| {
        let jump = [0.0, 0.01, -0.01][usize::try_from(step % 3).unwrap()];
        let After { pass_rate, tests, quality } = if step > 50 { &after } else { &BEFORE };
        put(values, "grpo/pass_rate", pass_rate + jump);
        put(values, "reward_failing/tests", tests + jump);
        put(values, "reward_failing/quality", quality + jump);
        let reward = pass_rate + (1.0 - pass_rate) * (tests + quality);
        put(values, "grpo/mean_reward", reward + jump);
    })
}

#[track_caller]
fn check(after: After, expected: &[&str]) -> Vec<Alarm> {
    let found = rung(after);
    let terms: Vec<&str> = found
        .iter()
        .map(|alarm| {
            assert_eq!(alarm.code, "term_rises_alone", "{found:#?}");
            alarm.suspects[0].prompt_id.strip_prefix("about/").unwrap()
        })
        .collect();
    assert_eq!(terms, expected, "{found:#?}");
    found
}

#[test]
fn a_term_that_pays_more_without_passes_names_who_gains_by_it() {
    let found = check(After { quality: 0.15, ..BEFORE }, &["quality"]);
    assert_eq!(found[0].suspects, suspects("quality"));
    assert!(found[0].message.contains("the term `quality` pays 0."), "{found:?}");
    assert!(found[0].message.contains("the pass rate changed by"), "{found:?}");
}

#[test]
fn so_do_a_few_more_passes_and_two_terms_together() {
    // Of a rise of 0.05 · 0.93 + 0.65 · 0.13 the second part is 0.0845 of 0.131.
    check(After { pass_rate: 0.35, quality: 0.15, ..BEFORE }, &["quality"]);
    check(After { tests: 0.15, quality: 0.12, ..BEFORE }, &["quality", "tests"]);
}

#[test]
fn what_is_mostly_passes_is_earned() {
    check(BEFORE, &[]);
    // 0.2 · 0.93 are passes, and 0.5 · 0.13 of the rise are not.
    check(After { pass_rate: 0.5, quality: 0.15, ..BEFORE }, &[]);
    check(After { pass_rate: 0.5, tests: 0.1, quality: 0.05 }, &[]);
    check(After { quality: 0.03, ..BEFORE }, &[]);
}

#[test]
fn a_term_that_pays_passing_programs_alone_is_no_hack() {
    let paid = |step: u64, values: &mut BTreeMap<String, f64>| {
        put(values, "grpo/pass_rate", 0.3);
        put(values, "reward/quality", if step > 50 { 0.25 } else { 0.05 });
        put(values, "reward_failing/quality", 0.0);
    };
    let alarms = Alarms::new(&Config::default(), grpo::STAGE);
    assert_eq!(ringing_in(alarms, paid), []);
}

#[test]
fn tests_that_rise_without_more_passes_are_partial_credit_where_that_is_paid() {
    let said = |tests| {
        let mut config = Config::default();
        config.reward.tests = tests;
        let found = ringing_in(Alarms::new(&config, grpo::STAGE), |step, values| {
            put(values, "grpo/pass_rate", 0.0);
            put(values, "reward_failing/tests", if step > 50 { 0.45 } else { 0.25 });
        });
        assert_eq!((found.len(), found[0].code), (1, "term_rises_alone"), "{found:?}");
        assert_eq!(found[0].suspects, suspects("tests"));
        found[0].message.clone()
    };
    let partly = said(TestsWorth::Fraction);
    assert!(partly.contains("partial credit is being collected"), "{partly}");
    assert!(partly.contains("`reward.tests = \"all\"` pays whole solutions only"), "{partly}");
    for tests in [TestsWorth::All, TestsWorth::Auto] {
        let whole = said(tests);
        assert!(!whole.contains("partial credit"), "{whole}");
    }
}
