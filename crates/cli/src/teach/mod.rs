//! `whet teach`: tasks in, traces of a teacher out, each with the judge's verdict.

mod args;
mod connection;
mod summary;

use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::teaching;
use whetstone_rollout::teach::TeachSummary;

pub use self::args::{TeachArgs, TeacherArg};
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::observer::dry_run;
use crate::printer::Printer;

/// Collects traces.
pub(crate) fn run(args: &TeachArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    if args.test_connection {
        return connection::test(&config, args.json, printer);
    }
    match teaching::run(&args.request(), &config, &printer)? {
        Outcome::Planned(plan) => dry_run(&plan, args.json, printer),
        Outcome::Done(report) => {
            if args.json {
                printer.json(&report)?;
            } else {
                summary::print(&report, args, printer)?;
                if is_trainable(&report, args) {
                    next(args).say(printer);
                }
            }
            Ok(ending(&report, args.strict))
        }
    }
}

/// Whether there is anything to train on.
fn is_trainable(report: &TeachSummary, args: &TeachArgs) -> bool {
    match &args.rows {
        Some(_) => report.rows > 0,
        None => report.passing > 0 || report.not_run > 0,
    }
}

/// Training on what was written.
fn next(args: &TeachArgs) -> NextCommand {
    match &args.rows {
        Some(rows) => NextCommand::whet("train sft --run sft-1 --rows").path(rows),
        None => NextCommand::whet("train sft --run sft-1 --traces").path(&args.out),
    }
}

/// The exit code: 1 if a sample has no answer or no verdict.
fn ending(report: &TeachSummary, strict: bool) -> Exit {
    let nothing = report.tasks > 0 && report.responses == 0;
    let unjudged = report.is_incomplete() || report.broken_tests > 0;
    let lacking = strict && report.without_trace > 0;
    if unjudged || nothing || lacking { Exit::No } else { Exit::Done }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_without_an_answer_or_a_verdict_is_an_answer_of_no() {
        let end = |failed, unjudged, without_trace, strict| {
            let (tasks, responses) = (9, 5);
            let report = TeachSummary {
                tasks,
                responses,
                failed,
                unjudged,
                without_trace,
                ..TeachSummary::default()
            };
            ending(&report, strict)
        };
        assert_eq!(end(0, 0, 0, true), Exit::Done);
        assert_eq!(end(1, 0, 0, false), Exit::No);
        assert_eq!(end(0, 1, 0, false), Exit::No);
        assert_eq!(end(0, 0, 1, false), Exit::Done, "the embedded teacher has not all");
        assert_eq!(end(0, 0, 1, true), Exit::No);
        assert_eq!(ending(&TeachSummary { tasks: 1, ..TeachSummary::default() }, false), Exit::No);
        let broken =
            TeachSummary { tasks: 1, responses: 1, broken_tests: 1, ..TeachSummary::default() };
        assert_eq!(ending(&broken, false), Exit::No);
    }
}
