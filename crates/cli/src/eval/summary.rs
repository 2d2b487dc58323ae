//! The results as a person reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use whetstone_eval::{Baseline, Estimate, Part, RESULTS, ROLLOUTS, Results};
use whetstone_recipe::text::{counted, estimate, figure, many, percent, plain, points};

use super::code;
use super::episodes::{self, PARTS};
use crate::printer::{Printer, Tone};
use crate::prompt::rows;
use crate::summary::{self, CauseRow};

const RULE: &str = "==================================================";

/// Reasons of errors that are shown; the file has more.
const SHOWN: usize = 5;
/// One in so many samples cut off is worth a word.
const MANY_CUT_OFF: u64 = 4;

/// The whole summary.
pub(super) fn text(results: &Results, out: &Path, printer: Printer) -> String {
    let mut text = String::new();
    figures(&mut text, results);
    code::whole(&mut text, results);
    baselines(&mut text, results);
    programs(&mut text, results);
    episodes::whole(&mut text, results);
    best_of(&mut text, results);
    for (name, parts) in [("source", &results.by_source), ("difficulty", &results.by_difficulty)] {
        by(&mut text, name, parts);
        episodes::by(&mut text, name, parts);
    }
    verdicts(&mut text, results);
    errors(&mut text, results, printer);
    let _ = writeln!(text, "\n  results  {}", out.join(RESULTS).display());
    let _ = writeln!(text, "  samples  {}", out.join(ROLLOUTS).display());
    text
}

fn figures(text: &mut String, results: &Results) {
    let samples = many(results.num_samples, "sample");
    let tasks = counted(results.tasks, "task");
    let _ = writeln!(text, "{RULE}\nPass@k Results:\n{RULE}");
    for (k, figure) in &results.pass_at_k {
        let _ = writeln!(text, "pass@{k:>3}: {}", line(figure));
    }
    if let Some(greedy) = &results.greedy {
        let _ = writeln!(text, "greedy  : {}", line(greedy));
    }
    for (decoding, found) in &results.by_temperature {
        for (k, figure) in &found.pass_at_k {
            let _ = writeln!(text, "pass@{k:>3}: {}, {decoding}", line(figure));
        }
    }
    let _ = writeln!(text, "{RULE}");
    let model = plain(&results.model, 100);
    let _ = writeln!(text, "{model}: {tasks}, {samples} of each; 95 % intervals");
    if let Some(sanitize) = results.settings.get("eval.sanitize") {
        let sanitize = plain(sanitize, 40);
        let _ = writeln!(
            text,
            "judged of a program: what its entry point needs (`eval.sanitize` is `{sanitize}`)"
        );
    }
    let left_out = results.pass_at_k.values().map(|estimate| estimate.left_out).max().unwrap_or(0);
    if left_out > 0 {
        let _ = writeln!(text, "tasks left out, with too few judged samples: {left_out}");
    }
}

/// The model with other prompts, if it was measured with some.
fn baselines(text: &mut String, results: &Results) {
    if let Some(best) = Baseline::best(&results.baseline_prompts) {
        rows(text, "greedy with the prompt", &results.baseline_prompts);
        let _ = writeln!(text, "  the best of these: {}", plain(best.name(), 40));
    }
}

/// Figures of the programs, if there are any.
fn programs(text: &mut String, results: &Results) {
    if results.figures.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n  {:<20} {:<24} {:>6}", "programs", "mean over tasks", "tasks");
    for (name, found) in &results.figures {
        let _ = writeln!(
            text,
            "  {:<20} {:<24} {:>6}",
            name.label(),
            figure(*name, found),
            found.tasks
        );
    }
}

/// The best of N by a reward model, if that was asked for.
fn best_of(text: &mut String, results: &Results) {
    let Some(reward_model) = &results.reward_model else { return };
    let _ = writeln!(text, "\n  by the reward model {}", plain(reward_model, 100));
    for (count, found) in &results.best_of {
        let (value, gain) = (estimate(&found.value), points(&found.gain));
        let _ =
            writeln!(text, "  {:<20} {value:<24} {gain} over pass@1", format!("best of {count}"));
    }
    if results.best_of.is_empty() {
        let _ = writeln!(text, "  no task has so many judged samples");
    }
}

/// `0.4523 (45.23%) [0.4110, 0.4935]`.
fn line(estimate: &Estimate) -> String {
    format!(
        "{:.4} ({:.2}%) [{:.4}, {:.4}]",
        estimate.value,
        100.0 * estimate.value,
        estimate.low,
        estimate.high
    )
}

