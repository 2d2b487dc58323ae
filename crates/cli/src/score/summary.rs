//! The report as a person reads it.

use std::collections::BTreeMap;
use std::path::Path;

use whetstone_core::extract::CauseCounts;
use whetstone_core::reward::TESTS;
use whetstone_recipe::text::{many, percent, rate};
use whetstone_rollout::cache::Lookups;
use whetstone_rollout::score::{CODE_GATE, ScoreSummary, rejected_path};

use crate::printer::{Printer, Tone};
use crate::summary::{self, CauseRow, Lines, NotRun, bad_lines, messages};

/// Bad lines and error messages that are shown; the report has more.
const SHOWN: usize = 5;

/// Prints the summary.
pub(super) fn print(
    report: &ScoreSummary,
    output: &Path,
    report_file: &Path,
    printer: Printer,
) -> anyhow::Result<()> {
    let text = text(report, output, printer);
    printer.raw(&format!("{text}report: {}\n", report_file.display()))
}

fn text(report: &ScoreSummary, output: &Path, printer: Printer) -> String {
    let mut text = Vec::new();
    head(&mut text, report, output);
    set_aside(&mut text, report, output, printer);
    untested(&mut text, report, printer);
    groups(&mut text, report, printer);
    rewards(&mut text, report);
    verdicts(&mut text, report);
    games(&mut text, report);
    slowest(&mut text, report);
    cache(&mut text, report, printer);
    text.join("\n") + "\n"
}

fn head(text: &mut Lines, report: &ScoreSummary, output: &Path) {
    text.push(format!(
        "{} of {} scored into {}, in {:.1} s ({} lines/s)",
        report.scored,
        many(report.lines, "line"),
        output.display(),
        report.wall_seconds,
        rate(report.lines_per_second)
    ));
    if report.resumed > 0 {
        let resumed = many(report.resumed, "line");
        text.push(format!("  {resumed} had been judged by an earlier run"));
    }
}

fn set_aside(text: &mut Lines, report: &ScoreSummary, output: &Path, printer: Printer) {
    if report.rejected > 0 {
        let word = printer.toned("rejected", Tone::Doubtful);
        let (count, file) = (many(report.rejected, "line"), rejected_path(output));
        text.push(format!("  {word} {count}, kept in {}", file.display()));
        bad_lines(text, &report.rejected_lines, report.rejected, SHOWN);
    }
    if report.bad_tasks > 0 {
        let word = printer.toned("bad tasks", Tone::Doubtful);
        text.push(format!("  {word} {} of the task file", many(report.bad_tasks, "line")));
        bad_lines(text, &report.bad_task_lines, report.bad_tasks, SHOWN);
    }
    if report.failed > 0 {
        let word = printer.toned("not judged", Tone::Bad);
        let count = many(report.failed, "line");
        text.push(format!("  {word} {count}: no reward, left out of their groups"));
        messages(text, &report.errors, SHOWN);
    }
}

fn untested(text: &mut Lines, report: &ScoreSummary, printer: Printer) {
    if report.untested > 0 {
        let word = printer.toned("no tests", Tone::Doubtful);
        let count = many(report.untested, "line");
        text.push(format!(
            "  {word} for {count}: nothing was run, and their rewards have static terms only"
        ));
    }
}

fn groups(text: &mut Lines, report: &ScoreSummary, printer: Printer) {
    let dead = report.dead_groups;
    let tone = if dead == 0 { Tone::Good } else { Tone::Doubtful };
    let dead = printer.toned(&format!("{dead} dead"), tone);
    let same = if report.rewards.contains_key(TESTS) { "test results" } else { "rewards" };
    text.push(format!("  groups {}, {dead} (their rollouts have the same {same})", report.groups));
    if report.unjudged_groups > 0 {
        text.push(format!("    and {} in which no line could be judged", report.unjudged_groups));
    }
}

fn rewards(text: &mut Lines, report: &ScoreSummary) {
    if report.rewards.is_empty() {
        return;
    }
    text.push(format!("\n  {:<16} {:>8} {:>8} {:>8}", "reward", "mean", "std", "lines"));
    let total = report.rewards.iter().filter(|(name, _)| *name == "total");
    let terms = report.rewards.iter().filter(|(name, _)| *name != "total");
    for (name, spread) in total.chain(terms) {
        let (mean, std, count) = (spread.mean, spread.std, spread.count);
        text.push(format!("  {name:<16} {mean:>8.4} {std:>8.4} {count:>8}"));
    }
    let test = match &report.phaser {
        Some(games) if games.lines == report.scored => "check",
        Some(_) => "test or check",
        None => "test",
    };
    if let Some(unearned) = report.paid_without_pass {
        let ran = report.scored - report.not_run;
        text.push(format!("  {unearned} of {ran} paid without passing a {test}"));
    }
    without_code(text, report);
    if !report.gates.is_empty() {
        text.push(format!("\n  {:<16} {:>8} {:>8}", "gate", "held", "failed"));
        for (name, gate) in &report.gates {
            text.push(format!("  {name:<16} {:>8} {:>8}", gate.passed, gate.failed));
        }
    }
}

