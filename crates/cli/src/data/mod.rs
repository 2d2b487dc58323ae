//! `whet data`: tasks in, tasks that can be trusted out.

mod prepare;

use clap::Subcommand;

use self::prepare::PrepareArgs;
use crate::exit::Exit;
use crate::printer::Printer;

/// `whet data …`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Make `train.jsonl` and `val.jsonl` out of data sets
    ///
    /// Reads MBPP, APPS, HumanEval and files of tasks, drops bad rows and duplicates, splits each
    /// source by the seed, and says what became of every row.
    Prepare(PrepareArgs),
}

/// Runs one of them.
pub(crate) fn run(command: &DataCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        DataCommand::Prepare(args) => prepare::run(args, printer),
    }
}
