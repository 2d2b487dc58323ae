//! `whet prompt`: what a model is asked, to the token.

mod show;

use clap::Subcommand;

use crate::exit::Exit;
use crate::printer::Printer;

use show::ShowArgs;

/// `whet prompt …`.
#[derive(Debug, Subcommand)]
pub enum PromptCommand {
    /// Show the prompt of a task exactly as a model reads it
    ///
    /// Prints the text with the model's chat template around it, special tokens included, and the token ids. The
    /// settings of `[prompt]` choose the template; `auto` is settled for the model as every other command settles it.
    Show(ShowArgs),
}

/// Runs `whet prompt`.
pub(crate) fn run(command: &PromptCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        PromptCommand::Show(args) => show::run(args, printer),
    }
}
