//! `whet model`: describes models, creates new ones and scores with reward models.

mod info;
mod new;
mod score;
mod table;

use clap::Subcommand;

use self::info::InfoArgs;
pub(crate) use self::new::DtypeArg;
use self::new::NewArgs;
use self::score::ScoreArgs;
use crate::exit::Exit;
use crate::printer::Printer;

/// `whet model …`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Describe a model, and the memory it needs for sampling and training
    ///
    /// Reads headers and the tokenizer, no weights. Memory is counted for the CPU, where everything
    /// is computed in f32: so that a machine that is too small is known before it is tried.
    Info(InfoArgs),

    /// Make a small model of your own, with a tokenizer trained on your texts
    ///
    /// Writes a directory that every other command takes: a byte-level BPE tokenizer that was learnt
    /// from the corpus, a chat template, and a Qwen3 of the sizes that you choose with random weights.
    /// It knows nothing yet. The same corpus, sizes and seed give the same bytes.
    New(NewArgs),

    /// Score preference pairs with a reward model, and measure how well it orders them
    ///
    /// Prints the accuracy, the lead of the chosen reply, the calibration and the part of length in the
    /// scores, with 95 % intervals; with `--out` also the score of every reply, normalised by the held-out
    /// pairs of the reward model's training.
    Score(ScoreArgs),
}

/// Runs one of them.
pub(crate) fn run(command: &ModelCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        ModelCommand::Info(args) => info::run(args, printer),
        ModelCommand::New(args) => new::run(args, printer),
        ModelCommand::Score(args) => score::run(args, printer),
    }
}
