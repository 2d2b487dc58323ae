//! Errors of making prompt sets and mock rollouts.

use std::path::PathBuf;

use whetstone_core::jsonl::LineError;
use whetstone_record::error::FileError;

/// Prompt sets or mock rollouts could not be made. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A file of seeds cannot be read, or a line of it is bad.
    #[error(transparent)]
    Seeds(LineError),
    /// A file of tasks cannot be read, or a line of it is bad.
    #[error(transparent)]
    Tasks(LineError),
    /// Two lines ask the same.
    #[error("{}:{line}: the prompt of `{id}` is that of line {first}", file.display())]
    SamePrompt {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// Its id.
        id: String,
        /// The line that had the prompt first.
        first: u64,
    },
    /// A file has more seeds than are read.
    #[error("{} has more than {most} prompt seeds", file.display())]
    TooMany {
        /// The file.
        file: PathBuf,
        /// The limit.
        most: usize,
    },
    /// There are fewer seeds than asked for.
    #[error(
        "there are {seeds} prompt seeds, and {train} to train on and {eval} to evaluate on need {}",
        train + eval
    )]
    TooFewSeeds {
        /// Seeds that there are.
        seeds: usize,
        /// Asked for, to train on.
        train: usize,
        /// Asked for, to evaluate on.
        eval: usize,
    },
    /// Whole families cannot be divided so that both halves are large enough.
    #[error(
        "{seeds} prompt seeds of {families} families cannot be divided into {train} to train on and {eval} to \
         evaluate on: a family stays in one half"
    )]
    Families {
        /// Seeds that there are.
        seeds: usize,
        /// Families that there are.
        families: usize,
        /// Asked for, to train on.
        train: usize,
        /// Asked for, to evaluate on.
        eval: usize,
    },
    /// Two files have the same path, or an output is the input.
    #[error("`{}` would be overwritten by another file of the same command", path.display())]
    SameFile {
        /// The path.
        path: PathBuf,
    },
    /// There are fewer prompts than asked for.
    #[error("{} has {tasks} prompts for Phaser, and {asked} are asked for", file.display())]
    TooFewPrompts {
        /// The file.
        file: PathBuf,
        /// Tasks that there are.
        tasks: usize,
        /// Tasks that are asked for.
        asked: usize,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl PromptError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Seeds(_) => Some(
                "a line of prompt seeds is {\"id\":\"seed_000001\",\"prompt\":\"…\",\"checks\":[…]}; without `--prompt-seeds` the embedded ones are used",
            ),
            Self::Tasks(_) => {
                Some("`whet data prompts` makes files of prompts for Phaser, one task a line")
            }
            Self::SamePrompt { .. } => Some("remove one of the two lines"),
            Self::TooMany { .. } => Some("divide the file"),
            Self::TooFewSeeds { .. } => Some(
                "lower `--train-count` or `--eval-count`, or name a file with more seeds with `--prompt-seeds`",
            ),
            Self::Families { .. } => {
                Some("lower `--train-count` or `--eval-count` by a few, or add families of seeds")
            }
            Self::SameFile { .. } => Some("give every file a path of its own"),
            Self::TooFewPrompts { .. } => Some(
                "lower `--num-prompts`, or make more prompts: `whet data prompts --train-count N`",
            ),
            Self::File(err) => err.hint(),
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::File(_))
    }
}
