//! The verdict on a difference of two figures, and how much of one is format.

use std::fmt::Write;

use whetstone_algo::format_gain::{CodeRates, GainParts};
use whetstone_env::metrics::{Better, better};
use whetstone_eval::episodes::REWARD;
use whetstone_eval::{BetterTemperature, Compared, Difference, Estimate, Figure};
use whetstone_recipe::text::{any_change, any_mean, points};

use crate::printer::{Printer, Tone};

/// The verdict on a difference.
pub(crate) fn judged(difference: &Difference) -> (&'static str, Tone) {
    if is_untold(difference) {
        return ("no task differs: too little to say", Tone::Doubtful);
    }
    match (difference.is_clear(), difference.value > 0.0) {
        (true, true) => ("better", Tone::Good),
        (true, false) => ("worse", Tone::Bad),
        (false, _) => ("no clear difference", Tone::Doubtful),
    }
}

/// Whether no task differs: an interval of no width, which is the absence of evidence and no proof of likeness.
fn is_untold(difference: &Difference) -> bool {
    [difference.value, difference.low, difference.high].iter().all(|end| end.abs() <= 0.0)
}

/// The verdict on the difference of a figure of programs. More diversity is not better by itself.
pub(crate) fn judged_figure(figure: Figure, difference: &Difference) -> (&'static str, Tone) {
    match (figure, judged(difference).0) {
        (Figure::Diversity | Figure::DiversityPassing, "better") => ("higher", Tone::Good),
        (Figure::Diversity | Figure::DiversityPassing, "worse") => ("lower", Tone::Doubtful),
        _ => judged(difference),
    }
}

/// The verdict on the difference of a mean of episodes: of the reward, and of some metrics, it is known which values are
/// better.
pub(crate) fn judged_mean(name: &str, difference: &Difference) -> (&'static str, Tone) {
    let known = if name == REWARD { Some(Better::Higher) } else { better(name) };
    match (known, judged(difference).0) {
        (Some(Better::Lower), "better") => ("worse", Tone::Bad),
        (Some(Better::Lower), "worse") => ("better", Tone::Good),
        (None, "better") => ("higher", Tone::Doubtful),
        (None, "worse") => ("lower", Tone::Doubtful),
        _ => judged(difference),
    }
}

/// The names of what is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides {
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
    pub(crate) difference: &'static str,
}

impl Sides {
    /// Those of `whet eval compare`.
    pub(crate) const LETTERS: Self = Self { before: "A", after: "B", difference: "B - A" };
}

/// pass@1 at the better temperature of each side: `A (greedy) 49.0 % -> B (T=0.6) 58.0 %, +9.0 points [+1.0, +17.0]`.
pub(crate) fn better_temperature(
    better: &BetterTemperature,
    sides: Sides,
    printer: Printer,
) -> String {
    let Compared { before, after, difference } = &better.gain;
    let share = |side: &Estimate| format!("{:.1} %", 100.0 * side.value);
    let change = points(difference);
    sentence(better, sides, [share(before), share(after), change, toned(difference, printer)])
}

/// Like [`better_temperature`], for the mean reward of episodes.
pub(crate) fn better_reward(better: &BetterTemperature, sides: Sides, printer: Printer) -> String {
    let Compared { before, after, difference } = &better.gain;
    let change = any_change(difference);
    let parts = [any_mean(before), any_mean(after), change, toned(difference, printer)];
    format!("reward {}", sentence(better, sides, parts))
}

fn toned(difference: &Difference, printer: Printer) -> String {
    let (word, tone) = judged(difference);
    printer.toned(word, tone)
}

fn sentence(
    better: &BetterTemperature,
    sides: Sides,
    [before, after, change, word]: [String; 4],
) -> String {
    let (first, second) = (better.before, better.after);
    let Sides { before: a, after: b, .. } = sides;
    format!(
        "at the better temperature of each side: {a} ({first}) {before} -> {b} ({second}) {after}, {change}  {word}"
    )
}

