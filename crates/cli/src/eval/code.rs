//! Replies with code as a person reads them, and how much of a gain is more of them.

use std::fmt::Write;

use whetstone_eval::{
    CodeFigures, Compared, ComparedCode, Comparison, Difference, OverBestPrompt, Results,
};
use whetstone_recipe::text::{estimate, plain, points};

use crate::figures::judged;
use crate::printer::{Printer, Tone};

/// What to do about a start that answers without code.
const CURE: &str = "replies without code became replies with code; measure the start with the prompts that it may \
                    answer better: `whet eval --baseline-prompts`";

/// What to do where the start was measured with several prompts.
const BASELINE: &str =
    "replies without code became replies with code; look at the gain over the best prompt of A";

/// The figures of a suite; older results have none.
pub(super) fn whole(text: &mut String, results: &Results) {
    let columns = [("samples", &results.code), ("greedy", &results.greedy_code)];
    let columns: Vec<(&str, &CodeFigures)> =
        columns.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?))).collect();
    if columns.is_empty() {
        return;
    }
    let mut row = |name: &str, cell: &dyn Fn(&CodeFigures, &str) -> String| {
        let cells: Vec<String> =
            columns.iter().map(|(title, found)| format!("{:<22}", cell(found, title))).collect();
        let _ = writeln!(text, "{}", format!("  {name:<20} {}", cells.join("  ")).trim_end());
    };
    row("", &|_, _| String::new());
    row("replies", &|_, title| title.to_owned());
    row("with code", &|found, _| estimate(&found.code_rate));
    row("pass@1 of these", &|found, _| {
        found.pass_given_code.as_ref().map_or_else(|| "-".to_owned(), estimate)
    });
}

/// Both sides of a comparison, and the parts of the gain.
pub(super) fn compared(text: &mut String, comparison: &Comparison, printer: Printer) {
    let replies = [("", &comparison.code), ("greedy ", &comparison.greedy_code)];
    let replies: Vec<(&str, &ComparedCode)> =
        replies.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?))).collect();
    if replies.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n  {:<22} {:<22} {:<22} {:<28} p", "replies", "A", "B", "B - A");
    for (name, found) in &replies {
        row(text, &format!("{name}with code"), &found.code_rate, printer);
        if let Some(passes) = &found.pass_given_code {
            row(text, &format!("{name}pass@1 of these"), passes, printer);
        }
    }
    let cure = if comparison.over_best_prompt.is_some() { BASELINE } else { CURE };
    for (name, found) in &replies {
        if parts(text, name, found) {
            let word = printer.toned("most of this gain is format", Tone::Bad);
            let _ = writeln!(text, "  {word}: {cure}");
        }
    }
}

/// The gain over the best prompt of the start.
pub(super) fn over_best_prompt(text: &mut String, comparison: &Comparison, printer: Printer) {
    let Some(OverBestPrompt { prompt, greedy }) = &comparison.over_best_prompt else { return };
    let (word, tone) = judged(&greedy.difference);
    let word = printer.toned(word, tone);
    let (before, after, prompt) =
        (estimate(&greedy.before), estimate(&greedy.after), plain(prompt, 40));
    let Difference { p, .. } = greedy.difference;
    let change = points(&greedy.difference);
    let _ = writeln!(
        text,
        "\n  greedy over A with its best prompt (`{prompt}`): {before} -> {after}, {change}, p {p:.4}  {word}"
    );
}

fn row(text: &mut String, name: &str, compared: &Compared, printer: Printer) {
    let Compared { before, after, difference } = compared;
    let (word, tone) = judged(difference);
    let word = printer.toned(word, tone);
    let (before, after, change) = (estimate(before), estimate(after), points(difference));
    let Difference { p, .. } = difference;
    let _ = writeln!(text, "  {name:<22} {before:<22} {after:<22} {change:<28} {p:.4}  {word}");
}

/// Which part of the difference is more replies with code, and whether it is most of a gain; nothing where as many had
/// code.
fn parts(text: &mut String, name: &str, found: &ComparedCode) -> bool {
    let ComparedCode { format, rest, mostly_format, .. } = found;
    if format.abs() < 5e-4 {
        return false;
    }
    let [all, format, rest] = [format + rest, *format, *rest].map(|part| 100.0 * part);
    let _ = writeln!(
        text,
        "  {name}pass@1 {all:+.1} points = {format:+.1} by the share of replies with code {rest:+.1} by what they \
         contain"
    );
    *mostly_format
}

#[cfg(test)]
mod tests {
    use whetstone_eval::Estimate;

    use super::*;

    fn about(value: f64) -> Estimate {
        Estimate { value, low: value - 0.02, high: value + 0.02, tasks: 491, left_out: 0 }
    }

    fn compared_to(before: f64, after: f64) -> Compared {
        let value = after - before;
        let (low, high) = (value - 0.03, value + 0.03);
        let difference = Difference { value, low, high, tasks: 491, left_out: 0, p: 0.0001 };
        Compared { before: about(before), after: about(after), difference }
    }

    #[test]
    fn results_say_how_many_replies_have_code() {
        let figures = |code_rate, passes: Option<f64>| CodeFigures {
            code_rate: about(code_rate),
            pass_given_code: passes.map(about),
        };
        let mut results = Results { code: Some(figures(0.452, Some(0.226))), ..Results::default() };
        let mut text = String::new();
        whole(&mut text, &results);
        let samples = "\n  replies              samples\n  \
                       with code            45.2 % [43.2, 47.2]\n  \
                       pass@1 of these      22.6 % [20.6, 24.6]\n";
        assert_eq!(text, samples);
        results.greedy_code = Some(figures(0.5, None));
        text.clear();
        whole(&mut text, &results);
        assert!(text.contains("45.2 % [43.2, 47.2]     50.0 % [48.0, 52.0]\n"), "{text}");
        assert!(text.contains("22.6 % [20.6, 24.6]     -\n"), "{text}");
    }

    #[test]
    fn a_gain_that_is_mostly_format_is_called_so() {
        let of = |mostly_format| ComparedCode {
            code_rate: compared_to(0.45, 0.99),
            pass_given_code: Some(compared_to(0.22, 0.29)),
            format: 0.1377,
            rest: 0.0504,
            mostly_format,
        };
        let mut text = String::new();
        assert!(parts(&mut text, "greedy ", &of(true)));
        assert_eq!(
            text,
            "  greedy pass@1 +18.8 points = +13.8 by the share of replies with code +5.0 by what they \
             contain\n"
        );
        assert!(!parts(&mut text, "", &of(false)));
        text.clear();
        assert!(!parts(&mut text, "", &ComparedCode { format: 0.0, ..of(true) }));
        assert_eq!(text, "", "as many replies had code");
    }
}
