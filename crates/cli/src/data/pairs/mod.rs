//! `whet data pairs`: judged replies in, preference pairs out.

mod args;
mod table;

use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::pairs;

pub(super) use self::args::PairsArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::observer::dry_run;
use crate::printer::Printer;

/// Makes pairs.
pub(crate) fn run(args: &PairsArgs, printer: Printer) -> anyhow::Result<Exit> {
    let mut config = load(&args.config)?.config;
    config.seed = args.seed.unwrap_or(config.seed);
    match pairs::run(&args.request(), &config, &printer)? {
        Outcome::Planned(plan) => dry_run(&plan, args.json, printer),
        Outcome::Done(summary) => {
            if args.json {
                printer.json(&summary)?;
            } else {
                printer.raw(&table::text(&summary, args, printer))?;
                next(args).say(printer);
            }
            Ok(Exit::Done)
        }
    }
}

fn next(args: &PairsArgs) -> NextCommand {
    let train = NextCommand::whet("train rm --run rm-1 --pairs").path(&args.out);
    match &args.out_val {
        Some(held_out) => train.words("--held-out-pairs").path(held_out),
        None => train,
    }
}
