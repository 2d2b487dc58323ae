//! `whet prompt`: what a model is asked, to the token.

mod compare;
mod show;

use clap::Subcommand;

use crate::exit::Exit;
use crate::printer::Printer;

use compare::ComparePromptsArgs;
use show::ShowArgs;

pub(crate) use compare::rows;

/// `whet prompt …`.
#[derive(Debug, Subcommand)]
pub enum PromptCommand {
    /// Show the prompt of a task exactly as a model reads it
    ///
    /// Prints the text with the model's chat template around it, special tokens included, and the token ids. The
    /// settings of `[prompt]` choose the template; `auto` is settled for the model as every other command settles it.
    Show(ShowArgs),

    /// Measure a model with several prompts
    ///
    /// Asks for the same tasks with each prompt, greedily, and prints the share of replies with code, pass@1, the share
    /// of replies that the limit on tokens cut off, and tokens per reply.
    Compare(ComparePromptsArgs),
}

/// Runs `whet prompt`.
pub(crate) fn run(command: &PromptCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        PromptCommand::Show(args) => show::run(args, printer),
        PromptCommand::Compare(args) => compare::run(args, printer),
    }
}
