//! Every suite, one row each. The first row of a name is what the name alone means.
//!
//! Prompts: `evalplus` asks in the words of `EvalPlus` and begins the answer (its figures take the
//! entry point's own code alone); `qwen` is the request that the publisher of Qwen2.5-Coder measures
//! its instruct models with, judged as by `EvalPlus`; `mbpp` is the prompt of MBPP's paper, which shows all three tests;
//! `plain` is what a person would type; `completion` is the form in which `HumanEval` was published.
//! Token limits: at 400 tokens 26 of 164 replies to `HumanEval` of a small model are cut off.

use whetstone_data::source::{DataSet, MbppTests, MbppVariant, ShownTests};

use super::{Suite, SuiteTasks};
use crate::datasets::{HUMANEVAL, MBPP_FULL, MBPP_SANITIZED};

/// Every suite.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "humaneval",
        variant: "evalplus",
        about: "164 tasks as chat, in EvalPlus' words, the answer begun",
        tasks: HUMANEVAL_TASKS,
        mbpp: FIRST_SHOWN,
        settings: EVALPLUS,
    },
    Suite {
        name: "humaneval",
        variant: "qwen",
        about: "164 tasks as the figures of Qwen2.5-Coder were measured, the answer begun",
        tasks: HUMANEVAL_TASKS,
        mbpp: FIRST_SHOWN,
        settings: QWEN,
    },
    Suite {
        name: "humaneval",
        variant: "plain",
        about: "164 tasks as chat, a plain prompt",
        tasks: HUMANEVAL_TASKS,
        mbpp: FIRST_SHOWN,
        settings: PLAIN,
    },
    Suite {
        name: "humaneval",
        variant: "completion",
        about: "164 tasks as text to continue, for base models",
        tasks: HUMANEVAL_TASKS,
        mbpp: FIRST_SHOWN,
        settings: COMPLETION,
    },
    Suite {
        name: "mbpp",
        variant: "mbpp",
        about: "test half (11 to 510), the prompt of its paper, three tests shown",
        tasks: FULL,
        mbpp: ALL_SHOWN,
        settings: PAPER,
    },
    Suite {
        name: "mbpp",
        variant: "plain",
        about: "test half, a plain prompt, one test shown",
        tasks: FULL,
        mbpp: FIRST_SHOWN,
        settings: PLAIN,
    },
    Suite {
        name: "mbpp",
        variant: "evalplus",
        about: "test half, in EvalPlus' words, one test shown, the answer begun",
        tasks: FULL,
        mbpp: FIRST_SHOWN,
        settings: EVALPLUS,
    },
    Suite {
        name: "mbpp-sanitized",
        variant: "evalplus",
        about: "sanitized tasks of the test half that EvalPlus keeps (224), in its words, one test shown",
        tasks: SANITIZED,
        mbpp: FIRST_SHOWN,
        settings: EVALPLUS,
    },
    Suite {
        name: "mbpp-sanitized",
        variant: "plain",
        about: "sanitized tasks of the test half, a plain prompt, one test shown",
        tasks: SANITIZED,
        mbpp: FIRST_SHOWN,
        settings: PLAIN,
    },
    Suite {
        name: "mbpp-sanitized",
        variant: "mbpp",
        about: "sanitized tasks of the test half, the prompt of MBPP's paper, three tests shown",
        tasks: SANITIZED,
        mbpp: ALL_SHOWN,
        settings: PAPER,
    },
    Suite {
        name: "mbpp-sanitized",
        variant: "all",
        about: "all 378 of them, as published figures by EvalPlus take them; prompt `evalplus`",
        tasks: ALL_SANITIZED,
        mbpp: FIRST_SHOWN,
        settings: EVALPLUS,
    },
    Suite {
        name: "mbpp-sanitized",
        variant: "qwen",
        about: "all 378 of them, as the figures of Qwen2.5-Coder were measured",
        tasks: ALL_SANITIZED,
        mbpp: FIRST_SHOWN,
        settings: QWEN,
    },
];

const HUMANEVAL_TASKS: SuiteTasks = SuiteTasks {
    set: DataSet::HumanEval,
    mbpp: None,
    numbers: (0, 163),
    without: &[],
    count: 164,
    hub: &HUMANEVAL,
    file: "HumanEval.jsonl.gz",
};

const FULL: SuiteTasks = SuiteTasks {
    set: DataSet::Mbpp,
    mbpp: Some(MbppVariant::First),
    numbers: (11, 510),
    without: &[],
    count: 500,
    hub: &MBPP_FULL,
    file: "mbpp.jsonl",
};

