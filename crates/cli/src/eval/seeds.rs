//! `whet eval compare --seeds`: evaluations of several seeds of training on both sides.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use whetstone_eval::{
    BetterOverSeeds, Decoding, NamedResults, OverSeeds, Results, SeedComparison, SeedInterval,
};
use whetstone_recipe::text::plain;

use super::args::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Tone};

/// Width of the column that a difference stands in.
const DIFFERENCE: usize = 34;

/// Compares.
pub(super) fn run(args: &CompareArgs, printer: Printer) -> anyhow::Result<Exit> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let comparison = SeedComparison::new(&before, &after, &args.k).map_err(Failure::Eval)?;
    if args.json {
        printer.json(&comparison)?;
    } else {
        printer.raw(&text(&comparison, printer))?;
    }
    Ok(Exit::Done)
}

/// The evaluations of one side.
fn read(list: &Path) -> Result<Vec<NamedResults>, Failure> {
    let list = list.display().to_string();
    let named = |name: &str| {
        let results = Results::read(&PathBuf::from(name)).map_err(Failure::Eval)?;
        Ok(NamedResults { name: name.to_owned(), results })
    };
    list.split(',').filter(|name| !name.is_empty()).map(named).collect()
}

fn text(comparison: &SeedComparison, printer: Printer) -> String {
    let mut text = String::new();
    for (letter, side) in [("A", &comparison.before), ("B", &comparison.after)] {
        let names: Vec<String> = side.iter().map(|name| plain(name, 100)).collect();
        let _ = writeln!(text, "{letter}  {}", names.join(", "));
    }
    let (seeds, tasks) = (comparison.before.len(), comparison.tasks);
    let _ = writeln!(text, "{seeds} seeds, paired in this order, on {tasks} tasks; 95 % intervals");
    for (name, values) in &comparison.settings {
        let values = values.iter().map(|value| plain(value.as_deref().unwrap_or("not set"), 40));
        let values = values.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "other settings: {} is {values}", plain(name, 40));
    }
    if !comparison.same_suite {
        let word = printer.toned("other tests", Tone::Bad);
        let _ = writeln!(text, "{word}: the tasks have the same names, and are not the same");
    }
    let _ = writeln!(text, "\n  {:<8} {:<9} {:<9} B - A", "", "A", "B");
    for (k, found) in &comparison.pass_at_k {
        figure(&mut text, &format!("pass@{k}"), found, printer);
    }
    if let Some(greedy) = &comparison.greedy {
        figure(&mut text, "greedy", greedy, printer);
    }
    for (decoding, found) in &comparison.by_temperature {
        let is_own =
            comparison.decoding == Some(*decoding) && comparison.pass_at_k.contains_key(&1);
        let is_greedy = *decoding == Decoding::GREEDY && comparison.greedy.is_some();
        if !is_own && !is_greedy {
            figure(&mut text, &decoding.to_string(), found, printer);
        }
    }
    if let Some(BetterOverSeeds { before, after, gain }) = &comparison.better_temperature {
        let _ = writeln!(
            text,
            "\n  at the better temperature of each side over its seeds: A ({before}), B ({after})"
        );
        figure(&mut text, "pass@1", gain, printer);
    }
    text
}

/// A line for each seed, the mean with the interval over seeds, and the interval over seeds and tasks.
fn figure(text: &mut String, name: &str, found: &OverSeeds, printer: Printer) {
    let share = |value: f64| format!("{:.1} %", 100.0 * value);
    let points = |value: f64| format!("{:+.1} points", 100.0 * value);
    for (at, seed) in found.by_seed.iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        let (before, after) = (share(seed.before), share(seed.after));
        let _ = writeln!(text, "  {name:<8} {before:<9} {after:<9} {}", points(seed.difference));
    }
    let value = points(found.value);
    let over_seeds = found.over_seeds.map_or_else(
        || format!("{value}, all seeds alike"),
        |interval| format!("{value} {}", ends(interval)),
    );
    let (word, tone) = judged(found);
    let word = printer.toned(word, tone);
    let width = DIFFERENCE;
    let _ = writeln!(text, "    mean, over seeds          {over_seeds:<width$} {word}");
    let both = format!("{value} {}", ends(found.over_seeds_and_tasks));
    let _ = writeln!(text, "    mean, over seeds and tasks {both}");
    if found.left_out > 0 {
        let _ =
            writeln!(text, "    tasks left out, with too few judged samples: {}", found.left_out);
    }
}

fn ends(SeedInterval { low, high }: SeedInterval) -> String {
    format!("[{:+.1}, {:+.1}]", 100.0 * low, 100.0 * high)
}

fn judged(found: &OverSeeds) -> (&'static str, Tone) {
    match (found.over_seeds, found.is_clear(), found.value > 0.0) {
        (None, ..) => ("too little to say", Tone::Doubtful),
        (_, true, true) => ("better", Tone::Good),
        (_, true, false) => ("worse", Tone::Bad),
        (_, false, _) => ("no clear difference", Tone::Doubtful),
    }
}
