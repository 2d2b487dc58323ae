//! `whet data validate`: tasks in, those that are proven out, and why the others are not.

mod args;
mod table;

use std::path::Path;

use whetstone_data::prepare::VAL;
use whetstone_data::prove::ProofSummary;
use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::validation;

pub(super) use self::args::ValidateArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::observer::dry_run;
use crate::printer::Printer;

/// Validates files.
pub(crate) fn run(args: &ValidateArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    match validation::run(&args.request(), &config, &printer)? {
        Outcome::Planned(plan) => dry_run(&plan, args.json, printer),
        Outcome::Done(report) => {
            if args.json {
                printer.json(&report)?;
            } else {
                printer.raw(&table::text(&report, args, printer))?;
                if report.total.proven > 0 {
                    next(args).say(printer);
                }
            }
            Ok(ending(&report, args.strict))
        }
    }
}

/// Proven tasks are kept first. Those for measuring are then measured on; the others are solved by a teacher: their
/// references are one without a server.
fn next(args: &ValidateArgs) -> NextCommand {
    let is_held_out =
        args.tasks.iter().all(|file| file.file_name().is_some_and(|name| name == VAL));
    if let (true, Some(out)) = (is_held_out, &args.out) {
        return NextCommand::whet("eval --tasks").path(out).words("--model MODEL --out eval/base");
    }
    if let Some(out) = &args.out {
        return NextCommand::whet("teach --teacher reference --tasks").path(out);
    }
    let tasks = args.tasks.iter();
    let validate = tasks.fold(NextCommand::whet("data validate"), |next, file| next.path(file));
    let beside = args.tasks.first().and_then(|file| file.parent()).unwrap_or(Path::new(""));
    let name = if is_held_out { "held-out.jsonl" } else { "proven.jsonl" };
    validate.words("--out").path(&beside.join(name))
}

/// The exit code. A task that could not be judged is an infrastructure failure.
fn ending(report: &ProofSummary, strict: bool) -> Exit {
    let total = &report.total;
    if total.failed > 0 {
        return Exit::Broken;
    }
    let nothing = total.tasks > 0 && total.proven == 0;
    if nothing || (strict && total.dropped > 0) { Exit::No } else { Exit::Done }
}

#[cfg(test)]
mod tests {
    use whetstone_data::prove::Counts;

    use super::*;

    #[test]
    fn a_task_that_could_not_be_judged_is_something_broken() {
        let end = |proven, dropped, failed, strict| {
            let tasks = proven + dropped + failed;
            let total = Counts { tasks, proven, dropped, failed, ..Counts::default() };
            ending(&ProofSummary { total, ..ProofSummary::default() }, strict)
        };
        assert_eq!(end(3, 0, 0, true), Exit::Done);
        assert_eq!(end(3, 1, 0, false), Exit::Done);
        assert_eq!(end(3, 1, 0, true), Exit::No);
        assert_eq!(end(0, 1, 0, false), Exit::No);
        assert_eq!(end(0, 0, 0, true), Exit::Done);
        assert_eq!(end(3, 1, 1, true), Exit::Broken);
    }
}
