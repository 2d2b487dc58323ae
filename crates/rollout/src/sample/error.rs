//! Replies that could not be sampled.

use std::path::PathBuf;

use whetstone_core::task::TaskId;
use whetstone_infer::GenerateError;
use whetstone_record::error::{BatchError, FileError};

use crate::collect::RenderError;

/// Replies could not be sampled. What was sampled is in the journal, if it came so far.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The file of tasks is empty.
    #[error("`{}` holds no task", path.display())]
    NoTasks {
        /// The file.
        path: PathBuf,
    },
    /// More tasks are wanted than there are.
    #[error("`{}` has {tasks} tasks, and {asked} are asked for", path.display())]
    TooFewTasks {
        /// The file.
        path: PathBuf,
        /// Its tasks.
        tasks: usize,
        /// Those that are wanted.
        asked: usize,
    },
    /// An episode may have several turns, which only a judge can answer.
    #[error(
        "task `{task}` is an episode of up to {turns} turns: its environment answers and judges every reply, and \
         `whet rollout` judges nothing"
    )]
    Episode {
        /// The task.
        task: TaskId,
        /// Replies at most.
        turns: usize,
    },
    /// Finished rollouts are there already.
    #[error("`{}` exists already", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// A task's messages are no prompt.
    #[error("cannot make a prompt of task `{task}`")]
    Prompt {
        /// The task.
        task: TaskId,
        /// What the template or the tokenizer said.
        source: RenderError,
    },
    /// The model did not complete the prompts.
    #[error("cannot sample")]
    Generate(#[from] GenerateError),
    /// Every prompt is longer than the model's context allows.
    #[error("none of {tasks} prompts fits: each has more than {limit_tokens} tokens")]
    NothingFits {
        /// Tasks.
        tasks: usize,
        /// Tokens of a prompt at most.
        limit_tokens: usize,
    },
    /// No request was answered.
    #[error("none of {asked} replies could be sampled")]
    NothingSampled {
        /// Replies that were asked for.
        asked: usize,
    },
    /// The journal or the output cannot be opened, resumed, written or removed.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

impl From<FileError> for SampleError {
    fn from(err: FileError) -> Self {
        Self::Batch(err.into())
    }
}

impl SampleError {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTasks { .. } => {
                Some("`--prompts` takes a file of tasks, one JSON object a line")
            }
            Self::TooFewTasks { .. } => Some("lower `--num-prompts`, or leave it out to take all"),
            Self::Episode { .. } => Some(
                "`whet eval --tasks FILE --keep-tokens` plays whole episodes and keeps them scored; \
                 `--set env.max_turns=1` samples the first reply alone",
            ),
            Self::Exists { .. } => {
                Some("`--fresh` samples again and replaces it, `--out FILE` keeps both")
            }
            Self::NothingFits { .. } => {
                Some("lower `--max-new-tokens` to leave room for prompts, or take shorter tasks")
            }
            Self::NothingSampled { .. } => {
                Some("the notes above say why the server refused; the same command asks again")
            }
            Self::Batch(err) => err.hint(),
            Self::Prompt { .. } | Self::Generate(_) => None,
        }
    }

    /// Whether the command line or an input is wrong, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Prompt { .. } | Self::Generate(_) | Self::NothingSampled { .. } => false,
            Self::Batch(err) => err.is_usage(),
            _ => true,
        }
    }
}
