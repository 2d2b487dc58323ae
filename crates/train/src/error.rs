//! Why a training stops before its end.

use std::path::PathBuf;

use whetstone_algo::AlgoError;
use whetstone_model::adapter::AdapterError;
use whetstone_model::decoder::BatchError;
use whetstone_model::template::TemplateError;
use whetstone_model::tokenizer::TokenizerError;
use whetstone_model::weights::WeightsError;
use whetstone_model::{ExportError, OpenError};
use whetstone_record::error::{FileError, JournalError, ReadError, RunError};
use whetstone_rollout::collect::CollectError;

/// A training could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The student cannot be opened.
    #[error("cannot open the student")]
    Open(#[source] OpenError),
    /// Its weights cannot be read.
    #[error("cannot read the student's weights")]
    Weights(#[source] WeightsError),
    /// Its adapter cannot be read.
    #[error("cannot read the adapter of the checkpoint")]
    Adapter(#[source] AdapterError),
    /// A model that was made for no conversation.
    #[error("the student has no chat template, and prompts are conversations")]
    NoTemplate,
    /// The template refuses a conversation.
    #[error("cannot render a prompt")]
    Template(#[from] TemplateError),
    /// A text is no tokens.
    #[error("cannot encode a prompt")]
    Tokenizer(#[from] TokenizerError),
    /// The context of the model is shorter than what was asked for.
    #[error("`training.max_length` is {asked}, but the student was made for {made_for} tokens")]
    Context {
        /// What was asked for.
        asked: usize,
        /// What it was made for.
        made_for: usize,
    },
    /// Nothing can be learnt from.
    #[error("there is nothing to learn from: {0}")]
    Nothing(String),
    /// Settings that do not fit together.
    #[error("{0}")]
    Settings(String),
    /// A checkpoint that is not of this training.
    #[error("`{}` cannot be gone on with: {problem}", path.display())]
    Checkpoint {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Sequences that make no batch.
    #[error("step {step}: the sequences make no batch")]
    Batch {
        /// The step.
        step: u64,
        /// The cause.
        #[source]
        source: BatchError,
    },
    /// Numbers that are none.
    #[error(
        "step {step}: {what}; the weights are as they were after step {}, and the batch is in `{}`",
        step - 1,
        saved.display()
    )]
    NotFinite {
        /// The step.
        step: u64,
        /// Which number, where.
        what: String,
        /// The batch, for a replay.
        saved: PathBuf,
    },
    /// The same, before the batch was kept.
    #[error("{0}")]
    NoNumber(String),
    /// The run's directory is gone.
    #[error("the run's directory `{}` was removed while it was being written", .0.display())]
    Gone(PathBuf),
    /// No rollout solved anything for too long.
    #[error("no rollout passed a single test in {steps} steps (mean reward {mean:.3})")]
    NoneSolved {
        /// For how many steps.
        steps: u64,
        /// What they were worth.
        mean: f64,
    },
    /// Rollouts could not be collected.
    #[error("cannot collect rollouts")]
    Collect(#[from] CollectError),
    /// Every reward was equal for too long.
    #[error(
        "no group had different rewards for {steps} steps: nothing can be learnt from such groups \
         (mean reward {mean:.3})"
    )]
    AllEqual {
        /// For how many steps.
        steps: u64,
        /// What they were.
        mean: f64,
    },
    /// The arithmetic of a loss.
    #[error(transparent)]
    Algo(#[from] AlgoError),
    /// The run's directory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// One of its files.
    #[error(transparent)]
    File(#[from] FileError),
    /// One of its journals.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// One of its journals cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory of weights cannot be written.
    #[error("cannot write the weights")]
    Export(#[from] ExportError),
}

impl TrainError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTemplate => Some("take a model that was tuned for chats or instructions"),
            Self::Context { .. } => Some("lower `training.max_length`"),
            Self::NotFinite { .. } => Some(
                "lower `training.learning_rate` or `training.max_grad_norm`, then go on with `--resume`",
            ),
            Self::AllEqual { .. } => Some(
                "take tasks that the student solves now and then, more samples a prompt, or a higher \
                 temperature; what was learnt so far is in the last checkpoint",
            ),
            Self::NoneSolved { .. } => Some(
                "take easier tasks or a stronger student, or teach it first with `whet train sft`; what \
                 was learnt so far is in the last checkpoint",
            ),
            Self::Gone(_) => {
                Some("begin a new run, and leave its directory alone until it is done")
            }
            Self::Export(ExportError::Write { source, .. }) if is_full(source) => {
                Some("free some space, then go on with `--resume`")
            }
            Self::Collect(err) => err.hint(),
            Self::Run(err) => err.hint(),
            Self::File(err) => err.hint(),
            Self::Journal(err) => err.hint(),
            _ => None,
        }
    }

    /// Whether the user can mend it by asking for something else.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoTemplate
                | Self::Context { .. }
                | Self::Nothing(_)
                | Self::Settings(_)
                | Self::Checkpoint { .. }
                | Self::Open(_)
                | Self::Run(
                    RunError::Exists { .. } | RunError::NotFound { .. } | RunError::Name { .. }
                )
        )
    }
}

fn is_full(source: &std::io::Error) -> bool {
    matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}
