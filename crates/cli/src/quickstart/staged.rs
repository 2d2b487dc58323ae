//! `whet quickstart` with a recipe in stages: runs it and prints its comparison.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use whetstone_recipe::quickstart::staged::{StagedOutcome, StagedRecipe, StagedReport};
use whetstone_recipe::stages::StopFlags;
use whetstone_recipe::text::duration;

use super::QuickstartArgs;
use super::args::Recipe;
use super::{rlhf, solver};
use crate::exit::Exit;
use crate::next::board_of;
use crate::printer::Printer;
use crate::train::stop;

/// Runs the stages and prints the comparison.
pub(super) fn run(
    args: &QuickstartArgs,
    recipe: &StagedRecipe,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let at_once = Arc::default();
    let stop = stop::on_signal_unless(printer, Arc::clone(&at_once));
    let flags = StopFlags { stop: &stop, at_once: &at_once };
    match recipe.run(&args.request(), flags, &printer)? {
        StagedOutcome::Planned(plan) if args.json => printer.json(&plan)?,
        StagedOutcome::Planned(plan) => printer.raw(&plan.text())?,
        StagedOutcome::Stopped(resume) => {
            printer
                .note(format_args!("stopped; completed stages are kept, resume with `{resume}`"));
            return Ok(Exit::Stopped);
        }
        StagedOutcome::Done(report) if args.json => printer.json(&report)?,
        StagedOutcome::Done(report) => {
            printer.raw(&text(args.recipe, &report, printer))?;
            board_of(Path::new(&report.run)).say(printer);
        }
    }
    Ok(Exit::Done)
}

fn text(recipe: Recipe, report: &StagedReport, printer: Printer) -> String {
    let mut text = match recipe {
        Recipe::Solver => solver::text(report, printer),
        Recipe::Rlhf | Recipe::Grpo => rlhf::text(report, printer),
    };
    times(&mut text, report);
    text
}

/// The time of each stage, and where everything is.
fn times(text: &mut String, report: &StagedReport) {
    let _ = writeln!(text, "\n  {:<10} {:>8}", "stage", "time");
    for stage in &report.stages {
        let _ = writeln!(text, "  {:<10} {:>8}", stage.name, duration(stage.seconds));
    }
    let _ = writeln!(text, "  {:<10} {:>8}", "all", duration(report.seconds));
    let _ = writeln!(text, "\n  run   {}", report.run);
    if let Some(page) = &report.page {
        let _ = writeln!(text, "  page  {page}");
    }
}