const SANITIZED: SuiteTasks = SuiteTasks {
    mbpp: Some(MbppVariant::Sanitized),
    without: LEFT_OUT_BY_EVALPLUS,
    count: 224,
    hub: &MBPP_SANITIZED,
    file: "sanitized-mbpp.json",
    ..FULL
};

const ALL_SANITIZED: SuiteTasks = SuiteTasks { numbers: (1, 974), count: 378, ..SANITIZED };

/// The sanitized tasks that `EvalPlus` leaves out of its MBPP (0.2.0), since statement, tests and solution do not agree:
/// published figures are without them.
const LEFT_OUT_BY_EVALPLUS: &[u64] = &[
    83, 115, 117, 143, 163, 164, 228, 229, 246, 248, 249, 291, 295, 304, 307, 393, 396, 399, 400,
    401, 407, 408, 411, 417, 431, 434, 438, 442, 443, 444, 452, 461, 464, 574, 582, 584, 595, 617,
    625, 627, 640, 738, 746, 747, 756, 776, 779, 783, 802,
];

/// Judged by `test_list` alone, as everywhere else; the first of it is shown.
const FIRST_SHOWN: MbppTests = MbppTests { shown: ShownTests::First, with_challenge: false };
const ALL_SHOWN: MbppTests = MbppTests { shown: ShownTests::All, with_challenge: false };

type Settings = &'static [(&'static str, &'static str)];

const EVALPLUS: Settings = &[
    ("prompt.template", "evalplus"),
    ("prompt.thinking", "off"),
    ("eval.sanitize", "entry_point"),
    ("eval.num_samples", "1"),
    ("eval.temperature", "0.0"),
    ("grpo.max_completion_length", "1024"),
];
const QWEN: Settings = &[
    ("prompt.template", "qwen"),
    ("prompt.thinking", "off"),
    ("eval.sanitize", "entry_point"),
    ("eval.num_samples", "1"),
    ("eval.temperature", "0.0"),
    ("grpo.max_completion_length", "2048"),
];
const PLAIN: Settings = &[
    ("prompt.template", "plain"),
    ("eval.num_samples", "1"),
    ("eval.temperature", "0.0"),
    ("grpo.max_completion_length", "1024"),
];
const COMPLETION: Settings = &[
    ("prompt.template", "completion"),
    ("prompt.thinking", "off"),
    ("eval.sanitize", "entry_point"),
    ("eval.num_samples", "1"),
    ("eval.temperature", "0.0"),
    ("grpo.max_completion_length", "1024"),
];
const PAPER: Settings = &[
    ("prompt.template", "mbpp"),
    ("eval.num_samples", "1"),
    ("eval.temperature", "0.0"),
    ("grpo.max_completion_length", "1024"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_suite_has_a_name_of_its_own_and_is_greedy_with_one_sample() {
        let names: BTreeSet<String> = SUITES.iter().map(Suite::full_name).collect();
        assert_eq!(names.len(), SUITES.len());
        for suite in SUITES {
            let value = |key: &str| {
                suite.settings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
            };
            let name = suite.full_name();
            assert_eq!(value("eval.num_samples"), Some("1"), "{name}");
            assert_eq!(value("eval.temperature"), Some("0.0"), "{name}");
            let tokens: u32 = value("grpo.max_completion_length").unwrap().parse().unwrap();
            assert!(tokens >= 900, "{name}: replies to HumanEval are cut off below that");
        }
    }

    #[test]
    fn a_variant_is_named_for_its_template_and_evalplus_takes_the_entry_point_alone() {
        for suite in SUITES.iter().filter(|suite| suite.variant != "all") {
            let name = suite.full_name();
            assert!(suite.settings.contains(&("prompt.template", suite.variant)), "{name}");
            let sanitizes = suite.settings.contains(&("eval.sanitize", "entry_point"));
            assert_eq!(
                sanitizes,
                ["evalplus", "qwen", "completion"].contains(&suite.variant),
                "{name}"
            );
            let shows_all = suite.mbpp.shown == ShownTests::All;
            assert_eq!(shows_all, suite.variant == "mbpp", "{name}");
            assert!(!suite.mbpp.with_challenge, "{name}");
        }
    }

    #[test]
    fn numbers_of_tasks_are_the_published_ones() {
        let of = |name: &str| {
            let SuiteTasks { numbers, count, .. } = Suite::named(name).unwrap().tasks;
            (numbers, count)
        };
        assert_eq!(of("humaneval"), ((0, 163), 164));
        assert_eq!(of("mbpp"), ((11, 510), 500));
        assert_eq!(of("mbpp-sanitized"), ((11, 510), 224));
        assert_eq!(of("mbpp-sanitized:all"), ((1, 974), 378));
    }
}
