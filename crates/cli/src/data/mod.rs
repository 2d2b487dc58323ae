//! `whet data`: tasks in, tasks that can be trusted out.

mod prepare;
mod validate;

use clap::Subcommand;

use self::prepare::PrepareArgs;
use self::validate::ValidateArgs;
use crate::exit::Exit;
use crate::printer::Printer;

/// `whet data …`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Make `train.jsonl` and `val.jsonl` out of data sets
    ///
    /// Reads MBPP, APPS, HumanEval, LeetCode and files of tasks, drops bad rows and duplicates, splits each
    /// source by the seed, and says what became of every row.
    Prepare(PrepareArgs),
    /// Prove every task: its reference passes its tests, and no trivial answer does
    ///
    /// Runs the reference of each task several times, and answers that solve nothing (constants,
    /// the first argument, the empty program, a hard-coded first test, wrong answers that the
    /// program calls right). Tasks that are not proven are set apart with the reason.
    Validate(ValidateArgs),
}

/// Runs one of them.
pub(crate) fn run(command: &DataCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        DataCommand::Prepare(args) => prepare::run(args, printer),
        DataCommand::Validate(args) => validate::run(args, printer),
    }
}
