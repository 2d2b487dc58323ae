//! `whet train …`: a student, its training data, and a run that records everything.

mod args;
pub(crate) mod begin;
pub(crate) mod dry_run;
mod ended;
pub(crate) mod grpo;
mod inputs;
mod left_out;
mod recorded;
pub(crate) mod sft;
pub(crate) mod stop;
pub(crate) mod view;

pub(crate) use self::args::RunArgs;
pub use self::args::TrainCommand;
use crate::exit::Exit;
use crate::printer::Printer;

/// Trains.
pub(crate) fn run(command: &TrainCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        TrainCommand::Sft(args) => sft::run(args, printer),
        TrainCommand::Grpo(args) => grpo::run(args, printer),
    }
}