/// A table of parts, if there is more than one.
fn by(text: &mut String, name: &str, parts: &BTreeMap<String, Part>) {
    if parts.len() < 2 {
        return;
    }
    let k: BTreeSet<u32> = parts.values().flat_map(|part| part.pass_at_k.keys().copied()).collect();
    let _ = write!(text, "\n  {name:<16} {:>6}", "tasks");
    for k in &k {
        let _ = write!(text, "  {:<22}", format!("pass@{k}"));
    }
    text.truncate(text.trim_end().len());
    for (name, part) in parts.iter().take(PARTS) {
        let _ = write!(text, "\n  {:<16} {:>6}", plain(name, 16), part.tasks);
        for k in &k {
            let figure = part.pass_at_k.get(k).map_or_else(|| "-".to_owned(), estimate);
            let _ = write!(text, "  {figure:<22}");
        }
        text.truncate(text.trim_end().len());
    }
    text.push('\n');
    if let Some(more) = parts.len().checked_sub(PARTS).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more");
    }
}

fn verdicts(text: &mut String, results: &Results) {
    let with_greedy = !results.greedy_verdicts.is_empty();
    let column = |text: &str| if with_greedy { format!(" {text:>8}") } else { String::new() };
    let greedy = column("greedy");
    let _ = writeln!(text, "\n  {:<16} {:>8} {:>7}{greedy}", "verdict", "samples", "part");
    let all: u64 = results.verdicts.values().sum();
    let names = results.verdicts.keys().chain(results.greedy_verdicts.keys());
    let names: BTreeSet<&String> = names.collect();
    let count = |verdicts: &BTreeMap<String, u64>, name| verdicts.get(name).copied().unwrap_or(0);
    let mut rows: Vec<(&str, u64, u64)> = names
        .into_iter()
        .map(|name| {
            let sampled = count(&results.verdicts, name);
            (name.as_str(), sampled, count(&results.greedy_verdicts, name))
        })
        .collect();
    // Passes first, then by frequency.
    rows.sort_by_key(|&(name, sampled, _)| (name != "pass", std::cmp::Reverse(sampled)));
    for (name, sampled, greedy) in rows {
        let (part, greedy) = (percent(sampled, all), column(&greedy.to_string()));
        let _ = writeln!(text, "  {name:<16} {sampled:>8} {part:>6.1}%{greedy}");
    }
    causes(text, results);
    if results.cut_off > 0 {
        let _ = writeln!(text, "  cut off by the limit on tokens: {} of {all}", results.cut_off);
    }
    if MANY_CUT_OFF * results.cut_off >= all && results.cut_off > 0 {
        let _ = writeln!(text, "  a longer limit may change the figures: `--max-tokens N`");
    }
}

/// Why replies had a verdict that is about their form, if any did.
fn causes(text: &mut String, results: &Results) {
    let rows = summary::causes(&results.causes, &results.greedy_causes);
    if rows.is_empty() {
        return;
    }
    let with_greedy = !results.greedy_verdicts.is_empty();
    let column = |text: &str| if with_greedy { format!(" {text:>8}") } else { String::new() };
    let greedy = column("greedy");
    let _ = writeln!(text, "\n  {:<32} {:>8} {:>7}{greedy}", "cause", "samples", "part");
    let all: u64 = results.verdicts.values().sum();
    for CauseRow { name, count, greedy } in rows {
        let (part, greedy) = (percent(count, all), column(&greedy.to_string()));
        let _ = writeln!(text, "  {name:<32} {count:>8} {part:>6.1}%{greedy}");
    }
}

fn errors(text: &mut String, results: &Results, printer: Printer) {
    if results.errors == 0 {
        return;
    }
    let word = printer.toned("not judged", Tone::Bad);
    let _ = writeln!(text, "\n  {word}: {} samples, which count as not passed", results.errors);
    let mut reasons: Vec<_> = results.errors_by_reason.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (reason, count) in reasons.into_iter().take(SHOWN) {
        let _ = writeln!(text, "    {count} x {}", plain(reason, 200));
    }
    let _ = writeln!(text, "    run the same command to sample them again");
}

#[cfg(test)]
mod tests {
    use whetstone_eval::{AtTemperature, Decoding, Figure};

    use super::*;

    fn figure(value: f64, tasks: usize) -> Estimate {
        Estimate { value, low: value - 0.04, high: value + 0.04, tasks, left_out: 0 }
    }

    fn results() -> Results {
        let part = |tasks| Part {
            tasks,
            pass_at_k: BTreeMap::from([(1, figure(0.4, tasks))]),
            greedy: None,
            episodes: None,
        };
        let counts =
            |pass, wrong| BTreeMap::from([("pass".to_owned(), pass), ("wrong".to_owned(), wrong)]);
        Results {
            model: "models/\u{1b}[31mred".to_owned(),
            tasks: 164,
            num_samples: 10,
            pass_at_k: BTreeMap::from([(1, figure(0.4523, 164)), (10, figure(0.7592, 164))]),
            greedy: Some(figure(0.4634, 164)),
            by_source: BTreeMap::from([
                ("mbpp".to_owned(), part(100)),
                ("apps\n".to_owned(), part(64)),
            ]),
            by_difficulty: BTreeMap::from([("none".to_owned(), part(164))]),
            verdicts: counts(742, 898),
            greedy_verdicts: counts(76, 88),
            cut_off: 3,
            ..Results::default()
        }
    }

