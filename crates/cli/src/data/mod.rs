//! `whet data`: tasks in, tasks that can be trusted out.

mod check;
mod filter;
mod pairs;
mod prepare;
mod prompts;
mod test_generation;
mod traces;
mod validate;

use clap::Subcommand;

use self::check::CheckArgs;
use self::filter::FilterArgs;
use self::pairs::PairsArgs;
use self::prepare::PrepareArgs;
use self::prompts::PromptsArgs;
use self::test_generation::TestsArgs;
use self::traces::TracesArgs;
use self::validate::ValidateArgs;
use crate::exit::Exit;
use crate::printer::Printer;

/// `whet data …`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Make `train.jsonl`, `dev.jsonl` and `val.jsonl` out of data sets
    ///
    /// Reads MBPP, APPS, HumanEval, LeetCode and files of tasks, drops bad rows and duplicates, splits each
    /// source as published or by the seed, and says what became of every row.
    Prepare(Box<PrepareArgs>),
    /// Prove every task: its reference passes its tests, and no trivial answer does
    ///
    /// Runs the reference of each task several times, and answers that solve nothing (constants,
    /// the first argument, the empty program, a hard-coded first test, wrong answers that the
    /// program calls right). Tasks that are not proven are set apart with the reason.
    Validate(ValidateArgs),
    /// Say what files are, which of their lines are right, and what is wrong with the others
    ///
    /// Knows tasks, traces, SFT rows, rollouts, scored lines, pairs, prompt seeds, events, results and settings
    /// by their fields. Runs nothing and changes nothing.
    Check(CheckArgs),
    /// Keep the tasks that the student solves now and then, by its own pass rates
    ///
    /// Tasks that are never or always solved give GRPO groups without a difference. Rates are those of `whet eval`, or of
    /// scored rollouts of the same model.
    Filter(FilterArgs),
    /// Add generated tests to tasks, from their references or from a teacher's programs that agree
    ///
    /// Inputs are like those of the known tests and of the examples in the statement; the expected values are what the
    /// programs answer in the sandbox. The tasks say that their tests are generated.
    Tests(TestsArgs),
    /// Make preference pairs for a reward model out of judged replies
    ///
    /// Of two replies to one task, the one that solved it is preferred, or the one with the higher reward. Reads
    /// scored rollouts, traces, and files of pairs from the hub, and says what was left out and why.
    Pairs(PairsArgs),
    /// Make traces to fine-tune on out of judged rollouts: rejection sampling
    ///
    /// Keeps distinct programs that solved their tasks, those of rarely solved tasks first, at most a few of each
    /// task. `whet train sft --traces` reads them.
    Traces(TracesArgs),
    /// Draw prompts for Phaser games: tasks to train on and tasks to evaluate on
    ///
    /// Takes the embedded prompt seeds or a file of your own, each a prompt with checks that a running game
    /// passes or not, and writes two files without overlap.
    Prompts(PromptsArgs),
}

/// Runs one of them.
pub(crate) fn run(command: &DataCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        DataCommand::Prepare(args) => prepare::run(args, printer),
        DataCommand::Validate(args) => validate::run(args, printer),
        DataCommand::Check(args) => check::run(args, printer),
        DataCommand::Filter(args) => filter::run(args, printer),
        DataCommand::Tests(args) => test_generation::run(args, printer),
        DataCommand::Pairs(args) => pairs::run(args, printer),
        DataCommand::Traces(args) => traces::run(args, printer),
        DataCommand::Prompts(args) => prompts::run(args, printer),
    }
}
