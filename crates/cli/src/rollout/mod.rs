//! `whet rollout`: tasks in, replies out, of a model or of planted quality.

mod args;
mod summary;

use whetstone_core::Seed;
use whetstone_data::phaser::mock::{MockRollouts, write_mock_rollouts};
use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::rollouts;
use whetstone_recipe::text::counted;
use whetstone_rollout::sample::SampleSummary;

pub use self::args::RolloutArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::next::NextCommand;
use crate::observer::dry_run;
use crate::printer::Printer;
use crate::train::stop;

/// Tasks that mock rollouts are drawn for, unless others are asked for.
const MOCK_PROMPTS: u32 = 8;

/// Writes rollouts.
pub(crate) fn run(args: &RolloutArgs, printer: Printer) -> anyhow::Result<Exit> {
    if args.mock {
        return mock(args, printer);
    }
    if args.model.is_none() && args.server.is_none() {
        return Err(Failure::Usage {
            problem: "nobody is named to answer the tasks",
            hint: "name a model with `--model`, or a server with `--server`; `--mock` writes replies of planted quality",
        }
        .into());
    }
    sampled(args, printer)
}

/// Replies of a model.
fn sampled(args: &RolloutArgs, printer: Printer) -> anyhow::Result<Exit> {
    let stop = stop::on_signal(printer);
    match rollouts::run(&args.request(), &stop, &printer)? {
        Outcome::Planned(plan) => dry_run(&plan, args.json, printer),
        Outcome::Done(None) => {
            printer.note("stopped; finished replies are kept, and the same command resumes");
            Ok(Exit::Stopped)
        }
        Outcome::Done(Some(found)) => {
            if args.json {
                printer.json(&found)?;
            } else {
                printer.raw(&summary::sampled(&found))?;
                next(args).say(printer);
            }
            Ok(ending(&found))
        }
    }
}

fn next(args: &RolloutArgs) -> NextCommand {
    NextCommand::whet("score").path(&args.out).words("--prompts").path(&args.prompts)
}

/// The exit code: 1 if a reply is missing.
fn ending(found: &SampleSummary) -> Exit {
    if found.missing + found.too_long > 0 { Exit::No } else { Exit::Done }
}

/// Replies of planted quality.
fn mock(args: &RolloutArgs, printer: Printer) -> anyhow::Result<Exit> {
    let mock = MockRollouts {
        prompts: &args.prompts,
        out: &args.out,
        step: args.step,
        num_prompts: args.num_prompts.unwrap_or(MOCK_PROMPTS) as usize,
        group_size: args.group_size as usize,
        seed: Seed::new(args.seed),
    };
    let summary = write_mock_rollouts(&mock).map_err(Failure::Prompts)?;
    if args.json {
        printer.json(&summary)?;
    } else {
        printer.raw(&summary::mock(&summary))?;
        next(args).say(printer);
    }
    if summary.without_reference > 0 {
        let tasks = counted(summary.without_reference, "task");
        printer
            .warning(format_args!("{tasks} without a reference program: no reply to them is good"));
    }
    Ok(Exit::Done)
}