    const WHOLE: &str = "\
==================================================
Pass@k Results:
==================================================
pass@  1: 0.4523 (45.23%) [0.4123, 0.4923]
pass@ 10: 0.7592 (75.92%) [0.7192, 0.7992]
greedy  : 0.4634 (46.34%) [0.4234, 0.5034]
==================================================
models/\u{fffd}[31mred: 164 tasks, 10 samples of each; 95 % intervals

  source            tasks  pass@1
  apps\u{fffd}                64  40.0 % [36.0, 44.0]
  mbpp                100  40.0 % [36.0, 44.0]

  verdict           samples    part   greedy
  pass                  742   45.2%       76
  wrong                 898   54.8%       88
  cut off by the limit on tokens: 3 of 1640

  results  eval/a/evaluation_results.json
  samples  eval/a/rollouts.jsonl
";

    #[test]
    fn the_summary_says_everything_in_order_and_nothing_speaks_to_the_terminal() {
        assert_eq!(text(&results(), Path::new("eval/a"), Printer::new(true)), WHOLE);
    }

    #[test]
    fn pass_at_k_of_a_further_temperature_names_it() {
        let mut results = results();
        let pass_at_k = BTreeMap::from([(1, figure(0.5, 164))]);
        let decoding = Decoding::at(0.6).unwrap();
        results.by_temperature = [(decoding, AtTemperature { pass_at_k, episodes: None })].into();
        let shown = text(&results, Path::new("."), Printer::new(true));
        let line = "greedy  : 0.4634 (46.34%) [0.4234, 0.5034]\npass@  1: 0.5000 (50.00%) [0.4600, 0.5400], T=0.6\n";
        assert!(shown.contains(line), "{shown}");
    }

    #[test]
    fn a_measurement_of_a_part_of_each_program_says_so() {
        let mut results = results();
        results.settings.insert("eval.sanitize".to_owned(), "entry_point".to_owned());
        let shown = text(&results, Path::new("."), Printer::new(true));
        let line =
            "judged of a program: what its entry point needs (`eval.sanitize` is `entry_point`)\n";
        assert!(shown.contains(line), "{shown}");
    }

    #[test]
    fn causes_have_a_table_of_their_own_where_there_are_any() {
        let mut results = results();
        let counts = |text: &str| serde_json::from_str(text).unwrap();
        results.causes =
            counts(r#"{"no_code":{"in_thinking":82},"load_error":{"own_test_failed":164}}"#);
        results.greedy_causes = counts(r#"{"no_code":{"in_thinking":8}}"#);
        let shown = text(&results, Path::new("."), Printer::new(true));
        let table = "\n  cause                             samples    part   greedy\n  \
                     load_error: own_test_failed           164   10.0%        0\n  \
                     no_code: in_thinking                   82    5.0%        8\n";
        assert!(shown.contains(table), "{shown}");
        results.greedy_verdicts.clear();
        let shown = text(&results, Path::new("."), Printer::new(true));
        assert!(shown.contains("  load_error: own_test_failed           164   10.0%\n"), "{shown}");
    }

    #[test]
    fn figures_of_programs_have_their_own_units() {
        let mut results = results();
        let quality = Estimate { value: 7.514, low: 7.2, high: 7.829, tasks: 160, left_out: 4 };
        results.figures = BTreeMap::from([
            (Figure::SyntaxRate, figure(0.95, 164)),
            (Figure::Quality, quality),
            (Figure::Diversity, figure(0.4123, 99)),
        ]);
        let text = text(&results, Path::new("."), Printer::new(true));
        let table = "\n  programs             mean over tasks           tasks\n  \
                     syntax rate          95.0 % [91.0, 99.0]         164\n  \
                     quality of 10        7.51 [7.20, 7.83]           160\n  \
                     diversity            0.412 [0.372, 0.452]         99\n";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn what_was_not_judged_is_said_with_its_reasons() {
        let mut results = results();
        results.errors = 7;
        results.errors_by_reason.insert("no\u{7}zygote".to_owned(), 7);
        let text = text(&results, Path::new("."), Printer::new(true));
        assert!(text.contains(
            "not judged: 7 samples, which count as not passed\n    7 x no\u{fffd}zygote\n"
        ));
    }
}
