//! The report as a person reads it.

use std::collections::BTreeSet;
use std::fmt::Write;

use whetstone_algo::format_gain::CodeRates;
use whetstone_core::verdict::Verdict;
use whetstone_eval::{Compared, Decoding};
use whetstone_recipe::report::{Figures, QuickstartReport, Side};
use whetstone_recipe::text::{estimate, percent, points, rate};

use crate::figures::{Sides, better_temperature, code_change, judged};
use crate::printer::Printer;

/// The sides of the headline.
const SIDES: Sides = Sides { before: "before", after: "after", difference: "after - before" };

/// The whole summary.
pub(super) fn text(report: &QuickstartReport, printer: Printer) -> String {
    let mut text = String::new();
    figures_table(&mut text, report, printer);
    verdicts(&mut text, report);
    times(&mut text, report);
    files(&mut text, report);
    text
}

fn figures_table(text: &mut String, report: &QuickstartReport, printer: Printer) {
    let (tasks, samples) = (report.tasks.held_out, report.samples);
    let temperature = report.temperature;
    let _ = writeln!(
        text,
        "{tasks} held-out tasks, {samples} samples each at temperature {temperature}; 95 % intervals\n"
    );
    let _ = writeln!(text, "  {:<8} {:<22} {:<22} difference", "", "before", "after");
    for (k, Figures { before, after, difference }) in &report.pass_at_k {
        let (word, tone) = judged(difference);
        let word = printer.toned(word, tone);
        let (before, after, change) = (estimate(before), estimate(after), points(difference));
        let name = format!("pass@{k}");
        let _ = writeln!(text, "  {name:<8} {before:<22} {after:<22} {change:<28} {word}");
    }
    temperatures(text, report, printer);
    let left_out =
        report.pass_at_k.values().map(|compared| compared.difference.left_out).max().unwrap_or(0);
    if left_out > 0 {
        let _ = writeln!(text, "  {left_out} tasks left out: too few samples could be judged");
    }
}

/// pass@1 at the other temperatures, and what is claimed of it.
fn temperatures(text: &mut String, report: &QuickstartReport, printer: Printer) {
    let own = Decoding::at(report.temperature);
    let others = report.by_temperature.iter().filter(|(decoding, _)| Some(**decoding) != own);
    for (decoding, Compared { before, after, difference }) in others {
        let (word, tone) = judged(difference);
        let word = printer.toned(word, tone);
        let (before, after, change) = (estimate(before), estimate(after), points(difference));
        let name = decoding.to_string();
        let _ = writeln!(text, "  {name:<8} {before:<22} {after:<22} {change:<28} {word}");
    }
    match &report.better_temperature {
        Some(better) => {
            let gain = better_temperature(better, SIDES, printer);
            let _ = writeln!(text, "\n  pass@1 for this seed, {gain}");
        }
        None => text.push_str("\n  other temperatures: not measured before training\n"),
    }
}

fn verdicts(text: &mut String, report: &QuickstartReport) {
    let (before, after) = (&report.before, &report.after);
    let _ = writeln!(text, "\n  {:<16} {:>8} {:>8}", "verdict", "before", "after");
    let names: BTreeSet<&String> = before.verdicts.keys().chain(after.verdicts.keys()).collect();
    let mut rows: Vec<(&str, u64, u64)> = names
        .into_iter()
        .map(|name| {
            let of = |side: &Side| side.verdicts.get(name).copied().unwrap_or(0);
            (name.as_str(), of(before), of(after))
        })
        .collect();
    // Passes first, then by frequency.
    rows.sort_by_key(|&(name, before, after)| (name != "pass", std::cmp::Reverse(before + after)));
    for (name, before, after) in rows {
        let _ = writeln!(text, "  {name:<16} {before:>8} {after:>8}");
    }
    if let (Some(before), Some(after)) = (code_rates(before), code_rates(after)) {
        let _ = writeln!(text, "  replies with code: {}", code_change(before, after));
    }
    let cut = (before.cut_off, after.cut_off);
    let _ = writeln!(text, "  cut off by the limit on tokens: {} before, {} after", cut.0, cut.1);
    let surprise = (before.surprise, after.surprise);
    let _ = writeln!(
        text,
        "  surprise of a token, in nats: {:.3} before, {:.3} after",
        surprise.0, surprise.1
    );
    if before.unjudged + after.unjudged > 0 {
        let (before, after) = (before.unjudged, after.unjudged);
        let _ = writeln!(text, "  could not be judged, and count nowhere: {before}, {after}");
    }
}

