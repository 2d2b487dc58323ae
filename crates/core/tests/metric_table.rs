//! The table of metrics: complete, well named, and the same in the reference page.

use std::collections::BTreeSet;

use whetstone_core::metric::{
    ALL, Metric, REWARD_TERMS, Unit, find, reward_term, reward_term_of_failing,
};

#[test]
fn every_constant_is_listed_once() {
    let constants = include_str!("../src/metric.rs").matches("\npub const ").count();
    // The list itself and the two prefixes are not metrics.
    assert_eq!(ALL.len(), constants - 3);
    let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), ALL.len());
}

#[test]
fn a_name_is_a_family_and_a_word_and_no_term_of_a_reward() {
    for Metric { name, meaning, .. } in ALL {
        let (family, word) = name.split_once('/').unwrap();
        let is_word = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        };
        assert!(is_word(family) && is_word(word), "{name}");
        assert!(!name.starts_with(REWARD_TERMS) && !meaning.is_empty(), "{name}");
        assert_eq!(find(name).unwrap().name, *name);
    }
    assert_eq!(find("grpo/none"), None);
    assert_eq!(reward_term("tests"), "reward/tests");
    assert_eq!(reward_term_of_failing("tests"), "reward_failing/tests");
}

#[test]
fn the_reference_has_every_metric_as_it_is_here() {
    let page = include_str!("../../../docs/reference/metrics.md");
    let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |metric: &Metric| {
        format!("| `{}` | {} | {} |", metric.name, metric.unit.name(), metric.meaning)
    };
    assert_eq!(found, ALL.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn a_unit_in_a_name_is_the_unit_of_the_metric() {
    for Metric { name, unit, .. } in ALL {
        let seconds = name.ends_with("_s") && !name.ends_with("_per_s");
        assert_eq!(*unit == Unit::Seconds, seconds, "{name}");
        assert_eq!(*unit == Unit::PerSecond, name.ends_with("_per_s"), "{name}");
        if name.ends_with("_rate") || name.ends_with("_fraction") {
            assert_eq!(*unit, Unit::Fraction, "{name}");
        }
    }
}
