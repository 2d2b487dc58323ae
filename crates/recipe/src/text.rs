//! Counts, times, figures and foreign text as people read them.

use whetstone_eval::{Difference, Estimate, Figure};

/// `1 problem`, `2 problems`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Like [`counted`], for the counts of reports.
pub fn many(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// `12.3 % [8.0, 16.9]`.
pub fn estimate(estimate: &Estimate) -> String {
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(|part| 100.0 * part);
    format!("{value:.1} % [{low:.1}, {high:.1}]")
}

/// `+18.7 points [+13.9, +23.6]`.
pub fn points(difference: &Difference) -> String {
    let [value, low, high] =
        [difference.value, difference.low, difference.high].map(|part| 100.0 * part);
    format!("{value:+.1} points [{low:+.1}, {high:+.1}]")
}

/// A figure of programs: `95.0 % [92.1, 97.0]`, `7.51 [7.20, 7.83]`, `0.412 [0.380, 0.441]`.
pub fn figure(figure: Figure, found: &Estimate) -> String {
    let Estimate { value, low, high, .. } = found;
    match figure {
        Figure::SyntaxRate | Figure::TestsPassed => estimate(found),
        Figure::Quality => format!("{value:.2} [{low:.2}, {high:.2}]"),
        Figure::Diversity | Figure::DiversityPassing => {
            format!("{value:.3} [{low:.3}, {high:.3}]")
        }
    }
}

/// The change of a figure of programs: `+3.1 points [+1.0, +5.2]`, `+0.51 [+0.20, +0.83]`.
pub fn figure_change(figure: Figure, found: &Difference) -> String {
    let Difference { value, low, high, .. } = found;
    match figure {
        Figure::SyntaxRate | Figure::TestsPassed => points(found),
        Figure::Quality => format!("{value:+.2} [{low:+.2}, {high:+.2}]"),
        Figure::Diversity | Figure::DiversityPassing => {
            format!("{value:+.3} [{low:+.3}, {high:+.3}]")
        }
    }
}

/// A mean of values of any size: `3.213 [3.010, 3.421]`.
pub fn any_mean(found: &Estimate) -> String {
    let Estimate { value, low, high, .. } = found;
    format!("{value:.3} [{low:.3}, {high:.3}]")
}

/// The change of such a mean: `-1.250 [-1.801, -0.700]`.
pub fn any_change(found: &Difference) -> String {
    let Difference { value, low, high, .. } = found;
    format!("{value:+.3} [{low:+.3}, {high:+.3}]")
}

/// A percentage; 0 of 0 is 0.
#[expect(clippy::cast_precision_loss, reason = "a share of counts far below 2^53")]
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// A rate with three significant digits or, of a thousand and more, in whole numbers: `0.0033`, `0.17`, `1.50`, `17.2`,
/// `1719`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        99.95.. => format!("{per_second:.0}"),
        9.995.. => format!("{per_second:.1}"),
        0.0995.. => format!("{per_second:.2}"),
        0.00995.. => format!("{per_second:.3}"),
        0.0 => "0".to_owned(),
        _ => format!("{per_second:.4}"),
    }
}

/// A time as people say it: `41 s`, `12 min`, `1.7 h`, `9 h`, `2.5 days`.
pub fn duration(seconds: f64) -> String {
    // A sum of nothing is -0.
    let seconds = seconds.max(0.0) + 0.0;
    let (minutes, hours) = (seconds / 60.0, seconds / 3600.0);
    let told = match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{minutes:.0} min"),
        ..36_000.0 => format!("{hours:.1} h"),
        ..172_800.0 => format!("{hours:.0} h"),
        _ => format!("{:.1} days", hours / 24.0),
    };
    told.replace(".0 ", " ")
}

/// Untrusted text for one line of a table: truncated, and without control characters.
pub fn plain(text: &str, most: usize) -> String {
    let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut shown: String = text.chars().take(most).map(printable).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_its_interval_and_a_difference_its_sign() {
        let better =
            Difference { value: 0.187, low: 0.139, high: 0.236, tasks: 9, left_out: 0, p: 0.01 };
        assert_eq!(points(&better), "+18.7 points [+13.9, +23.6]");
        let found = Estimate { value: 0.123, low: 0.08, high: 0.169, tasks: 9, left_out: 0 };
        assert_eq!(estimate(&found), "12.3 % [8.0, 16.9]");
    }

    #[test]
    fn a_rate_has_as_many_digits_as_mean_something() {
        let told = [0.166_66, 1.5, 17.1915, 171.915, 1_719.15].map(rate);
        assert_eq!(told, ["0.17", "1.50", "17.2", "172", "1719"]);
        let told = [0.0, 0.003_33, 0.03, 0.099_9, 9.996, 99.96].map(rate);
        assert_eq!(told, ["0", "0.0033", "0.030", "0.10", "10.0", "100"]);
    }

    #[test]
    fn a_time_has_the_unit_that_people_would_use() {
        let told =
            [0.4, 41.0, 89.0, 90.0, 5399.0, 6000.0, 32_400.0, 90_000.0, 216_000.0].map(duration);
        let expected =
            ["0 s", "41 s", "89 s", "2 min", "90 min", "1.7 h", "9 h", "25 h", "2.5 days"];
        assert_eq!(told, expected);
    }

    #[test]
    fn text_of_others_cannot_speak_to_the_terminal() {
        assert_eq!(plain("\u{1b}[31mred\n", 40), "\u{fffd}[31mred\u{fffd}");
        assert_eq!(plain(&"x".repeat(50), 3), "xxx…");
    }
}
