//! `whet data check`: files in, what they are and what is wrong with their lines out.

mod args;
mod text;

use whetstone_recipe::checking::{self, CheckReport, FileKind};

pub(super) use self::args::CheckArgs;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::{Printer, Tone};

/// Checks files.
pub(crate) fn run(args: &CheckArgs, printer: Printer) -> anyhow::Result<Exit> {
    let report = checking::check(&args.request());
    if args.json {
        printer.json(&report)?;
    } else {
        printer.raw(&text::text(&report, printer))?;
        if let Some(next) = next(&report) {
            next.say(printer);
        }
    }
    for file in &report.unreadable {
        let error = printer.toned_talk("error", Tone::Bad);
        printer.talk(format_args!("{error}: {}: {}", file.file.display(), file.problem));
        printer.talk(format_args!("  {}: {}", printer.toned_talk("hint", Tone::Hint), file.hint));
    }
    Ok(ending(&report))
}

/// What reads a file that is right.
fn next(report: &CheckReport) -> Option<NextCommand> {
    let [file] = report.files.as_slice() else { return None };
    let words = match file.kind? {
        FileKind::Tasks => "data validate",
        FileKind::Traces => "train sft --run sft-1 --traces",
        FileKind::Rows => "train sft --run sft-1 --rows",
        FileKind::Scored => "data pairs --rollouts",
        FileKind::Pairs => "train rm --run rm-1 --pairs",
        FileKind::OtherPairs => "data pairs --pairs",
        FileKind::PromptSeeds => "data prompts --prompt-seeds",
        FileKind::Settings => "config check",
        FileKind::Stages => "run --dry-run",
        FileKind::Rollouts | FileKind::Rejected | FileKind::Events | FileKind::Results => {
            return None;
        }
    };
    file.is_right().then(|| NextCommand::whet(words).path(&file.file))
}

/// The exit code: 2 if a file could not be read, 1 if something is wrong.
fn ending(report: &CheckReport) -> Exit {
    match (report.unreadable.is_empty(), report.is_right()) {
        (false, _) => Exit::Usage,
        (true, false) => Exit::No,
        (true, true) => Exit::Done,
    }
}
