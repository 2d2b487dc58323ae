//! Errors of making traces of rollouts.

use std::collections::BTreeMap;
use std::io;

use whetstone_core::jsonl::LineError;
use whetstone_core::prompt::PromptError;
use whetstone_record::error::{BatchError, FileError};

/// Traces could not be made. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampledTracesError {
    /// A file cannot be read, or a line of it is not a rollout.
    #[error(transparent)]
    Lines(#[from] LineError),
    /// The output is an input.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A task has no prompt in the settings' template.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// No rollout becomes a trace.
    #[error("no rollout becomes a trace: {}", reasons(left_out))]
    Nothing {
        /// Why not, and how many.
        left_out: BTreeMap<&'static str, u64>,
    },
    /// The thread that parses programs does not start.
    #[error("cannot start the thread that reads programs")]
    Threads(#[source] io::Error),
    /// The output cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

fn reasons(left_out: &BTreeMap<&'static str, u64>) -> String {
    let all = left_out.iter().map(|(reason, count)| format!("{count} {reason}"));
    let all: Vec<String> = all.collect();
    if all.is_empty() { "there are none".to_owned() } else { all.join(", ") }
}

impl SampledTracesError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Nothing { left_out } if left_out.contains_key("not_scored") => {
                Some("score the rollouts first, with `whet score`")
            }
            Self::Nothing { left_out } if left_out.contains_key("no_task") => {
                Some("name the tasks of the rollouts with `--tasks`")
            }
            Self::Nothing { .. } => Some("sample more replies of each task with `whet rollout`"),
            Self::Batch(err) => err.hint(),
            Self::File(err) => err.hint(),
            Self::Lines(_) | Self::Prompt(_) | Self::Threads(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Batch(err) => err.is_usage(),
            Self::Threads(_) | Self::File(_) => false,
            _ => true,
        }
    }
}
