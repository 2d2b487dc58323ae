//! Figures of episodes as a person reads them.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use whetstone_eval::episodes::{Episodes, LabelledMean, TURNS, labelled};
use whetstone_eval::{Comparison, Part, Results};
use whetstone_recipe::text::{any_change, any_mean, counted, estimate, many, plain, points};

use crate::figures::{Sides, judged, judged_mean};
use crate::printer::Printer;

/// Rows of a table of parts that are shown.
pub(super) const PARTS: usize = 20;

/// Values of `k` that a table shows beside the last; `--json` has the whole curve.
const SHOWN: [u32; 4] = [1, 2, 3, 5];

/// Means of a table of parts whose episodes have one turn.
const SINGLE_TURN_COLUMNS: usize = 5;

/// The table of a suite, if it has episodes.
pub(super) fn whole(text: &mut String, results: &Results) {
    let Some(episodes) = &results.episodes else { return };
    let title = format!("episodes of up to {}", many(episodes.max_turns.into(), "turn"));
    text.push('\n');
    let mut row = |label: &str, value: &str, tasks: &dyn Display| {
        let _ = writeln!(text, "  {:<28} {value:<24} {tasks:>6}", plain(label, 28));
    };
    row(&title, "mean over tasks", &"tasks");
    for (k, found) in shown(&episodes.solved_within) {
        row(&solved_within(*k), &estimate(found), &found.tasks);
    }
    for mean in told(&episodes.means, episodes.max_turns) {
        row(&mean.label, &any_mean(mean.value), &mean.value.tasks);
    }
}

/// The means that a table shows: not the turns of episodes that all have one.
fn told<T>(means: &BTreeMap<String, T>, max_turns: u32) -> Vec<LabelledMean<'_, T>> {
    let mut all = labelled(means);
    all.retain(|mean| mean.name != TURNS || max_turns > 1);
    all
}

