//! The report of a validation as a person reads it.

use std::cmp::Reverse;

use whetstone_data::prove::{Counts, ProofSummary};
use whetstone_recipe::text::{many, rate};

use super::ValidateArgs;
use crate::printer::{Printer, Tone};
use crate::summary::{Lines, list, messages};

/// Tasks and error messages that are shown; the report has more.
const SHOWN: usize = 10;

/// The whole text.
pub(super) fn text(report: &ProofSummary, args: &ValidateArgs, printer: Printer) -> String {
    let mut text = Vec::new();
    head(&mut text, report);
    sources(&mut text, report);
    dropped(&mut text, report, args, printer);
    doubtful(&mut text, report, printer);
    failed(&mut text, report, printer);
    text.join("\n") + "\n"
}

#[expect(clippy::cast_precision_loss, reason = "programs are far below 2^53")]
fn head(text: &mut Lines, report: &ProofSummary) {
    let per_second = report.programs as f64 / report.wall_seconds.max(1e-9);
    text.push(format!(
        "{} of {} proven, in {:.1} s ({} judged, {}/s)",
        report.total.proven,
        many(report.total.tasks, "task"),
        report.wall_seconds,
        many(report.programs, "program"),
        rate(per_second),
    ));
    if report.resumed > 0 {
        let resumed = many(report.resumed, "program");
        text.push(format!("  {resumed} had been judged by an earlier run"));
    }
}

fn sources(text: &mut Lines, report: &ProofSummary) {
    let width = report.by_source.keys().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    text.push(format!(
        "\n  {:<width$} {:>8} {:>8} {:>12} {:>8}  reasons",
        "source", "tasks", "proven", "reference ok", "dropped"
    ));
    for (name, counts) in &report.by_source {
        text.push(row(name, width, counts));
    }
    if report.by_source.len() > 1 {
        text.push(row("all", width, &report.total));
    }
}

fn row(name: &str, width: usize, counts: &Counts) -> String {
    let Counts { tasks, proven, reference_passes, dropped, reasons, .. } = counts;
    let mut reasons: Vec<_> = reasons.iter().collect();
    reasons.sort_by_key(|(_, count)| Reverse(**count));
    let reasons: Vec<_> =
        reasons.iter().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
    let row =
        format!("  {name:<width$} {tasks:>8} {proven:>8} {reference_passes:>12} {dropped:>8}");
    format!("{row}  {}", reasons.join(", ")).trim_end().to_owned()
}

fn dropped(text: &mut Lines, report: &ProofSummary, args: &ValidateArgs, printer: Printer) {
    if report.total.dropped == 0 {
        return;
    }
    let word = printer.toned("dropped", Tone::Doubtful);
    let count = many(report.total.dropped, "task");
    text.push(match &args.dropped {
        Some(path) => format!("\n  {word} {count}, kept in {}", path.display()),
        None => format!("\n  {word} {count}; `--dropped FILE` keeps them with their reasons"),
    });
    let tasks = report.dropped_tasks.iter().map(|task| {
        let id = task.id.as_deref().unwrap_or("(no id)");
        let (reason, detail) = (task.dropped.reason.name(), &task.dropped.detail);
        format!("{id}: {reason}: {detail}")
    });
    list(text, tasks, report.total.dropped, SHOWN);
}

fn doubtful(text: &mut Lines, report: &ProofSummary, printer: Printer) {
    if report.warnings.is_empty() {
        return;
    }
    let word = printer.toned("doubtful", Tone::Doubtful);
    text.push(format!("\n  {word} {}", many(report.warnings.len() as u64, "proven task")));
    let tasks = report.warnings.iter().map(|warning| {
        format!("{}: {}", warning.id.as_deref().unwrap_or("(no id)"), warning.detail)
    });
    list(text, tasks, report.warnings.len() as u64, SHOWN);
}

fn failed(text: &mut Lines, report: &ProofSummary, printer: Printer) {
    if report.total.failed == 0 {
        return;
    }
    let word = printer.toned("not judged", Tone::Bad);
    let count = many(report.total.failed, "task");
    text.push(format!(
        "\n  {word} {count}: neither proven nor dropped; the same command tries again"
    ));
    messages(text, &report.errors, SHOWN);
}
