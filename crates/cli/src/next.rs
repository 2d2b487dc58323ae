//! The line at the end of a command: what to type next, as a complete command.
//!
//! It is a note on standard error: `--quiet` leaves it out, and the data on standard output stays as it is. A
//! command that prints JSON for a script says nothing of it.

use std::path::Path;

use whetstone_core::config::RunConfig;
use whetstone_recipe::shell::quoted;

use crate::printer::{Printer, Tone};

/// A command that can be typed as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextCommand(String);

impl NextCommand {
    /// `whet` with words that need no quotes: `score --prompts`.
    pub(crate) fn whet(words: &str) -> Self {
        Self(format!("whet {words}"))
    }

    /// A whole command line.
    pub(crate) fn given(command: &str) -> Self {
        Self(command.to_owned())
    }

    /// With one more word, quoted as a shell needs it.
    pub(crate) fn word(self, word: &str) -> Self {
        Self(format!("{} {}", self.0, quoted(word)))
    }

    /// With a path, quoted as a shell needs it.
    pub(crate) fn path(self, path: &Path) -> Self {
        self.word(&path.display().to_string())
    }

    /// With more words that need no quotes.
    pub(crate) fn words(self, words: &str) -> Self {
        Self(format!("{} {words}", self.0))
    }

    /// Says it.
    pub(crate) fn say(&self, printer: Printer) {
        printer.note(format_args!("{}: {}", printer.toned_talk("next", Tone::Hint), self.0));
    }
}

/// The board over the folder of a run.
pub(crate) fn board_of(run: &Path) -> NextCommand {
    let default = RunConfig::default().dir;
    let folder =
        run.parent().filter(|folder| ["", &default].iter().all(|one| *folder != Path::new(one)));
    let board = NextCommand::whet("board");
    folder.map_or(board.clone(), |folder| board.path(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_complete_and_quoted() {
        let command = NextCommand::whet("score").path(Path::new("my replies.jsonl"));
        let command = command.words("--prompts").word("t.jsonl");
        assert_eq!(command.0, "whet score 'my replies.jsonl' --prompts t.jsonl");
    }
}