/// A table of parts, if there is more than one and they have episodes: the reward and the turns, or where all have one
/// turn, the first facts of the environment.
pub(super) fn by(text: &mut String, name: &str, parts: &BTreeMap<String, Part>) {
    let episodes: BTreeMap<&String, &Episodes> =
        parts.iter().filter_map(|(name, part)| Some((name, part.episodes.as_ref()?))).collect();
    let Some(first) = episodes.values().next().filter(|_| parts.len() > 1) else { return };
    let ends: Vec<u32> = ends(&first.solved_within);
    let most = episodes.values().map(|found| found.max_turns).max().unwrap_or(0);
    let columns = columns(episodes.values().copied(), most);
    let _ = write!(text, "\n  {name:<16}");
    let within = ends.iter().map(|&k| solved_within(k));
    for title in within.chain(columns.iter().map(|(_, label)| plain(label, 24))) {
        let _ = write!(text, "  {title:<24}");
    }
    for (name, found) in episodes.iter().take(PARTS) {
        text.truncate(text.trim_end().len());
        let _ = write!(text, "\n  {:<16}", plain(name, 16));
        let within = ends.iter().map(|k| found.solved_within.get(k).map(estimate));
        let means = columns.iter().map(|(name, _)| found.means.get(name).map(any_mean));
        for value in within.chain(means) {
            let _ = write!(text, "  {:<24}", value.unwrap_or_else(|| "-".to_owned()));
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}

/// The means that the columns of a table of parts show, by name and label.
#[expect(clippy::zero_sized_map_values, reason = "`told` takes the names of a map of any values")]
fn columns<'e>(parts: impl Iterator<Item = &'e Episodes>, max_turns: u32) -> Vec<(String, String)> {
    let names: BTreeMap<String, ()> =
        parts.flat_map(|part| part.means.keys()).map(|name| (name.clone(), ())).collect();
    let all = told(&names, max_turns).into_iter();
    let named = all.map(|mean| (mean.name.to_owned(), mean.label));
    named.take(if max_turns > 1 { 2 } else { SINGLE_TURN_COLUMNS }).collect()
}

/// The table of a comparison, if both sides have episodes.
pub(crate) fn compared(text: &mut String, comparison: &Comparison, sides: Sides, printer: Printer) {
    let Some(episodes) = &comparison.episodes else { return };
    let Sides { before, after, difference } = sides;
    let _ = writeln!(text, "\n  {:<24} {before:<24} {after:<24} {difference:<28} p", "episodes");
    for (k, found) in shown(&episodes.solved_within) {
        let (word, tone) = judged(&found.difference);
        let cells = [estimate(&found.before), estimate(&found.after), points(&found.difference)];
        let end = format!("{:.4}  {}", found.difference.p, printer.toned(word, tone));
        row(text, &solved_within(*k), &cells, &end);
    }
    for mean in told(&episodes.means, episodes.max_turns) {
        let found = mean.value;
        let (word, tone) = judged_mean(mean.name, &found.difference);
        let cells =
            [any_mean(&found.before), any_mean(&found.after), any_change(&found.difference)];
        let end = format!("{:.4}  {}", found.difference.p, printer.toned(word, tone));
        row(text, &mean.label, &cells, &end);
    }
}

fn row(text: &mut String, label: &str, cells: &[String; 3], end: &str) {
    let [before, after, change] = cells;
    let label = plain(label, 24);
    let _ = writeln!(text, "  {label:<24} {before:<24} {after:<24} {change:<28} {end}");
}

/// `solved within 3 turns`.
fn solved_within(k: u32) -> String {
    format!("solved within {}", counted(k as usize, "turn"))
}

/// The points of a curve that a table shows.
fn shown<T>(curve: &BTreeMap<u32, T>) -> impl Iterator<Item = (&u32, &T)> {
    let last = curve.keys().last().copied();
    let is_shown = move |k: &u32| SHOWN.contains(k) || k.is_multiple_of(10) || Some(*k) == last;
    curve.iter().filter(move |(k, _)| is_shown(k))
}

/// The first and the last `k` of a curve.
fn ends<T>(curve: &BTreeMap<u32, T>) -> Vec<u32> {
    let (first, last) = (curve.keys().next(), curve.keys().last());
    let mut ends: Vec<u32> = first.into_iter().chain(last).copied().collect();
    ends.dedup();
    ends
}

#[cfg(test)]
mod tests {
    use whetstone_eval::Estimate;

    use super::*;

    fn figure(value: f64) -> Estimate {
        Estimate { value, low: value - 0.04, high: value + 0.04, tasks: 30, left_out: 0 }
    }

    fn episodes() -> Episodes {
        let solved_within = (1..=10).map(|k| (k, figure(0.07 * f64::from(k)))).collect();
        let means = [("reward", 0.4), ("turns", 6.5), ("solver/invalid", 1.25)];
        let means = means.map(|(name, value)| (name.to_owned(), figure(value))).into();
        Episodes { max_turns: 10, solved_within, means }
    }

    fn results() -> Results {
        let part = |tasks| Part { tasks, episodes: Some(episodes()), ..Part::default() };
        let by_source = [("solver/transport", 20), ("solver/\u{1b}[31m", 10)];
        Results {
            episodes: Some(episodes()),
            by_source: by_source.map(|(name, tasks)| (name.to_owned(), part(tasks))).into(),
            ..Results::default()
        }
    }

    const TABLE: &str = "

  episodes of up to 10 turns   mean over tasks           tasks
  solved within 1 turn         7.0 % [3.0, 11.0]            30
  solved within 2 turns        14.0 % [10.0, 18.0]          30
  solved within 3 turns        21.0 % [17.0, 25.0]          30
  solved within 5 turns        35.0 % [31.0, 39.0]          30
  solved within 10 turns       70.0 % [66.0, 74.0]          30
  reward                       0.400 [0.360, 0.440]         30
  turns                        6.500 [6.460, 6.540]         30
  invalid actions              1.250 [1.210, 1.290]         30
";

    #[test]
    fn parts_of_one_turn_have_the_facts_of_the_environment_instead_of_the_turns() {
        let means = [("reward", 0.4), ("turns", 1.0), ("phaser/checks_passed", 0.25)];
        let means = means.map(|(name, value)| (name.to_owned(), figure(value))).into();
        let solved_within = [(1, figure(0.07))].into();
        let episodes = Episodes { max_turns: 1, solved_within, means };
        let part = || Part { tasks: 9, episodes: Some(episodes.clone()), ..Part::default() };
        let parts = ["phaser/a", "phaser/b"].map(|name| (name.to_owned(), part())).into();
        let results =
            Results { episodes: Some(episodes.clone()), by_source: parts, ..Results::default() };
        let mut text = String::new();
        whole(&mut text, &results);
        by(&mut text, "source", &results.by_source);
        assert!(text.contains("checks passed") && !text.contains("turns"), "{text}");
        let expected = "  phaser/b          7.0 % [3.0, 11.0]         0.400 [0.360, 0.440]      0.250 [0.210, 0.290]";
        assert_eq!(text.lines().last().unwrap(), expected);
    }

    #[test]
    fn episodes_are_a_curve_and_means_and_nothing_speaks_to_the_terminal() {
        let (results, mut text) = (results(), "intervals\n".to_owned());
        whole(&mut text, &results);
        by(&mut text, "source", &results.by_source);
        assert!(text.contains(TABLE), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        let row = text.lines().rfind(|line| line.contains("solver/transp")).unwrap();
        let expected = "  solver/transport  7.0 % [3.0, 11.0]         70.0 % [66.0, 74.0]       \
                        0.400 [0.360, 0.440]      6.500 [6.460, 6.540]";
        assert_eq!(row, expected);
    }
}
