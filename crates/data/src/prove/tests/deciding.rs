//! What follows from the answers.

use std::time::Duration;

use whetstone_core::judgement::{Counts, Held, Isolation, Judgement};
use whetstone_core::program::{Language, Program};
use whetstone_core::verdict::Verdict;

use super::super::decide::{Answer, Next, next};
use super::super::finding::{Dropped, Finding, Reason};
use super::super::trial::{Role, Trial};

const SLOW: Duration = Duration::from_millis(2500);

/// Two runs of a reference and two trivial answers.
fn trials() -> Vec<Trial> {
    let trivial = |what: &str| Role::Trivial(what.to_owned());
    let roles = [
        Role::Reference { run: 0 },
        Role::Reference { run: 1 },
        trivial("the constant 0"),
        trivial("its input"),
    ];
    roles.into_iter().map(|role| trial(role, "pass")).collect()
}

fn trial(role: Role, source: &str) -> Trial {
    let source = source.to_owned();
    Trial { role, program: Program { language: Language::Python, source, truncated: false } }
}

fn judged(verdict: Verdict, cpu_ms: f64) -> Answer {
    let passed = if verdict.is_pass() { 3 } else { 1 };
    let held = Held { cpu_ms, isolation: Isolation::Full };
    let judgement = Judgement::of_run(verdict, Counts { passed, total: 3 }, held);
    Answer::Judged(judgement.expect("it fits"))
}

fn pass() -> Answer {
    judged(Verdict::Pass, 1.0)
}

fn wrong(test: u32) -> Answer {
    judged(Verdict::Wrong { test }, 1.0)
}

#[track_caller]
fn judges(answers: &[Answer], trial: usize) {
    assert_eq!(next(&trials(), answers, SLOW), Next::Judge(trial));
}

#[track_caller]
fn drops(answers: &[Answer], reason: Reason, detail: &str) {
    let expected = Finding::Dropped(Dropped::new(reason, detail));
    assert_eq!(next(&trials(), answers, SLOW), Next::Settled(expected));
}

#[test]
fn a_task_is_proven_when_the_reference_passes_and_all_else_fails() {
    judges(&[], 0);
    judges(&[pass()], 1);
    judges(&[pass(), pass()], 2);
    judges(&[pass(), pass(), wrong(0)], 3);
    let all = [pass(), pass(), wrong(0), judged(Verdict::Timeout, 5000.0)];
    let proven = |doubt| Next::Settled(Finding::Proven { doubt });
    assert_eq!(next(&trials(), &all, SLOW), proven(None));
}

#[test]
fn tests_that_the_empty_program_passes_are_a_doubt() {
    let mut trials = trials();
    trials[2] = trial(Role::Trivial("the empty program".to_owned()), "");
    let all = [pass(), pass(), wrong(0), wrong(1)];
    let doubt = Some("the empty program passes 1 of 3 tests".to_owned());
    assert_eq!(next(&trials, &all, SLOW), Next::Settled(Finding::Proven { doubt }));
}

#[test]
fn a_trivial_answer_that_passes_settles_it() {
    let detail = "passes every test: the constant 0";
    drops(&[pass(), pass(), pass()], Reason::TrivialPasses, detail);
    drops(
        &[pass(), pass(), wrong(1), pass()],
        Reason::TrivialPasses,
        "passes every test: its input",
    );
}

#[test]
fn a_reference_that_fails_is_run_again_before_it_is_said_to_fail() {
    judges(&[wrong(2)], 1);
    let detail = "the reference gets wrong in hidden test 3, 1 of 3 pass";
    drops(&[wrong(2), wrong(2)], Reason::ReferenceFails, detail);
    let kind = "KeyError".to_owned();
    let raised = judged(Verdict::Raised { test: 0, kind }, 1.0);
    let detail = "the reference gets raised KeyError in hidden test 1, 1 of 3 pass";
    drops(&[raised.clone(), raised], Reason::ReferenceFails, detail);
}

#[test]
fn different_verdicts_are_flaky_and_different_times_are_not() {
    let detail = "the reference gets different verdicts: pass, 3 of 3 pass; wrong in hidden test 2, 1 of 3 pass";
    drops(&[pass(), wrong(1)], Reason::Flaky, detail);
    let detail = "the reference gets different verdicts: wrong in hidden test 1, 1 of 3 pass; wrong in hidden test 2, 1 of 3 pass";
    drops(&[wrong(0), wrong(1)], Reason::Flaky, detail);
    judges(&[pass(), judged(Verdict::Pass, 9.0)], 2);
}

#[test]
fn a_slow_reference_is_not_run_again() {
    let detail = "the reference needs more than 2.5 s of CPU time";
    let late = "the reference runs out of time";
    drops(&[judged(Verdict::Timeout, 1.0)], Reason::TooSlow, late);
    drops(&[judged(Verdict::Pass, 2500.1)], Reason::TooSlow, detail);
    drops(&[pass(), judged(Verdict::Pass, 2600.0)], Reason::TooSlow, detail);
    judges(&[judged(Verdict::Pass, 2500.0)], 1);
}

#[test]
fn a_test_that_breaks_while_the_reference_runs_is_the_tests_fault() {
    let broken = || Answer::Broken("hidden test 1 is broken: NameError".to_owned());
    drops(&[broken()], Reason::BrokenTests, "hidden test 1 is broken: NameError");
    // With a trivial answer it only shows that the answer does not pass.
    judges(&[pass(), pass(), broken()], 3);
}
