//! Parts that summaries share: lists by frequency, bad lines, and what is not shown.

use std::cmp::Reverse;
use std::collections::BTreeMap;

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
