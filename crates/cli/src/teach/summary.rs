//! The report as a person reads it.

use std::fmt::Write;
use std::path::Path;

use whetstone_recipe::retries;
use whetstone_recipe::text::{many, percent, plain, rate};
use whetstone_record::batch::path_beside;
use whetstone_rollout::teach::{TeachSummary, TeacherCounts};

use crate::printer::{Printer, Tone};
use crate::summary::{self, Lines, NotRun, bad_lines, messages};

use super::args::{TeachArgs, TeacherArg};

/// Bad lines and reasons that are shown; the report has more.
const SHOWN: usize = 5;
/// Characters of a teacher's name that are shown.
const NAME_CHARS: usize = 24;

/// Prints the summary.
pub(super) fn print(
    report: &TeachSummary,
    args: &TeachArgs,
    printer: Printer,
) -> anyhow::Result<()> {
    let mut text = text(report, &args.teacher, &args.out, printer);
    if let Some(rows) = &args.rows {
        let _ = writeln!(text, "\n{} in {}", many(report.rows, "row"), rows.display());
    }
    printer.raw(&text)
}

fn text(report: &TeachSummary, teachers: &[TeacherArg], output: &Path, printer: Printer) -> String {
    let mut text = Vec::new();
    head(&mut text, report, output);
    if report.without_trace > 0 {
        let missing = match teachers {
            [TeacherArg::Reference] => "reference solution",
            _ => "trace of its own or an expert that knows its solution",
        };
        text.push(format!("  {} without a {missing}", many(report.without_trace, "task")));
        if report.responses == 0 && teachers == [TeacherArg::Embedded] {
            text.push(
                "  `--teacher reference` takes the reference solutions of programs".to_owned(),
            );
        }
    }
    bad_tasks(&mut text, report, printer);
    table(&mut text, report);
    verdicts(&mut text, report);
    by_teacher(&mut text, report);
    missing(&mut text, report, output, printer);
    text.join("\n") + "\n"
}

fn head(text: &mut Lines, report: &TeachSummary, output: &Path) {
    text.push(format!(
        "{} to {} in {}, in {:.1} s",
        many(report.responses, "response"),
        many(report.tasks, "task"),
        output.display(),
        report.wall_seconds,
    ));
    if report.requests > 0 {
        let (requests, each) = (many(report.requests, "request"), report.requests_per_second);
        text.push(format!("  {requests}, {} a second", rate(each)));
    }
    text.extend(retries::sentence(&report.retried).map(|sentence| format!("  {sentence}")));
    if report.resumed > 0 {
        text.push(format!("  {} had been stored before", many(report.resumed, "response")));
    }
}

fn bad_tasks(text: &mut Lines, report: &TeachSummary, printer: Printer) {
    if report.bad_tasks == 0 {
        return;
    }
    let word = printer.toned("bad tasks", Tone::Doubtful);
    text.push(format!("  {word} {} of the task file", many(report.bad_tasks, "line")));
    bad_lines(text, &report.bad_task_lines, report.bad_tasks, SHOWN);
}

fn table(text: &mut Lines, report: &TeachSummary) {
    text.push(format!("\n  {:<16} {:>8}", "responses", report.responses));
    let mut row = |name: &str, count: u64, whole: u64| {
        text.push(format!("  {name:<16} {count:>8} {:>7.1}%", percent(count, whole)));
    };
    row("with thinking", report.with_thinking, report.responses);
    // Episodes have no program.
    let has_programs = report.episodes < report.responses || report.responses == 0;
    if has_programs {
        row("with code", report.with_code, report.responses);
        row("valid Python", report.valid_python, report.responses);
    }
    // Without a run, it is unknown how many pass.
    if report.not_run == 0 {
        row("passing", report.passing, report.responses);
    }
    if has_programs {
        row("parse failures", report.parse_failures, report.responses);
    }
    if report.cut_off > 0 {
        row("cut off", report.cut_off, report.responses);
    }
    if report.not_run == 0 {
        row("tasks solved", report.solved_tasks, report.tasks);
    }
    let tokens = report.tokens;
    if tokens.prompt + tokens.completion > 0 {
        text.push(format!(
            "  {:<16} {:>8} read, {} written",
            "tokens", tokens.prompt, tokens.completion
        ));
    }
}

fn verdicts(text: &mut Lines, report: &TeachSummary) {
    if !report.verdicts.is_empty() || report.not_run > 0 {
        let rest = NotRun { not_run: report.not_run, whole: report.responses };
        summary::verdicts(text, "samples", &report.verdicts, rest);
    }
}

