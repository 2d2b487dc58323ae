//! Why a reward model cannot be used, and why replies have no scores.

use std::path::PathBuf;

use whetstone_kernels::DeviceError;
use whetstone_model::adapter::AdapterError;
use whetstone_model::decoder::BatchError;
use whetstone_model::weights::WeightsError;

/// Why a directory cannot be used as a reward model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewardModelError {
    /// A directory that is something else.
    #[error("`{}` is not a reward model: it has no `reward_model.json`", .0.display())]
    NotOne(PathBuf),
    /// The facts cannot be read.
    #[error("cannot read `{}`: {problem}", path.display())]
    Facts {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Scores that are all equal.
    #[error("the reward model `{}` gives every reply the same score", .0.display())]
    Constant(PathBuf),
    /// Another base model.
    #[error(
        "the reward model `{}` is one of `{}`, and cannot score on `{}`: {problem}",
        dir.display(), expected, found
    )]
    OtherBase {
        /// The reward model.
        dir: PathBuf,
        /// The base it was trained on.
        expected: String,
        /// The base it was to be used on.
        found: String,
        /// How they differ.
        problem: String,
    },
    /// Its adapter cannot be used.
    #[error("cannot load the reward model `{}`", dir.display())]
    Adapter {
        /// The reward model.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: Box<AdapterError>,
    },
    /// Its weights, or those of the base, cannot be read; a weight that is not finite is one cause.
    #[error("cannot use the weights of the reward model `{}`", dir.display())]
    Weights {
        /// The reward model.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: Box<WeightsError>,
    },
    /// Replies cannot be scored.
    #[error("cannot score with the reward model `{}`", dir.display())]
    Score {
        /// The reward model.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: ScoreError,
    },
}

impl RewardModelError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotOne(_) => Some(
                "name the directory `outputs/final_model` of a run of `whet train rm`; checkpoints have \
                 no measured scale yet",
            ),
            Self::Facts { .. } | Self::Weights { .. } | Self::Constant(_) => {
                Some("train it again: `whet train rm`")
            }
            Self::OtherBase { .. } => Some(
                "name the base that it was trained on with `--set student.model_name=…`, or train a reward \
                 model on this one: `whet train rm`",
            ),
            _ => None,
        }
    }

    /// Whether the user can mend it by asking for something else.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Score { source: ScoreError::Device(_), .. })
    }
}

/// Why sequences have no scores.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// The active adapter is not a reward model.
    #[error("the model has no score head")]
    NoHead,
    /// A sequence that the model cannot take.
    #[error("a reply cannot be scored")]
    Batch(#[from] BatchError),
    /// A score that is not finite.
    #[error("the score of reply {at} is {value}")]
    NotFinite {
        /// The reply, counted from 0.
        at: usize,
        /// Its score.
        value: f64,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
