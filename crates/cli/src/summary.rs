//! Parts that summaries share: lists by frequency, bad lines, and what is not shown.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use whetstone_core::extract::CauseCounts;
use whetstone_recipe::text::percent;
use whetstone_rollout::score::BadLine;

/// The text of a summary, line by line.
pub(crate) type Lines = Vec<String>;

/// Adds the first lines of a list, and how many there are beside them.
pub(crate) fn list(
    text: &mut Lines,
    lines: impl IntoIterator<Item = String>,
    count: u64,
    shown: usize,
) {
    text.extend(lines.into_iter().take(shown).map(|line| format!("    {line}")));
    let more = count.saturating_sub(shown as u64);
    if more > 0 {
        text.push(format!("    and {more} more"));
    }
}

/// Adds bad lines of a file.
pub(crate) fn bad_lines(text: &mut Lines, lines: &[BadLine], count: u64, shown: usize) {
    let lines = lines.iter().map(|bad| format!("line {}: {}", bad.line, bad.reason));
    list(text, lines, count, shown);
}

/// Adds the most frequent messages, each with its count.
pub(crate) fn messages(text: &mut Lines, messages: &BTreeMap<String, u64>, shown: usize) {
    let lines =
        by_count(messages).into_iter().map(|(message, count)| format!("{count} × {message}"));
    text.extend(lines.take(shown).map(|line| format!("    {line}")));
}

/// Adds a table of verdicts: how many of `whole` had each, `not_run` among them.
pub(crate) fn verdicts(text: &mut Lines, unit: &str, found: &BTreeMap<String, u64>, rest: NotRun) {
    let mut found = found.clone();
    if rest.not_run > 0 {
        found.insert("not run".to_owned(), rest.not_run);
    }
    text.push(format!("\n  {:<16} {:>8} {:>8}", "verdict", unit, "part"));
    for (name, count) in by_count(&found) {
        text.push(format!("  {name:<16} {count:>8} {:>7.1}%", percent(count, rest.whole)));
    }
}

/// How often a verdict that is about the form of the reply had a cause.
pub(crate) struct CauseRow {
    /// `no_code: in_thinking`.
    pub(crate) name: String,
    pub(crate) count: u64,
    /// Of greedy samples, which are counted apart.
    pub(crate) greedy: u64,
}

/// The rows of a table of causes, the most frequent first.
pub(crate) fn causes(found: &CauseCounts, greedy: &CauseCounts) -> Vec<CauseRow> {
    let names = found.iter().chain(greedy.iter()).map(|one| (one.verdict, one.cause));
    let names: BTreeSet<(&str, &str)> = names.collect();
    let row = |(verdict, cause)| CauseRow {
        name: format!("{verdict}: {cause}"),
        count: found.count(verdict, cause),
        greedy: greedy.count(verdict, cause),
    };
    let mut rows: Vec<CauseRow> = names.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse((row.count, row.greedy)));
    rows
}

/// What a table of verdicts counts beside them.
#[derive(Clone, Copy)]
pub(crate) struct NotRun {
    /// Programs that were not run.
    pub(crate) not_run: u64,
    /// All that were looked at.
    pub(crate) whole: u64,
}

/// The most frequent first; equally frequent ones by name.
pub(crate) fn by_count(counts: &BTreeMap<String, u64>) -> Vec<(&String, u64)> {
    let mut counts: Vec<_> = counts.iter().map(|(name, count)| (name, *count)).collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_with_how_many_are_not_shown() {
        let mut text = Vec::new();
        list(&mut text, ["a", "b", "c"].map(str::to_owned), 9, 2);
        assert_eq!(text, ["    a", "    b", "    and 7 more"]);
        let mut text = Vec::new();
        list(&mut text, ["a".to_owned()], 1, 2);
        assert_eq!(text, ["    a"]);
    }

    #[test]
    fn causes_are_sorted_by_frequency_and_those_of_greedy_samples_stand_beside() {
        let counts = |text: &str| serde_json::from_str::<CauseCounts>(text).unwrap();
        let found =
            counts(r#"{"load_error":{"own_test_failed":9},"no_code":{"empty":1,"prose":30}}"#);
        let greedy = counts(r#"{"no_code":{"cut_off":2,"prose":3}}"#);
        let rows = causes(&found, &greedy).into_iter().map(|row| (row.name, row.count, row.greedy));
        let expected = [
            ("no_code: prose", 30, 3),
            ("load_error: own_test_failed", 9, 0),
            ("no_code: empty", 1, 0),
            ("no_code: cut_off", 0, 2),
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected.map(|(name, a, b)| (name.to_owned(), a, b)));
    }

    #[test]
    fn verdicts_are_sorted_by_frequency_with_those_that_were_not_run() {
        let mut text = Vec::new();
        let found = [("pass".to_owned(), 1), ("wrong".to_owned(), 2)].into();
        verdicts(&mut text, "lines", &found, NotRun { not_run: 1, whole: 4 });
        let rows = [
            "\n  verdict             lines     part",
            "  wrong                   2    50.0%",
            "  not run                 1    25.0%",
            "  pass                    1    25.0%",
        ];
        assert_eq!(text, rows);
    }
}
