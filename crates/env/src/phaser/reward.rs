//! What a reply to a Phaser task is paid.
//!
//! | term | weight | value |
//! |---|---|---|
//! | `format` | 0.03 | the program stands in a closed block of JavaScript |
//! | `plan` | 0.02 | steps of the plan that have to do with the program |
//! | `parse` | 0.15 | it parses, without early errors |
//! | `lifecycle` | 0.10 | a scene has `create`, and a game is made |
//! | `api` | 0.20 | 1 - unknown names / max(8, known uses); 0 without a known use |
//! | `runtime` | 0.25 | 0.4 for a game that starts, 0.6 for all frames without a failure, with something to see; times `task` |
//! | `task` | 0.25 | the share of the task's checks that are passed, half of it for those passed before the program broke |
//!
//! Gates cap the total: `code` at 0 without a program, `parses` at 0.05, `known_api` at 0.6, `no_tampering` at 0, and
//! `check_passed` at 0.2 where no check is passed, less for a program that uses little of Phaser: form alone is paid
//! little, so that an idle game earns less than an attempt that breaks, and that less than one with a check passed.
//! The terms and gates of what was not run are left out: neither 0, nor held. Then half as much can be earned, and
//! `known_api` caps at half as much, 0.3.

use std::collections::BTreeMap;

use whetstone_core::reward::{Gate, Reward, Term};
use whetstone_sandbox::phaser::{FailureClass, Stage};

use super::checks::{CheckOutcome, CheckResult};
use super::validation::{RuntimeFindings, Validation};

/// The total of a reply without a program that parses, at most.
const UNPARSED: f64 = 0.05;
/// The part of what can be earned that a program with names which Phaser does not have gets at most.
const UNKNOWN_API: f64 = 0.6;
/// The most that a program earns that is not run: the weights of the static terms.
const STATIC_TOTAL: f64 = 0.5;

/// The total of a program that passes no check of its task, at most.
const NO_CHECK: f64 = 0.2;
/// Known uses of Phaser from which a program counts as an attempt.
const ATTEMPT: u32 = 8;
/// What a check is worth that was passed before the program broke.
const BEFORE_A_FAILURE: f64 = 0.5;

/// The terms of what comes of running a program.
const RUN_TERMS: [&str; 2] = ["runtime", "task"];
/// The gates that only a run can test.
const RUN_GATES: [&str; 2] = ["no_tampering", "check_passed"];
/// The terms and gates that the reward of a program lacks that was not run.
pub(super) const NEED_A_RUN: [&str; 4] = [RUN_TERMS[0], RUN_TERMS[1], RUN_GATES[0], RUN_GATES[1]];

/// Version of the terms, weights and gates: an interrupted scoring by another one is not resumed.
pub(super) const REWARD_VERSION: u32 = 3;

/// The reward of what is known of a reply.
///
/// # Panics
///
/// Never: values, weights and caps are finite.
pub fn reward(validation: &Validation) -> Reward {
    let parses = validation.parse.ok;
    let after_parse = |value: f64| if parses { value } else { 0.0 };
    let mut terms = BTreeMap::new();
    let mut pay = |name: &str, weight: f64, value: f64| {
        terms.insert(name.to_owned(), Term { value, weight });
    };
    pay("format", 0.03, truth(validation.format.block));
    pay("plan", 0.02, validation.format.plan.unwrap_or(0.0));
    pay("parse", 0.15, truth(parses));
    let lifecycle = validation.lifecycle;
    let parts = 0.5 * truth(lifecycle.create) + 0.5 * truth(lifecycle.new_game);
    pay("lifecycle", 0.10, after_parse(parts));
    pay("api", 0.20, after_parse(api(validation)));
    if let Some(run) = &validation.runtime {
        let [of_run, of_task] = RUN_TERMS;
        let of_checks = passed(validation, run);
        let for_running = if validation.task.is_empty() { 1.0 } else { of_checks };
        pay(of_run, 0.25, after_parse(runtime(run) * for_running));
        pay(of_task, 0.25, after_parse(of_checks));
    }
    Reward::new(terms, gates(validation)).expect("finite terms and weights")
}

