//! What environments measure of a rollout, by metric name. A training records the mean of each over the
//! rollouts of a step that have it.
//!
//! The evidence decides: programs have `code/*`. An observation has each of its facts that is a number, as
//! `KIND/FACT`, so an environment gets a curve of whatever it states as a fact. Those of a game are computed from its
//! facts, which are lists and tables (`phaser`).

mod phaser;

use std::collections::BTreeMap;

use whetstone_core::outcome::{Evidence, Outcome};

use crate::registry::ENVIRONMENTS;
use crate::{phaser as game, python};

/// The metrics of one rollout.
pub fn of_outcome(outcome: &Outcome) -> BTreeMap<String, f64> {
    match &outcome.evidence {
        Evidence::Program(_) | Evidence::NotRun => {
            let metrics = python::metrics(outcome).into_iter();
            metrics.map(|(metric, value)| (metric.name.to_owned(), value)).collect()
        }
        Evidence::Observed(observation) if observation.kind == game::KIND => {
            phaser::of_facts(&observation.facts)
        }
        // A file of rollouts may name any kind; only ours have metrics.
        Evidence::Observed(observation) => {
            let known = ENVIRONMENTS.iter().any(|known| known.kind == observation.kind);
            let facts = observation.facts.fields().filter(|_| known);
            let number = |value: &str| value.parse().ok().filter(|value: &f64| value.is_finite());
            facts
                .filter_map(|(name, value)| {
                    Some((format!("{}/{name}", observation.kind), number(value)?))
                })
                .collect()
        }
    }
}

/// Which values of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Higher ones.
    Higher,
    /// Lower ones.
    Lower,
}

/// Which values of a metric of ours are better, where that is known whatever the task.
pub fn better(name: &str) -> Option<Better> {
    match name {
        phaser::PARSE_RATE | phaser::CLEAN_RUN_RATE | phaser::CHECKS_PASSED => Some(Better::Higher),
        phaser::UNKNOWN_API_RATE => Some(Better::Lower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::judgement::{Counts, Held, Isolation, Judgement};
    use whetstone_core::metric;
    use whetstone_core::reward::{Gate, Reward, Term};
    use whetstone_core::verdict::Verdict;

    use super::*;

    fn reward(quality: Option<f64>, syntax: Option<bool>) -> Reward {
        let terms = quality.map(|value| ("quality".to_owned(), Term { value, weight: 0.0 }));
        let gates = syntax.map(|passed| ("syntax".to_owned(), Gate { passed, cap: 0.0 }));
        Reward::new(terms.into_iter().collect(), gates.into_iter().collect()).unwrap()
    }

    fn judged(verdict: Verdict, passed: u32) -> Judgement {
        let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
        Judgement::of_run(verdict, Counts { passed, total: 4 }, held).unwrap()
    }

    #[track_caller]
    fn check(outcome: &Outcome, expected: &[(&str, f64)]) {
        let expected = expected.iter().map(|&(name, value)| (name.to_owned(), value));
        assert_eq!(of_outcome(outcome), expected.collect());
    }

    #[test]
    fn a_program_has_the_metrics_of_what_was_found_out_about_it() {
        let slow = Outcome::of_program(judged(Verdict::Timeout, 1), reward(Some(0.5), None));
        let all = [
            ("code/avg_test_pass_rate", 0.25),
            ("code/no_code", 0.0),
            ("code/own_test_failed", 0.0),
            ("code/quality_score", 0.5),
            ("code/syntax_success_rate", 1.0),
            ("code/timeouts", 1.0),
        ];
        check(&slow, &all);
        let no_code = Judgement::of_reply(Verdict::NoCode, 4).unwrap();
        let none = [
            ("code/avg_test_pass_rate", 0.0),
            ("code/no_code", 1.0),
            ("code/own_test_failed", 0.0),
            ("code/syntax_success_rate", 0.0),
            ("code/timeouts", 0.0),
        ];
        check(&Outcome::of_program(no_code, reward(Some(0.0), None)), &none);
        let own_test = judged(Verdict::LoadError { kind: "AssertionError".to_owned() }, 0);
        let found = of_outcome(&Outcome::of_program(own_test, reward(None, None)));
        assert_eq!((found["code/no_code"], found["code/own_test_failed"]), (0.0, 1.0));
    }

    #[test]
    fn what_was_not_run_is_known_by_its_gates() {
        let not_run = |passed| Outcome::not_run(reward(Some(0.5), Some(passed)));
        let parsed =
            [("code/no_code", 0.0), ("code/quality_score", 0.5), ("code/syntax_success_rate", 1.0)];
        check(&not_run(true), &parsed);
        check(&not_run(false), &[("code/no_code", 0.0), ("code/syntax_success_rate", 0.0)]);
    }

    #[test]
    fn numbers_among_the_facts_of_an_environment_are_its_metrics() {
        let outcome = |kind| {
            let outcome = Outcome::observed(kind, true, reward(Some(0.5), None));
            outcome.with_fact("guesses", &2).with_fact("last", &"seven").with_fact("odd", &true)
        };
        check(&outcome("guess"), &[("guess/guesses", 2.0)]);
        check(&outcome("grpo"), &[]);
        check(&outcome("phaser"), &[]);
        let parses = Outcome::observed("phaser", false, reward(None, None));
        let parses = parses.with_fact("parse", &serde_json::json!({"ok": true}));
        check(&parses, &[("phaser/parse_rate", 1.0)]);
    }

    #[test]
    fn fewer_unknown_names_are_better_and_of_turns_nothing_is_known() {
        assert_eq!(better("phaser/unknown_api_rate"), Some(Better::Lower));
        assert_eq!(better("phaser/checks_passed"), Some(Better::Higher));
        assert_eq!(better("turns"), None);
    }

    #[test]
    fn the_metrics_of_an_environment_have_names_of_their_own() {
        for known in ENVIRONMENTS {
            let prefix = format!("{}/", known.kind);
            assert!(metric::ALL.iter().all(|metric| !metric.name.starts_with(&prefix)), "{prefix}");
            assert_ne!(prefix, metric::REWARD_TERMS);
        }
    }
}
