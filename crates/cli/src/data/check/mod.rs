//! `whet data check`: files in, what they are and what is wrong with their lines out.

mod args;
mod text;

use whetstone_recipe::checking::{self, CheckReport};

pub(super) use self::args::CheckArgs;
use crate::exit::Exit;
use crate::printer::{Printer, Tone};

/// Checks files.
pub(crate) fn run(args: &CheckArgs, printer: Printer) -> anyhow::Result<Exit> {
    let report = checking::check(&args.request());
    if args.json {
        printer.json(&report)?;
    } else {
        printer.raw(&text::text(&report, printer))?;
    }
    for file in &report.unreadable {
        let error = printer.toned_talk("error", Tone::Bad);
        printer.talk(format_args!("{error}: {}: {}", file.file.display(), file.problem));
        printer.talk(format_args!("  {}: {}", printer.toned_talk("hint", Tone::Hint), file.hint));
    }
    Ok(ending(&report))
}

/// The exit code: 2 if a file could not be read, 1 if something is wrong.
fn ending(report: &CheckReport) -> Exit {
    match (report.unreadable.is_empty(), report.is_right()) {
        (false, _) => Exit::Usage,
        (true, false) => Exit::No,
        (true, true) => Exit::Done,
    }
}
