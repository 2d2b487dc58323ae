//! The report as a person reads it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use whetstone_core::survivors::Survivors;
use whetstone_data::prepare::{Counts, DEV, MbppCounts, PrepareSummary, REPORT, Split, TRAIN, VAL};
use whetstone_recipe::text::many;

use crate::printer::{Printer, Tone};
use crate::summary::{Lines, list};

/// Findings of one sort that are shown; `prepare.json` has more.
const SHOWN: usize = 5;

/// Prints the summary.
pub(super) fn print(
    report: &PrepareSummary,
    out: &Path,
    took: Duration,
    printer: Printer,
) -> anyhow::Result<()> {
    printer.raw(&text(report, out, took, printer))
}

/// Sources without any task left.
pub(super) fn lost(sources: &BTreeMap<String, Counts>) -> Vec<String> {
    let mut found = Survivors::default();
    for (name, counts) in sources {
        let source = format!("the source `{name}`");
        if counts.train + counts.dev + counts.val > 0 {
            found.keep(&source);
        }
        let reasons = [
            ("bad", counts.bad),
            ("left out, as `prepare.json` says", counts.left_out),
            ("contaminated", counts.contaminated),
            ("duplicates", counts.duplicates),
            ("over the limit", counts.over_limit),
        ];
        for (reason, count) in reasons {
            found.leave_out_many(&source, reason, count);
        }
    }
    found.lost("row")
}

fn text(report: &PrepareSummary, out: &Path, took: Duration, printer: Printer) -> String {
    let mut text = Vec::new();
    text.push(format!(
        "{} for training in {}, {} for development in {}, {} for validation in {}, in {:.1} s",
        many(report.train.tasks, "task"),
        out.join(TRAIN).display(),
        many(report.dev.tasks, "task"),
        out.join(DEV).display(),
        many(report.val.tasks, "task"),
        out.join(VAL).display(),
        took.as_secs_f64()
    ));
    table(&mut text, report);
    if report.sources.contains_key("mbpp") {
        text.push(format!("\n  {}", mbpp_split(report)));
    }
    let MbppCounts { first, sanitized } = report.mbpp;
    if sanitized > 0 {
        text.push(format!(
            "\n  MBPP: {} with the sanitized statement and tests, {first} as first published",
            many(sanitized, "task")
        ));
    }
    let empty = report.train.tasks == 0 || report.val.tasks == 0;
    if empty && report.split == Split::Official && report.total().train + report.total().val > 1 {
        text.push("\n  one half is empty, as published: `--split seed` makes two".to_owned());
    }
    let total = report.total();
    if total.bad > 0 {
        let word = printer.toned("bad", Tone::Doubtful);
        let lines = report.bad.iter().map(ToString::to_string);
        findings(&mut text, &format!("{word} {}", total.bad), lines, total.bad);
    }
    if !report.left_out.is_empty() {
        let lines =
            report.left_out.iter().map(|one| format!("{}: {}", one.file.display(), one.reason));
        let count = report.left_out.len() as u64;
        findings(&mut text, &format!("left out {count}: {}", by_kind(report)), lines, count);
    }
    if total.contaminated > 0 {
        let lines = report
            .contaminated
            .iter()
            .map(|one| format!("{} is known to {}: {}", one.dropped, one.benchmark, one.evidence));
        findings(
            &mut text,
            &format!("contaminated {}", total.contaminated),
            lines,
            total.contaminated,
        );
    }
    if total.duplicates > 0 {
        let lines = report.duplicates.iter().map(|one| {
            let percent = (one.similarity * 100.0).floor();
            format!("{} is like {}: {}, {percent:.0} %", one.dropped, one.kept, one.by.words())
        });
        let head = format!("duplicates {}: {}", total.duplicates, by_reason(report));
        findings(&mut text, &head, lines, total.duplicates);
    }
    for input in report.inputs.iter().filter(|input| input.passed_over) {
        text.push(format!("\n  passed over {}", input.path.display()));
    }
    let report_file = out.join(REPORT);
    let dropped =
        [total.bad, total.left_out, total.contaminated, total.duplicates, total.over_limit];
    let what = if dropped.iter().sum::<u64>() + report.left_out.len() as u64 > 0 {
        "everything that was dropped is in"
    } else {
        "nothing was dropped; the report is in"
    };
    text.push(format!("\n  {what} {}", report_file.display()));
    text.join("\n") + "\n"
}

/// How MBPP is split, and the flag for the other way.
fn mbpp_split(report: &PrepareSummary) -> &'static str {
    match (report.split, report.dev.tasks) {
        (Split::Seed, _) => {
            "MBPP is split by the seed: figures cannot be compared with published ones"
        }
        (Split::Official, 0) => {
            "MBPP is split as published: tasks 11 to 510 are for validation; `--split seed` makes it 80/20"
        }
        (Split::Official, _) => {
            "MBPP is split as published: tasks 11 to 510 are for validation, 511 to 600 for development; \
             `--split seed` makes it 80/20"
        }
    }
}

fn table(text: &mut Lines, report: &PrepareSummary) {
    text.push(format!(
        "\n  {:<12} {:>8} {:>6} {:>9} {:>13} {:>11} {:>11} {:>8} {:>6} {:>8}",
        "source",
        "rows",
        "bad",
        "left out",
        "contaminated",
        "duplicates",
        "over limit",
        "train",
        "dev",
        "val"
    ));
    let total = ("all".to_owned(), report.total());
    let sources = report.sources.iter().map(|(name, counts)| (name.clone(), *counts));
    for (name, counts) in sources.chain([total]) {
        let Counts { rows, bad, left_out, contaminated, duplicates, over_limit, train, dev, val } =
            counts;
        text.push(format!(
            "  {name:<12} {rows:>8} {bad:>6} {left_out:>9} {contaminated:>13} {duplicates:>11} \
             {over_limit:>11} {train:>8} {dev:>6} {val:>8}"
        ));
    }
}

fn by_reason(report: &PrepareSummary) -> String {
    counted(report.duplicates.iter().map(|duplicate| format!("by {}", duplicate.by.words())))
}

fn by_kind(report: &PrepareSummary) -> String {
    counted(report.left_out.iter().map(|file| file.kind.words().to_owned()))
}

/// How often each of these words occurs.
fn counted(words: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    words.for_each(|words| *counts.entry(words).or_default() += 1);
    let counts: Vec<_> = counts.iter().map(|(words, count)| format!("{count} {words}")).collect();
    counts.join(", ")
}

fn findings(text: &mut Lines, head: &str, lines: impl Iterator<Item = String>, count: u64) {
    text.push(format!("\n  {head}"));
    list(text, lines, count, SHOWN);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_which_nothing_is_left_is_named() {
        let gone = Counts { rows: 5, bad: 1, duplicates: 4, ..Counts::default() };
        let kept = Counts { rows: 5, duplicates: 4, val: 1, ..Counts::default() };
        let sources = [("apps".to_owned(), gone), ("mbpp".to_owned(), kept)];
        let said = "nothing is left of the source `apps`: 5 rows, 4 duplicates, 1 bad";
        assert_eq!(lost(&sources.into()), [said]);
    }
}