/// The judged samples of a side with a program; none where nothing was asked for a program.
fn code_rates(side: &Side) -> Option<CodeRates> {
    let all = side.verdicts.values().sum();
    let count = |name| side.verdicts.get(name).copied().unwrap_or(0);
    let share = |part| percent(part, all) / 100.0;
    let is_of_programs = side.verdicts.keys().all(|name| Verdict::NAMES.contains(&name.as_str()));
    (is_of_programs && all > 0).then(|| CodeRates {
        code_rate: share(all - count("no_code")),
        pass_rate: share(count("pass")),
    })
}

fn times(text: &mut String, report: &QuickstartReport) {
    let times = &report.times;
    let _ = writeln!(text, "\n  {:<16} {:>8}", "phase", "seconds");
    for (name, seconds) in times.seconds.rows() {
        let _ = writeln!(text, "  {name:<16} {seconds:>8.1}");
    }
    let _ = writeln!(text, "  {:<16} {:>8.1}", "all", times.all_seconds);
    let _ = writeln!(
        text,
        "  in training {} tokens/s and {} programs/s while rollouts were sampled and judged",
        rate(times.training_tokens_per_s),
        rate(times.training_programs_per_s)
    );
}

fn files(text: &mut String, report: &QuickstartReport) {
    let files = &report.files;
    text.push('\n');
    for (name, path) in [
        ("run", &files.run),
        ("student", &files.student),
        ("final model", &files.final_model),
        ("rollouts", &files.rollouts),
        ("events", &files.events),
        ("report", &files.report),
        ("page", &files.page),
    ] {
        let _ = writeln!(text, "  {name:<12} {path}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample_report::report;
    use super::*;

    const WHOLE: &str = "\
2 held-out tasks, 4 samples each at temperature 1; 95 % intervals

           before                 after                  difference
  pass@1   12.5 % [0.1, 96.8]     62.5 % [0.4, 99.9]     +50.0 points [+0.0, +100.0]  no clear difference
  pass@4   50.0 % [0.2, 99.8]     100.0 % [1.2, 100.0]   +50.0 points [+0.0, +100.0]  no clear difference
  greedy   50.0 % [0.2, 99.8]     100.0 % [1.2, 100.0]   +50.0 points [+0.0, +100.0]  no clear difference

  pass@1 for this seed, at the better temperature of each side: before (greedy) 50.0 % -> after (greedy) 100.0 %, +50.0 points [+0.0, +100.0]  no clear difference

  verdict            before    after
  pass                    1        5
  wrong                   6        2
  no_code                 1        1
  replies with code: 87.5 % -> 87.5 %, of which 14.3 % -> 71.4 % pass
  cut off by the limit on tokens: 7 before, 3 after
  surprise of a token, in nats: 0.250 before, 0.500 after

  phase             seconds
  tasks                 0.2
  traces                0.5
  before                1.0
  training             20.0
  after                 2.0
  all                  23.8
  in training 200 tokens/s and 2.00 programs/s while rollouts were sampled and judged

  run          runs/q
  student      runs/q/student
  final model  runs/q/outputs/final_model
  rollouts     runs/q/rollouts/rollouts.jsonl
  events       runs/q/events.jsonl
  report       runs/q/quickstart.json
  page         runs/q/report.html
";

    #[test]
    fn the_summary_says_everything_in_order() {
        assert_eq!(text(&report(), Printer::new(true)), WHOLE);
    }

    #[test]
    fn temperatures_that_were_not_measured_are_said() {
        let mut report = report();
        report.better_temperature = None;
        let text = text(&report, Printer::new(true));
        assert!(text.contains("\n  other temperatures: not measured before training\n"), "{text}");
    }

    #[test]
    fn samples_that_nobody_could_judge_are_said() {
        let mut report = report();
        report.after.unjudged = 2;
        for figures in report.pass_at_k.values_mut() {
            figures.difference.left_out = 1;
        }
        let text = text(&report, Printer::new(true));
        for line in [
            "  could not be judged, and count nowhere: 0, 2\n",
            "  1 tasks left out: too few samples could be judged\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
