//! What is measured of replies to Phaser tasks, read from the facts as they stand in scored lines.
//!
//! | metric | value of a reply |
//! |---|---|
//! | `phaser/parse_rate` | 1 if its program parses |
//! | `phaser/unknown_api_rate` | 1 if its program uses a name that Phaser does not have; nothing of one that does not parse |
//! | `phaser/clean_run_rate` | 1 if its program ran through all frames without a failure |
//! | `phaser/checks_passed` | the share of the task's checks that are passed |
//!
//! A program that does not parse counts as 0 in the last two, or fewer programs that parse would look like better ones. A
//! program that parses and was not run has no part in them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use whetstone_core::wire::Object;

pub(super) const PARSE_RATE: &str = "phaser/parse_rate";
pub(super) const UNKNOWN_API_RATE: &str = "phaser/unknown_api_rate";
pub(super) const CLEAN_RUN_RATE: &str = "phaser/clean_run_rate";
pub(super) const CHECKS_PASSED: &str = "phaser/checks_passed";

#[derive(Deserialize)]
struct Parse {
    ok: bool,
}

#[derive(Deserialize)]
struct Api {
    unknown: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Runtime {
    ok: bool,
}

#[derive(Deserialize)]
struct Check {
    outcome: String,
}

/// The metrics of one reply; none if the facts are not those of a reply to a Phaser task.
pub(super) fn of_facts(facts: &Object) -> BTreeMap<String, f64> {
    let Some(Parse { ok }) = fact(facts, "parse") else { return BTreeMap::new() };
    let unknown = fact::<Api>(facts, "api").filter(|_| ok).map(|api| !api.unknown.is_empty());
    let clean = fact(facts, "runtime").map(|Runtime { ok }| ok);
    let passed = fact::<Vec<Check>>(facts, "task").as_deref().and_then(passed);
    let or_zero = |value: Option<f64>| if ok { value } else { Some(0.0) };
    let all = [
        (PARSE_RATE, Some(rate(ok))),
        (UNKNOWN_API_RATE, unknown.map(rate)),
        (CLEAN_RUN_RATE, or_zero(clean.map(rate))),
        (CHECKS_PASSED, or_zero(passed)),
    ];
    let named = all.into_iter();
    named.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A fact by its name. A file of rollouts may have anything there.
fn fact<T: DeserializeOwned>(facts: &Object, name: &str) -> Option<T> {
    serde_json::from_str(facts.get(name)?).ok()
}

fn rate(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

#[expect(clippy::cast_precision_loss, reason = "a task has at most 16 checks")]
fn passed(checks: &[Check]) -> Option<f64> {
    let passed = checks.iter().filter(|check| check.outcome == "passed").count();
    (!checks.is_empty()).then(|| passed as f64 / checks.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The metrics without their prefix: parses, unknown names, clean run, checks passed.
    #[track_caller]
    fn check(facts: &str, expected: [Option<f64>; 4]) {
        let found = of_facts(&serde_json::from_str(facts).unwrap());
        let names = ["parse_rate", "unknown_api_rate", "clean_run_rate", "checks_passed"];
        let value = |name: &str| found.get(&format!("phaser/{name}")).copied();
        assert_eq!(names.map(value), expected, "{facts}");
    }

    #[test]
    fn a_game_that_ran_has_all_four() {
        let facts = r#"{"parse":{"ok":true},"api":{"unknown":[{"what":"a"},{"what":"b"}]},"runtime":{"ok":true},
            "task":[{"outcome":"passed"},{"outcome":"failed"},{"outcome":"not_measurable"},{"outcome":"passed"}]}"#;
        check(facts, [Some(1.0), Some(1.0), Some(1.0), Some(0.5)]);
        let failed = r#"{"parse":{"ok":true},"api":{"unknown":[]},"runtime":{"ok":false},"task":[{"outcome":"failed"}]}"#;
        check(failed, [Some(1.0), Some(0.0), Some(0.0), Some(0.0)]);
    }

    #[test]
    fn a_program_that_does_not_parse_passes_nothing_and_says_nothing_of_names() {
        let facts = r#"{"parse":{"ok":false},"api":{"unknown":[]}}"#;
        check(facts, [Some(0.0), None, Some(0.0), Some(0.0)]);
    }

    #[test]
    fn a_program_that_was_not_run_says_nothing_of_its_run() {
        check(r#"{"parse":{"ok":true},"api":{"unknown":[]}}"#, [Some(1.0), Some(0.0), None, None]);
    }

    #[test]
    fn facts_of_another_form_are_no_metrics() {
        check("{}", [None; 4]);
        check(r#"{"parse":{"ok":"yes"},"runtime":{"ok":true}}"#, [None; 4]);
        let odd = r#"{"parse":{"ok":true},"api":7,"runtime":[],"task":{"outcome":1}}"#;
        check(odd, [Some(1.0), None, None, None]);
    }
}
