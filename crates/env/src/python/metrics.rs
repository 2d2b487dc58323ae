//! Metrics of a rollout that was asked for a program: `code/*`.

use whetstone_core::extract::Cause;
use whetstone_core::metric::{
    CODE_AVG_TEST_PASS_RATE, CODE_NO_CODE, CODE_OWN_TEST_FAILED, CODE_QUALITY_SCORE,
    CODE_SYNTAX_SUCCESS_RATE, CODE_TIMEOUTS, Metric,
};
use whetstone_core::outcome::Outcome;
use whetstone_core::verdict::Verdict;

/// The metrics of one outcome. A figure that nothing was measured of is left out: tests that did not run, the
/// quality of what does not parse.
pub(crate) fn metrics(outcome: &Outcome) -> Vec<(Metric, f64)> {
    let flag = |is: bool| f64::from(u8::from(is));
    let is_parsed = parses(outcome);
    let mut metrics =
        vec![(CODE_SYNTAX_SUCCESS_RATE, flag(is_parsed)), (CODE_NO_CODE, flag(!has_code(outcome)))];
    if let Some(judgement) = outcome.judgement().filter(|judgement| judgement.counts().total > 0) {
        let counts = judgement.counts();
        let passed = f64::from(counts.passed) / f64::from(counts.total);
        metrics.push((CODE_AVG_TEST_PASS_RATE, passed));
        metrics.push((CODE_TIMEOUTS, flag(*judgement.verdict() == Verdict::Timeout)));
        let own_test = Cause::of_load_error(judgement.verdict()) == Some(Cause::OwnTest);
        metrics.push((CODE_OWN_TEST_FAILED, flag(own_test)));
    }
    if let Some(quality) = outcome.reward.terms().get("quality").filter(|_| is_parsed) {
        metrics.push((CODE_QUALITY_SCORE, quality.value));
    }
    metrics
}

/// Whether there is a program: the verdict says so, or where nothing was run the gate.
fn has_code(outcome: &Outcome) -> bool {
    match outcome.judgement() {
        Some(judgement) => *judgement.verdict() != Verdict::NoCode,
        None => holds(outcome, "code"),
    }
}

/// Whether there is a program that parses: the verdict says so, or where nothing was run the gates.
fn parses(outcome: &Outcome) -> bool {
    match outcome.judgement() {
        Some(judgement) => judgement.verdict().ran(),
        None => holds(outcome, "code") && holds(outcome, "syntax"),
    }
}

fn holds(outcome: &Outcome, gate: &str) -> bool {
    outcome.reward.gates().get(gate).is_none_or(|gate| gate.passed)
}