/// How many replies hold no program, and the first of them.
fn without_code(text: &mut Lines, report: &ScoreSummary) {
    let Some(first) = report.first_without_code else { return };
    let count = report.gates.get(CODE_GATE).map_or(0, |gate| gate.failed);
    let had = many(count, "line");
    text.push(format!(
        "  {had} had no code: first at line {first} (`whet score --help` lists what is found)"
    ));
}

fn verdicts(text: &mut Lines, report: &ScoreSummary) {
    let rest = NotRun { not_run: report.not_run, whole: report.scored };
    summary::verdicts(text, "lines", &report.verdicts, rest);
    let causes = summary::causes(&report.causes, &CauseCounts::default());
    if !causes.is_empty() {
        text.push(format!("\n  {:<32} {:>8} {:>8}", "cause", "lines", "part"));
    }
    for CauseRow { name, count, .. } in causes {
        let part = percent(count, report.scored);
        text.push(format!("  {name:<32} {count:>8} {part:>7.1}%"));
    }
    for (level, count) in &report.isolation {
        let level = format!("{:?}", level.0).to_lowercase();
        text.push(format!("  {count} judged with isolation `{level}`"));
    }
}

/// What came of replies to Phaser tasks.
fn games(text: &mut Lines, report: &ScoreSummary) {
    let Some(games) = &report.phaser else { return };
    if games.not_run > 0 {
        let (terms, count) = (games.not_run_terms.join(", "), many(games.not_run, "program"));
        text.push(format!("\n  {terms}: not run, for {count}; their rewards lack these"));
    }
    counts(text, "stage", "lines", &games.stages);
    counts(text, "failure", "lines", &games.failures);
    counts(text, "check", "checks", &games.checks);
    if !games.unknown_names.is_empty() {
        text.push(format!("\n  {:<48} {:>8}  nearest", "name that Phaser does not have", "uses"));
        for unknown in &games.unknown_names {
            let nearest = unknown.nearest.as_deref().unwrap_or("-");
            text.push(format!("  {:<48} {:>8}  {nearest}", unknown.name, unknown.count));
        }
    }
}

/// A table of names and how often each occurs; nothing if there are none.
fn counts(text: &mut Lines, name: &str, counted: &str, counts: &BTreeMap<String, u64>) {
    if counts.is_empty() {
        return;
    }
    text.push(format!("\n  {name:<16} {counted:>8}"));
    text.extend(counts.iter().map(|(name, count)| format!("  {name:<16} {count:>8}")));
}

fn slowest(text: &mut Lines, report: &ScoreSummary) {
    if report.slowest.is_empty() {
        return;
    }
    text.push(format!("\n  {:<16} {:>8}  prompt", "slowest", "cpu ms"));
    for slow in report.slowest.iter().take(SHOWN) {
        let (line, cpu_ms) = (format!("line {}", slow.line), slow.cpu_ms);
        text.push(format!("  {line:<16} {cpu_ms:>8.1}  {} ({})", slow.prompt_id, slow.verdict));
    }
}

fn cache(text: &mut Lines, report: &ScoreSummary, printer: Printer) {
    let Some(cache) = &report.cache else { return };
    let stats = &cache.stats;
    let of_programs = Lookups { hits: stats.hits, misses: stats.misses };
    let has_programs = of_programs != Lookups::default() || stats.results.is_empty();
    let all = has_programs.then_some(("", of_programs)).into_iter();
    let all = all.chain(stats.results.iter().map(|(part, counts)| (*part, *counts)));
    let lookups = all.map(|(part, counts)| {
        let Lookups { hits, misses } = counts;
        let space = if part.is_empty() { "" } else { " " };
        format!("{part}{space}{hits} hits, {misses} misses ({:.1}%)", counts.hit_rate() * 100.0)
    });
    let lookups = lookups.collect::<Vec<_>>().join("; ");
    text.push(format!("\n  cache: {lookups}, {} stored", stats.stored));
    if let Some(trouble) = &stats.trouble {
        let word = printer.toned("cache given up", Tone::Doubtful);
        let lost = stats.lost;
        text.push(format!(
            "  {word}: {trouble}; {lost} entries were not stored, no score was lost"
        ));
    }
}
