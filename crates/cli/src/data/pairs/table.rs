//! The report on pairs as a person reads it.

use std::collections::BTreeMap;

use whetstone_data::pairs::PairSummary;
use whetstone_recipe::text::{many, percent, plain};

use super::PairsArgs;
use crate::printer::{Printer, Tone};
use crate::summary::{Lines, list};

/// Bad lines that are shown; the report has more.
const SHOWN: usize = 10;

/// The whole text.
pub(super) fn text(summary: &PairSummary, args: &PairsArgs, printer: Printer) -> String {
    let mut text = Vec::new();
    head(&mut text, summary, args);
    text.push(format!("\n  {:<28} {:>8} {:>7}", "origin", "pairs", "part"));
    for (origin, count) in &summary.by_origin {
        let part = percent(*count, summary.pairs);
        text.push(format!("  {:<28} {count:>8} {part:>6.1}%", plain(origin, 28)));
    }
    reasons(&mut text, "pairs left out", &summary.pairs_left_out);
    reasons(&mut text, "replies left out", &summary.replies_left_out);
    lengths(&mut text, summary);
    bad(&mut text, summary, printer);
    text.join("\n") + "\n"
}

fn head(text: &mut Lines, summary: &PairSummary, args: &PairsArgs) {
    let train = summary.pairs - summary.pairs_held_out;
    let tasks = |count| many(count, "task");
    text.push(format!(
        "{} of {} into {}, in {:.1} s",
        many(train, "pair"),
        tasks(summary.tasks - summary.tasks_held_out),
        args.out.display(),
        summary.wall_seconds
    ));
    if let Some(out) = &args.out_val {
        let pairs = many(summary.pairs_held_out, "pair");
        text.push(format!("{pairs} of {} into {}", tasks(summary.tasks_held_out), out.display()));
    }
}

fn reasons(text: &mut Lines, name: &str, counts: &BTreeMap<&'static str, u64>) {
    if counts.is_empty() {
        return;
    }
    text.push(format!("\n  {name:<28} {:>8}", "count"));
    for (reason, count) in counts {
        text.push(format!("  {reason:<28} {count:>8}"));
    }
}

fn lengths(text: &mut Lines, summary: &PairSummary) {
    let lengths = &summary.lengths;
    text.push(format!(
        "\n  mean length: chosen {:.0}, rejected {:.0} characters; the chosen one is longer in {:.1} % of the pairs",
        lengths.chosen_mean,
        lengths.rejected_mean,
        100.0 * lengths.chosen_longer
    ));
}

fn bad(text: &mut Lines, summary: &PairSummary, printer: Printer) {
    let count = summary.bad_count();
    if count == 0 {
        return;
    }
    let word = printer.toned("bad", Tone::Doubtful);
    let reasons: Vec<String> =
        summary.bad.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    text.push(format!("\n  {word} {}: {}", many(count, "line"), reasons.join(", ")));
    let lines = summary
        .bad_lines
        .iter()
        .map(|bad| format!("{}:{}: {}", bad.file.display(), bad.line, plain(&bad.reason, 200)));
    list(text, lines, count, SHOWN);
}
