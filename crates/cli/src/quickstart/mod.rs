//! `whet quickstart`: the whole pipeline, small, on what ships with `whet`.

mod args;
mod rlhf;
#[cfg(test)]
mod sample_report;
mod solver;
mod staged;
mod summary;

use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::quickstart;

pub use self::args::QuickstartArgs;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::observer::dry_run;
use crate::printer::Printer;
use crate::train::stop;

/// Runs the pipeline.
pub(crate) fn run(args: &QuickstartArgs, printer: Printer) -> anyhow::Result<Exit> {
    if let Some(recipe) = args.recipe.staged() {
        return staged::run(args, recipe, printer);
    }
    let stop = stop::on_signal(printer);
    match quickstart::run(&args.request(), &stop, &printer)? {
        Outcome::Planned(plan) => return dry_run(&plan, args.json, printer),
        Outcome::Done(Ok(report)) if args.json => printer.json(&report)?,
        Outcome::Done(Ok(report)) => {
            printer.raw(&summary::text(&report, printer))?;
            printer.note("the same training by its own command:");
            NextCommand::given(&report.next).say(printer);
        }
        Outcome::Done(Err(stopped)) => {
            if args.json {
                printer.json(&stopped)?;
            }
            let resume = &stopped.resume;
            printer
                .note(format_args!("stopped; completed phases are kept, resume with `{resume}`"));
            return Ok(Exit::Stopped);
        }
    }
    Ok(Exit::Done)
}