/// Shares of replies with code before and after, how many of these pass, and whether most of a gain is format.
pub(crate) fn code_change(first: CodeRates, last: CodeRates) -> String {
    let share = |value: f64| format!("{:.1} %", 100.0 * value);
    let passing = |rates: CodeRates| rates.pass_given_code().map_or_else(|| "-".to_owned(), share);
    let mut text = format!(
        "{} -> {}, of which {} -> {} pass",
        share(first.code_rate),
        share(last.code_rate),
        passing(first),
        passing(last)
    );
    let parts = GainParts::between(first, last);
    if parts.is_mostly_format() {
        let [format, gain] = [parts.format, parts.gain()].map(|part| 100.0 * part);
        let _ = write!(text, "; {format:.1} of {gain:+.1} points of the pass rate are format");
    }
    text
}

#[cfg(test)]
mod tests {
    use whetstone_eval::Decoding;

    use super::*;

    /// 22.6 % of 45.2 % pass, then 29.5 % of 99 %: (99 - 45.2)·(22.6 + 29.5)/2 = 14.0 of 19.0 points.
    #[test]
    fn a_gain_by_more_replies_with_code_is_called_format() {
        let rates = |[code_rate, pass_rate]: [f64; 2]| CodeRates { code_rate, pass_rate };
        let of = |last| code_change(rates([0.452, 0.102]), rates(last));
        let format = "45.2 % -> 99.0 %, of which 22.6 % -> 29.5 % pass; 14.0 of +19.0 points of the pass rate are format";
        assert_eq!(of([0.99, 0.292]), format);
        assert_eq!(of([0.5, 0.3]), "45.2 % -> 50.0 %, of which 22.6 % -> 60.0 % pass");
        assert_eq!(of([0.0, 0.0]), "45.2 % -> 0.0 %, of which 22.6 % -> - pass");
    }

    #[test]
    fn a_gain_names_the_temperature_of_each_side() {
        let side = |value| Estimate { value, low: 0.0, high: 1.0, tasks: 9, left_out: 0 };
        let difference =
            Difference { value: 0.09, low: 0.01, high: 0.17, tasks: 9, left_out: 0, p: 0.01 };
        let gain = Compared { before: side(0.49), after: side(0.58), difference };
        let better =
            BetterTemperature { before: Decoding::GREEDY, after: Decoding::at(0.6).unwrap(), gain };
        let expected = "at the better temperature of each side: A (greedy) 49.0 % -> B (T=0.6) 58.0 %, \
                        +9.0 points [+1.0, +17.0]  better";
        assert_eq!(better_temperature(&better, Sides::LETTERS, Printer::new(true)), expected);
    }

    #[test]
    fn a_difference_is_told_with_what_it_means() {
        let of = |value, low, high| Difference { value, low, high, tasks: 9, left_out: 0, p: 0.01 };
        assert_eq!(judged(&of(0.187, 0.139, 0.236)), ("better", Tone::Good));
        assert_eq!(judged(&of(-0.1, -0.2, -0.05)), ("worse", Tone::Bad));
        assert_eq!(judged(&of(0.1, -0.01, 0.2)).0, "no clear difference");
        let same = judged(&of(0.0, 0.0, 0.0));
        assert_eq!(same, ("no task differs: too little to say", Tone::Doubtful));
        assert_eq!(judged(&of(0.0, -0.1, 0.1)).0, "no clear difference", "some differ");
        let lower = of(-0.1, -0.2, -0.05);
        assert_eq!(judged_figure(Figure::Diversity, &lower).0, "lower");
        assert_eq!(judged_figure(Figure::Quality, &lower).0, "worse");
        assert_eq!(judged_mean("turns", &lower).0, "lower");
        assert_eq!(judged_mean(REWARD, &lower).0, "worse");
        assert_eq!(judged_mean("phaser/unknown_api_rate", &lower), ("better", Tone::Good));
        assert_eq!(judged_mean("phaser/checks_passed", &lower).0, "worse");
    }
}
