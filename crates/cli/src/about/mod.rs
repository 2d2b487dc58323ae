//! `whet completions` and `whet man`: files that are made from the command line itself, for shells and for `man`.

mod completions;
mod man;

use clap::{Command, CommandFactory};

pub use self::completions::CompletionsArgs;
pub(crate) use self::completions::run as completions;
pub use self::man::ManArgs;
pub(crate) use self::man::run as man;
use crate::cli::Cli;
use crate::version;

/// The command line as people see it: without hidden commands, and the same on every machine.
fn visible() -> Command {
    let whole = Cli::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut command = Command::new("whet")
        .version(version::short())
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .args(whole.get_arguments().cloned())
        .subcommands(shown);
    if let Some(about) = whole.get_about() {
        command = command.about(about.clone());
    }
    if let Some(about) = whole.get_long_about() {
        command = command.long_about(about.clone());
    }
    match whole.get_after_help() {
        Some(after) => command.after_help(after.clone()),
        None => command,
    }
}
