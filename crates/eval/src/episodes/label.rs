//! Names of means as people read them.

use std::collections::{BTreeMap, BTreeSet};

use super::{REWARD, TURNS};

/// Facts whose name alone says too little.
const LABELS: [(&str, &str); 3] = [
    ("invalid", "invalid actions"),
    ("iis_size", "IIS size"),
    ("unknown_api_rate", "unknown API rate"),
];

/// A mean with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledMean<'m, T> {
    /// The label.
    pub label: String,
    /// The name in files.
    pub name: &'m str,
    /// The mean, its difference, or whatever the map holds.
    pub value: &'m T,
}

/// The means of episodes in the order of a table: reward, turns, and then facts. The kind of environment is named
/// only where there are several.
pub fn labelled<T>(means: &BTreeMap<String, T>) -> Vec<LabelledMean<'_, T>> {
    let kinds: BTreeSet<&str> =
        means.keys().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    let label = |name: &str| match name.split_once('/') {
        Some((_, fact)) if kinds.len() < 2 => words(fact),
        Some((kind, fact)) => format!("{kind}: {}", words(fact)),
        None => words(name),
    };
    let named = means.iter().map(|(name, value)| LabelledMean { label: label(name), name, value });
    let mut all: Vec<LabelledMean<'_, T>> = named.collect();
    let place = |name: &str| [REWARD, TURNS].iter().position(|&first| first == name).unwrap_or(2);
    all.sort_by_key(|mean| place(mean.name));
    all
}

/// `diagnosis_accuracy` as `diagnosis accuracy`.
fn words(fact: &str) -> String {
    let known = LABELS.iter().find(|(name, _)| *name == fact);
    known.map_or_else(|| fact.replace('_', " "), |(_, label)| (*label).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expected: &[&str]) {
        let means: BTreeMap<String, u8> =
            names.iter().map(|name| ((*name).to_owned(), 0)).collect();
        let labels: Vec<String> = labelled(&means).into_iter().map(|mean| mean.label).collect();
        assert_eq!(labels, expected);
    }

    #[test]
    fn reward_and_turns_come_first_and_facts_are_words() {
        check(
            &["a/invalid", "a/rows_kept", "reward", "turns"],
            &["reward", "turns", "invalid actions", "rows kept"],
        );
    }

    #[test]
    fn facts_of_two_environments_are_told_apart() {
        check(&["guess/tries", "solver/tries"], &["guess: tries", "solver: tries"]);
    }
}