/// What became of the samples of each teacher, if there are several or episodes.
fn by_teacher(text: &mut Lines, report: &TeachSummary) {
    if report.teachers.len() < 2 && report.episodes == 0 {
        return;
    }
    let row = |name: &str, cells: [&str; 6]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!(" {cell:>10}")).collect();
        format!("  {name:<24}{}", cells.concat())
    };
    let heads = ["kept", "unsolved", "too long", "cut off", "low reward", "failed"];
    text.push(format!("\n{}", row("teacher", heads)));
    for (name, counts) in &report.teachers {
        let TeacherCounts { kept, unsolved, too_long, cut_off, low_reward, failed, .. } = *counts;
        let cells = [kept, unsolved, too_long, cut_off, low_reward, failed];
        let cells = cells.map(|count| count.to_string());
        text.push(row(&plain(name, NAME_CHARS), cells.each_ref().map(String::as_str)));
    }
    if report.episodes > 0 {
        let (turns, episodes) = (many(report.turns, "turn"), many(report.episodes, "episode"));
        text.push(format!("  {turns} in {episodes}"));
    }
}

fn missing(text: &mut Lines, report: &TeachSummary, output: &Path, printer: Printer) {
    if report.failed > 0 {
        let word = printer.toned("not answered", Tone::Bad);
        text.push(format!("\n  {word} {}", many(report.failed, "sample")));
        let mut failures: Vec<_> = report.failures.iter().collect();
        failures.sort_by_key(|(_, count)| std::cmp::Reverse(count.samples));
        for (reason, count) in failures.into_iter().take(SHOWN) {
            text.push(format!("    {} × {reason}: {}", count.samples, count.example));
        }
    }
    if report.unjudged > 0 {
        let word = printer.toned("not judged", Tone::Bad);
        text.push(format!("\n  {word} {}", many(report.unjudged, "sample")));
        messages(text, &report.errors, SHOWN);
    }
    if report.broken_tests > 0 {
        let word = printer.toned("cannot be judged", Tone::Bad);
        let samples = many(report.broken_tests, "sample");
        text.push(format!("\n  {word} {samples}: their tasks' tests are broken"));
        for (task, problem) in report.broken_tasks.iter().take(SHOWN) {
            text.push(format!("    {task}: {problem}"));
        }
        text.push("  `whet data validate` finds such tasks and leaves them out".to_owned());
    }
    if report.is_incomplete() {
        let journal = path_beside(output);
        text.push(format!("  the same command tries them again, with {}", journal.display()));
    }
}

#[cfg(test)]
mod tests {
    use whetstone_rollout::teach::{FailureCount, Tokens};

    use super::*;

    #[test]
    fn tasks_whose_tests_are_broken_are_named_and_not_tried_again() {
        let report = TeachSummary {
            tasks: 1,
            responses: 2,
            broken_tests: 2,
            broken_tasks: [("t/1".to_owned(), "the setup cannot be used".to_owned())].into(),
            ..TeachSummary::default()
        };
        let shown = text(&report, &[TeacherArg::Remote], Path::new("t.jsonl"), Printer::new(true));
        let expected = "\
  cannot be judged 2 samples: their tasks' tests are broken
    t/1: the setup cannot be used
  `whet data validate` finds such tasks and leaves them out
";
        assert!(shown.ends_with(expected), "{shown}");
    }

    #[test]
    fn the_table_has_a_row_for_each_count() {
        let timeout = FailureCount { samples: 8, example: "no answer in 600 s".to_owned() };
        let report = TeachSummary {
            tasks: 401,
            responses: 3200,
            with_thinking: 3150,
            with_code: 3180,
            valid_python: 3170,
            passing: 2880,
            parse_failures: 20,
            solved_tasks: 400,
            tokens: Tokens { prompt: 70_000, completion: 9_000_000 },
            requests: 3208,
            requests_per_second: 21.04,
            retried: [("429".to_owned(), 1), ("timeout".to_owned(), 2)].into(),
            wall_seconds: 152.5,
            failed: 8,
            failures: [("timeout".to_owned(), timeout)].into(),
            verdicts: [("pass".to_owned(), 2880), ("wrong".to_owned(), 320)].into(),
            ..TeachSummary::default()
        };
        let shown = text(&report, &[TeacherArg::Remote], Path::new("t.jsonl"), Printer::new(true));
        let expected = "\
3200 responses to 401 tasks in t.jsonl, in 152.5 s
  3208 requests, 21.0 a second
  3 retried: 429, 2 × timeout

  responses            3200
  with thinking        3150    98.4%
  with code            3180    99.4%
  valid Python         3170    99.1%
  passing              2880    90.0%
  parse failures         20     0.6%
  tasks solved          400    99.8%
  tokens              70000 read, 9000000 written

  verdict           samples     part
  pass                 2880    90.0%
  wrong                 320    10.0%

  not answered 8 samples
    8 × timeout: no answer in 600 s
  the same command tries them again, with t.jsonl.journal
";
        assert_eq!(shown, expected);
    }
}
