//! `whet completions`: what Tab offers, for each shell.

use clap::Args;
use clap_complete::Shell;

use super::visible;
use crate::exit::Exit;
use crate::printer::Printer;

/// `whet completions`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

const AFTER_HELP: &str = "\
Where each shell looks for it:
  bash        mkdir -p ~/.local/share/bash-completion/completions
              whet completions bash > ~/.local/share/bash-completion/completions/whet
  zsh         mkdir -p ~/.zfunc && whet completions zsh > ~/.zfunc/_whet
              and in ~/.zshrc: fpath+=(~/.zfunc); autoload -Uz compinit; compinit
  fish        mkdir -p ~/.config/fish/completions
              whet completions fish > ~/.config/fish/completions/whet.fish
  elvish      whet completions elvish >> ~/.config/elvish/rc.elv
  powershell  whet completions powershell >> $PROFILE

bash needs the package bash-completion for its folder; without it: `whet completions bash >> ~/.bashrc`.
New shells have it. `install.sh` of a release installs those of bash, zsh and fish.";

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs, printer: Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "whet", &mut script);
    printer.raw(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}
