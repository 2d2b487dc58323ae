//! `whet eval`: a model and tasks in, pass@k with intervals and every sample out.

mod args;
mod code;
mod compare;
pub(crate) mod episodes;
mod seeds;
mod summary;

use std::sync::Arc;

use whetstone_eval::Results;
use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::evaluation;

pub use self::args::{CompareArgs, EvalArgs, EvalCommand, MeasureArgs};
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::observer::dry_run;
use crate::printer::Printer;
use crate::train::stop;

/// Measures, or compares.
pub(crate) fn run(args: &EvalArgs, printer: Printer) -> anyhow::Result<Exit> {
    match &args.command {
        Some(EvalCommand::Compare(args)) => compare::run(args, printer),
        None => measure(&args.measure, printer),
    }
}

fn measure(args: &MeasureArgs, printer: Printer) -> anyhow::Result<Exit> {
    // Scoring looks at no flag: it may be ended at any moment.
    let stop = if args.samples.is_some() { Arc::default() } else { stop::on_signal(printer) };
    match evaluation::run(&args.request(), &stop, &printer)? {
        Outcome::Planned(plan) => dry_run(&plan, args.json, printer),
        Outcome::Done(None) => {
            printer.note("stopped; judged samples are kept, and the same command resumes");
            Ok(Exit::Stopped)
        }
        Outcome::Done(Some(results)) => {
            if args.json {
                printer.json(&results)?;
            } else {
                printer.raw(&summary::text(&results, &args.out, printer))?;
                let report = NextCommand::whet("report").path(&args.out);
                report.words("--tasks").path(&args.tasks_file()).say(printer);
            }
            Ok(ending(&results))
        }
    }
}

/// The exit code: 1 if a sample was not judged.
fn ending(results: &Results) -> Exit {
    if results.errors + results.rejected > 0 { Exit::No } else { Exit::Done }
}
