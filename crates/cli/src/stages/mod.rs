//! `whet run`: the stages of a file, one after another.

mod args;
mod summary;

use std::path::Path;
use std::sync::Arc;

use whetstone_recipe::stages::{self, StagesOutcome, StopFlags};

pub use self::args::StagesArgs;
use crate::exit::Exit;
use crate::next::board_of;
use crate::printer::Printer;
use crate::train::stop;

/// Runs the stages.
pub(crate) fn run(args: &StagesArgs, printer: Printer) -> anyhow::Result<Exit> {
    let at_once = Arc::default();
    let stop = stop::on_signal_unless(printer, Arc::clone(&at_once));
    let flags = StopFlags { stop: &stop, at_once: &at_once };
    match stages::run(&args.request()?, flags, &printer)? {
        StagesOutcome::Planned(plan) if args.json => printer.json(&plan)?,
        StagesOutcome::Planned(plan) => printer.raw(&plan.text())?,
        StagesOutcome::Ran(end) => {
            if args.json {
                printer.json(&end)?;
            } else {
                printer.raw(&summary::text(&end))?;
                if end.done {
                    board_of(Path::new(&end.run)).say(printer);
                }
            }
            if end.stopped {
                let file = args.file.display();
                printer.note(format_args!("stopped; resume with `whet run {file}`"));
                return Ok(Exit::Stopped);
            }
        }
    }
    Ok(Exit::Done)
}
