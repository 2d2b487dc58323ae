//! `whet train …`: a student, its training data, and a run that records everything.

mod args;
mod closing;
mod ended;
mod help;
pub(crate) mod stop;
pub(crate) mod view;

use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::training::{dpo, grpo, ppo, prm, rm, sft};

pub use self::args::TrainCommand;
use crate::exit::Exit;
use crate::observer::dry_run;
use crate::printer::Printer;

/// Trains.
pub(crate) fn run(command: &TrainCommand, printer: Printer) -> anyhow::Result<Exit> {
    let stop = stop::on_signal(printer);
    let (args, outcome) = match command {
        TrainCommand::Sft(args) => {
            (&args.run, sft::run(&args.run.request(), args.files(), &stop, &printer)?)
        }
        TrainCommand::Grpo(args) => {
            (&args.run, grpo::run(&args.request(), args.files(), &stop, &printer)?)
        }
        TrainCommand::Ppo(args) => {
            (&args.run, ppo::run(&args.request(), args.files(), &stop, &printer)?)
        }
        TrainCommand::Rm(args) => {
            (&args.run, rm::run(&args.run.request(), &args.files(), &stop, &printer)?)
        }
        TrainCommand::Dpo(args) => {
            (&args.run, dpo::run(&args.run.request(), &args.files(), &stop, &printer)?)
        }
        TrainCommand::Prm(args) => {
            (&args.run, prm::run(&args.run.request(), &args.files(), &stop, &printer)?)
        }
    };
    match outcome {
        Outcome::Planned(plan) => dry_run(&plan, args.json, printer),
        Outcome::Done(end) => ended::say(args, &end, printer),
    }
}