/// Whether a reply does all that its task asks.
pub fn is_solved(validation: &Validation) -> bool {
    let is_passed = |check: &CheckResult| check.outcome == CheckOutcome::Passed;
    let is_clean = validation.runtime.as_ref().is_some_and(|run| run.ok);
    is_clean
        && !validation.task.is_empty()
        && validation.task.iter().all(is_passed)
        && validation.api.unknown.is_empty()
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn api(validation: &Validation) -> f64 {
    let api = &validation.api;
    let unknown = u32::try_from(api.unknown.len()).unwrap_or(u32::MAX);
    if api.resolved == 0 {
        return 0.0;
    }
    (1.0 - f64::from(unknown) / f64::from(api.resolved.max(ATTEMPT))).max(0.0)
}

/// A failure that a program may have brought about to end its measurement is paid nothing.
fn runtime(run: &RuntimeFindings) -> f64 {
    let is_honest = run.class.is_none_or(FailureClass::pays_frames_before);
    let starts = is_honest && run.stage >= Stage::Frames && run.object_count > 0;
    let lasts = run.ok && run.object_count > 0;
    0.4 * truth(starts) + 0.6 * truth(lasts)
}

#[expect(clippy::cast_precision_loss, reason = "at most 16 checks")]
fn passed(validation: &Validation, run: &RuntimeFindings) -> f64 {
    let passed = validation.task.iter().filter(|check| check.outcome == CheckOutcome::Passed);
    let share = passed.count() as f64 / validation.task.len().max(1) as f64;
    if run.ok { share } else { BEFORE_A_FAILURE * share }
}

/// Whether a check is passed, if there are any; a program without one is capped by how much of Phaser it uses.
fn check_passed(validation: &Validation) -> Gate {
    let is_passed = |check: &CheckResult| check.outcome == CheckOutcome::Passed;
    let passed = validation.task.is_empty() || validation.task.iter().any(is_passed);
    let uses = validation.api.resolved.min(ATTEMPT);
    Gate { passed, cap: NO_CHECK * f64::from(uses) / f64::from(ATTEMPT) }
}

fn gates(validation: &Validation) -> BTreeMap<String, Gate> {
    let gate = |name: &str, passed: bool, cap: f64| (name.to_owned(), Gate { passed, cap });
    let most = if validation.runtime.is_some() { 1.0 } else { STATIC_TOTAL };
    let mut gates = BTreeMap::from([
        gate("code", validation.format.code, 0.0),
        gate("parses", validation.parse.ok, UNPARSED),
        gate("known_api", validation.api.unknown.is_empty(), UNKNOWN_API * most),
    ]);
    let tampers = |run: &RuntimeFindings| run.class == Some(FailureClass::Tampering);
    if let Some(run) = &validation.runtime {
        let [no_tampering, of_checks] = RUN_GATES;
        gates.extend([gate(no_tampering, !tampers(run), 0.0)]);
        gates.insert(of_checks.to_owned(), check_passed(validation));
    }
    gates
}

#[cfg(test)]
mod tests {
    use whetstone_phaser::check::{Findings, Lifecycle, ParseFindings, UnknownName};

    use super::super::validation::FormatFindings;
    use super::*;

    /// A reply in which nothing is wrong, not run.
    fn fine() -> Validation {
        let mut findings = Findings {
            parse: ParseFindings { ok: true, ..ParseFindings::default() },
            lifecycle: Lifecycle { create: true, new_game: true, ..Lifecycle::default() },
            ..Findings::default()
        };
        findings.api.resolved = 10;
        Validation::of(FormatFindings { plan: Some(1.0), block: true, code: true }, findings)
    }

    fn clean_run(object_count: usize) -> RuntimeFindings {
        RuntimeFindings {
            stage: Stage::Done,
            ok: true,
            class: None,
            error: None,
            line: None,
            frames: 120,
            scenes: Vec::new(),
            object_count,
            objects: Vec::new(),
            assets: Vec::new(),
        }
    }

    fn failed_run(class: FailureClass) -> RuntimeFindings {
        RuntimeFindings { stage: Stage::Frames, ok: false, class: Some(class), ..clean_run(3) }
    }

    fn ran(run: RuntimeFindings, outcomes: &[CheckOutcome]) -> Validation {
        let result = |outcome: &CheckOutcome| CheckResult {
            check: String::new(),
            outcome: *outcome,
            reason: None,
        };
        let task = outcomes.iter().map(result).collect();
        Validation { runtime: Some(run), task, ..fine() }
    }

    fn total(validation: &Validation) -> f64 {
        (reward(validation).total() * 1000.0).round() / 1000.0
    }

    fn assert_total(validation: &Validation, expected: f64) {
        assert!(
            (total(validation) - expected).abs() < 1e-9,
            "{} is not {expected}",
            total(validation)
        );
    }

    #[test]
    fn a_game_that_does_what_is_asked_earns_everything() {
        let solved = ran(clean_run(3), &[CheckOutcome::Passed; 2]);
        assert_total(&solved, 1.0);
        assert!(is_solved(&solved));
        let half = ran(clean_run(3), &[CheckOutcome::Passed, CheckOutcome::NotMeasurable]);
        assert_total(&half, 0.75);
        assert!(!is_solved(&half));
    }

    #[test]
    fn what_was_not_run_is_left_out_and_not_zero() {
        let reward = reward(&fine());
        assert_total(&fine(), 0.5);
        let names: Vec<&str> = reward.terms().keys().map(String::as_str).collect();
        assert_eq!(names, ["api", "format", "lifecycle", "parse", "plan"]);
        let ran = self::reward(&ran(clean_run(3), &[CheckOutcome::Passed]));
        for gate in RUN_GATES {
            assert!(!reward.gates().contains_key(gate), "nobody tested it: {reward:?}");
            assert!(ran.gates()[gate].passed);
        }
    }

    /// One name of ten uses is invented: 0.48 by the terms. The whole task would be capped at 0.6, half of it at half.
    #[test]
    fn an_invented_name_binds_where_nothing_is_run() {
        let mut invented = fine();
        let name = UnknownName { line: 1, column: 1, what: "Phaser.Foo".to_owned(), nearest: None };
        invented.api.unknown = vec![name];
        let paid: f64 = reward(&invented).terms().values().map(|term| term.paid()).sum();
        assert!((paid - 0.48).abs() < 1e-9, "{paid}");
        assert_total(&invented, 0.3);
        let statics: f64 = reward(&fine()).terms().values().map(|term| term.weight).sum();
        assert!((statics - STATIC_TOTAL).abs() < 1e-9, "{statics}");
    }

    #[test]
    fn a_game_that_shows_nothing_earns_nothing_at_run_time() {
        assert_total(&ran(clean_run(0), &[]), 0.5);
        assert_total(&ran(clean_run(0), &[CheckOutcome::Failed]), NO_CHECK);
    }

    /// A stub that idles, an attempt that breaks at once, one that breaks late, one check of two, all.
    #[test]
    fn what_comes_closer_to_the_task_earns_more() {
        let mut stub = ran(clean_run(1), &[CheckOutcome::Failed; 2]);
        stub.api.resolved = 3;
        let broken = |outcomes: &[CheckOutcome]| ran(failed_run(FailureClass::Fault), outcomes);
        let order = [
            stub,
            broken(&[CheckOutcome::Failed; 2]),
            broken(&[CheckOutcome::Passed, CheckOutcome::Failed]),
            broken(&[CheckOutcome::Passed; 2]),
            ran(clean_run(3), &[CheckOutcome::Passed, CheckOutcome::Failed]),
            ran(clean_run(3), &[CheckOutcome::Passed; 2]),
        ];
        let paid: Vec<f64> = order.iter().map(total).collect();
        assert_eq!(paid, [0.075, 0.2, 0.588, 0.675, 0.75, 1.0]);
    }

    #[test]
    fn a_program_that_ends_its_own_measurement_earns_nothing_for_running() {
        for class in [FailureClass::Timeout, FailureClass::Memory, FailureClass::Stack] {
            assert_total(&ran(failed_run(class), &[CheckOutcome::Failed]), NO_CHECK);
        }
        assert_total(&ran(failed_run(FailureClass::Tampering), &[CheckOutcome::Failed]), 0.0);
        for class in [FailureClass::Fault, FailureClass::EnvLimit] {
            assert_total(&ran(failed_run(class), &[]), 0.6);
            assert_total(&ran(failed_run(class), &[CheckOutcome::Failed]), NO_CHECK);
        }
    }

    #[test]
    fn names_that_phaser_does_not_have_cost_and_cap() {
        let mut invented = ran(clean_run(3), &[CheckOutcome::Passed]);
        let name = UnknownName { line: 1, column: 1, what: "Phaser.Foo".to_owned(), nearest: None };
        invented.api.unknown = vec![name];
        assert_total(&invented, UNKNOWN_API);
        assert!(!is_solved(&invented));
        invented.api.resolved = 0;
        invented.runtime = None;
        assert_total(&invented, 0.3);
    }

    #[test]
    fn nothing_behind_a_failed_parse_is_paid_and_no_code_earns_nothing() {
        let mut broken = ran(clean_run(3), &[CheckOutcome::Passed]);
        broken.parse.ok = false;
        assert_total(&broken, UNPARSED);
        let paid: f64 = reward(&broken).terms().values().map(|term| term.paid()).sum();
        assert!((paid - 0.05).abs() < 1e-9, "{paid}");
        broken.format.code = false;
        assert_total(&broken, 0.0);
    }
}
