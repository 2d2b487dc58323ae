//! `whet eval compare`: two evaluations beside each other.

use std::fmt::Write;

use whetstone_eval::{Compared, Comparison, Flipped, Results};
use whetstone_recipe::text::{estimate, figure, figure_change, plain, points};

use super::args::CompareArgs;
use super::code;
use super::episodes;
use super::seeds;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::figures::{Sides, better_reward, better_temperature, judged, judged_figure};
use crate::printer::{Printer, Tone};

/// Flipped tasks that are shown of each kind; `--json` has all.
const SHOWN: usize = 10;

/// Compares.
pub(super) fn run(args: &CompareArgs, printer: Printer) -> anyhow::Result<Exit> {
    if args.seeds {
        return seeds::run(args, printer);
    }
    let read = |path| Results::read(path).map_err(Failure::Eval);
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let comparison = Comparison::new(&before, &after, &args.k).map_err(Failure::Eval)?;
    if args.json {
        printer.json(&comparison)?;
    } else {
        printer.raw(&text(&comparison, args, printer))?;
    }
    Ok(Exit::Done)
}

fn text(comparison: &Comparison, args: &CompareArgs, printer: Printer) -> String {
    let mut text = String::new();
    let sides = [("A", &args.before, &comparison.before), ("B", &args.after, &comparison.after)];
    for (letter, path, model) in sides {
        let (path, model) = (plain(&path.display().to_string(), 100), plain(model, 100));
        let _ = writeln!(text, "{letter}  {path}: {model}");
    }
    let _ = writeln!(text, "{} tasks, paired; 95 % intervals", comparison.tasks);
    for (name, values) in &comparison.settings {
        let [before, after] =
            values.each_ref().map(|value| plain(value.as_deref().unwrap_or("not set"), 40));
        let _ = writeln!(text, "other settings: {} {before} in A, {after} in B", plain(name, 40));
    }
    text.push('\n');
    if !comparison.same_suite {
        let word = printer.toned("other tests", Tone::Bad);
        let _ = writeln!(text, "{word}: the tasks have the same names, and are not the same\n");
    }
    let _ = writeln!(text, "  {:<8} {:<24} {:<24} {:<30} p", "", "A", "B", "B - A");
    for (k, compared) in &comparison.pass_at_k {
        row(&mut text, &format!("pass@{k}"), compared, printer);
    }
    if let Some(greedy) = &comparison.greedy {
        row(&mut text, "greedy", greedy, printer);
    }
    for (decoding, compared) in comparison.at_other_temperatures() {
        row(&mut text, &decoding.to_string(), compared, printer);
    }
    if let Some(better) = &comparison.better_temperature {
        let _ = writeln!(text, "  {}", better_temperature(better, Sides::LETTERS, printer));
    }
    for (count, compared) in &comparison.best_of {
        row(&mut text, &format!("best/{count}"), compared, printer);
    }
    episodes::compared(&mut text, comparison, Sides::LETTERS, printer);
    if let Some(better) = &comparison.better_reward {
        let _ = writeln!(text, "  {}", better_reward(better, Sides::LETTERS, printer));
    }
    code::over_best_prompt(&mut text, comparison, printer);
    code::compared(&mut text, comparison, printer);
    programs(&mut text, comparison, printer);
    let left_out = comparison
        .pass_at_k
        .values()
        .map(|compared| compared.difference.left_out)
        .max()
        .unwrap_or(0);
    if left_out > 0 {
        let _ = writeln!(text, "  tasks left out, with too few judged samples: {left_out}");
    }
    flipped(&mut text, "gained", &comparison.gained);
    flipped(&mut text, "lost", &comparison.lost);
    text
}

fn row(text: &mut String, name: &str, compared: &Compared, printer: Printer) {
    let (word, tone) = judged(&compared.difference);
    let word = printer.toned(word, tone);
    let (before, after, change) =
        (estimate(&compared.before), estimate(&compared.after), points(&compared.difference));
    let p = compared.difference.p;
    let _ = writeln!(text, "  {name:<8} {before:<24} {after:<24} {change:<30} {p:.4}  {word}");
}

/// Figures of the programs; results from before there were any have none.
fn programs(text: &mut String, comparison: &Comparison, printer: Printer) {
    if comparison.figures.is_empty() && comparison.episodes.is_some() {
        return;
    }
    if comparison.figures.is_empty() {
        let _ = writeln!(
            text,
            "\n  syntax rate, tests, quality and diversity: not in both; measure again with `whet eval --fresh`"
        );
        return;
    }
    let _ = writeln!(text, "\n  {:<18} {:<22} {:<22} {:<28} p", "programs", "A", "B", "B - A");
    for (&name, compared) in &comparison.figures {
        let (word, tone) = judged_figure(name, &compared.difference);
        let word = printer.toned(word, tone);
        let (before, after) = (figure(name, &compared.before), figure(name, &compared.after));
        let (change, p) = (figure_change(name, &compared.difference), compared.difference.p);
        let _ = writeln!(
            text,
            "  {:<18} {before:<22} {after:<22} {change:<28} {p:.4}  {word}",
            name.label()
        );
    }
}

fn flipped(text: &mut String, name: &str, tasks: &[Flipped]) {
    let _ = writeln!(text, "\n  {name}: {}", tasks.len());
    for Flipped { id, before, after } in tasks.iter().take(SHOWN) {
        let counts = format!("{}/{} -> {}/{}", before.0, before.1, after.0, after.1);
        let _ = writeln!(text, "    {counts:<16} {id}");
    }
    let more = tasks.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "    and {more} more; `--json` has all");
    }
}
