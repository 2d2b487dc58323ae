//! What a reply to a Phaser task is paid.
//!
//! | term | weight | value |
//! |---|---|---|
//! | `format` | 0.03 | the program stands in a closed block of JavaScript |
//! | `plan` | 0.02 | steps of the plan that have to do with the program |
//! | `parse` | 0.15 | it parses, without early errors |
//! | `lifecycle` | 0.10 | a scene has `create`, and a game is made |
//! | `api` | 0.20 | 1 - unknown names / max(8, known uses); 0 without a known use |
//! | `runtime` | 0.25 | 0.4 for a game that starts, 0.6 for all frames without a failure, with something to see |
//! | `task` | 0.25 | the share of the task's checks that are passed |
//!
//! Gates cap the total: `code` at 0 without a program, `parses` at 0.05, `known_api` at 0.6, `no_tampering` at 0. The
//! terms of what was not run are left out, not 0.

use std::collections::BTreeMap;

use whetstone_core::reward::{Gate, Reward, Term};
use whetstone_sandbox::phaser::{FailureClass, Stage};

use super::checks::CheckOutcome;
use super::validation::{RuntimeFindings, Validation};

/// The total of a reply without a program that parses, at most.
const UNPARSED: f64 = 0.05;
/// The total of a program that uses names which Phaser does not have, at most.
const UNKNOWN_API: f64 = 0.6;

/// The reward of what is known of a reply.
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
        pay("runtime", 0.25, after_parse(runtime(run)));
        pay("task", 0.25, after_parse(passed(validation)));
    }
    Reward::new(terms, gates(validation)).expect("finite terms and weights")
}

/// Whether a reply does all that its task asks.
pub fn is_solved(validation: &Validation) -> bool {
    let is_passed = |check: &super::checks::CheckResult| check.outcome == CheckOutcome::Passed;
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
    (1.0 - f64::from(unknown) / f64::from(api.resolved.max(8))).max(0.0)
}

/// A failure that a program may have brought about to end its measurement is paid nothing.
fn runtime(run: &RuntimeFindings) -> f64 {
    let is_honest = matches!(run.class, None | Some(FailureClass::Fault | FailureClass::EnvLimit));
    let starts = is_honest && run.stage >= Stage::Frames && run.object_count > 0;
    let lasts = run.ok && run.object_count > 0;
    0.4 * truth(starts) + 0.6 * truth(lasts)
}

#[expect(clippy::cast_precision_loss, reason = "at most 16 checks")]
fn passed(validation: &Validation) -> f64 {
    let passed = validation.task.iter().filter(|check| check.outcome == CheckOutcome::Passed);
    passed.count() as f64 / validation.task.len().max(1) as f64
}

fn gates(validation: &Validation) -> BTreeMap<String, Gate> {
    let tampers =
        validation.runtime.as_ref().is_some_and(|run| run.class == Some(FailureClass::Tampering));
    let gate = |name: &str, passed: bool, cap: f64| (name.to_owned(), Gate { passed, cap });
    BTreeMap::from([
        gate("code", validation.format.code, 0.0),
        gate("parses", validation.parse.ok, UNPARSED),
        gate("known_api", validation.api.unknown.is_empty(), UNKNOWN_API),
        gate("no_tampering", !tampers, 0.0),
    ])
}
