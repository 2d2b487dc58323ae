//! Why a reward model cannot be used, and why sequences have no scores.

use std::path::PathBuf;

use whetstone_kernels::DeviceError;
use whetstone_model::adapter::AdapterError;
use whetstone_model::decoder::BatchError;
use whetstone_model::weights::WeightsError;

use super::kind::ScorerKind;

/// Why a directory cannot be used as a reward model, of replies or of processes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewardModelError {
    /// A directory that is something else.
    #[error("`{}` is not a {}: it has no `{}`", dir.display(), kind.noun(), kind.file())]
    NotOne {
        /// What it should be.
        kind: ScorerKind,
        /// The directory.
        dir: PathBuf,
    },
    /// The facts cannot be read.
    #[error("cannot read `{}`: {problem}", path.display())]
    Facts {
        /// What it should be.
        kind: ScorerKind,
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
        "the {} `{}` is one of `{}`, and cannot score on `{}`: {problem}",
        kind.noun(), dir.display(), expected, found
    )]
    OtherBase {
        /// What it is.
        kind: ScorerKind,
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
    #[error("cannot load the {} `{}`", kind.noun(), dir.display())]
    Adapter {
        /// What it is.
        kind: ScorerKind,
        /// The reward model.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: Box<AdapterError>,
    },
    /// Its weights, or those of the base, cannot be read; a weight that is not finite is one cause.
    #[error("cannot use the weights of the {} `{}`", kind.noun(), dir.display())]
    Weights {
        /// What it is.
        kind: ScorerKind,
        /// The reward model.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: Box<WeightsError>,
    },
    /// Sequences cannot be scored.
    #[error("cannot score with the {} `{}`", kind.noun(), dir.display())]
    Score {
        /// What it is.
        kind: ScorerKind,
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
            Self::NotOne { kind, .. } => Some(kind.name_another()),
            Self::Facts { kind, .. } | Self::Weights { kind, .. } => Some(kind.train_again()),
            Self::Constant(_) => Some(ScorerKind::Reward.train_again()),
            Self::OtherBase { kind, .. } => Some(kind.take_its_base()),
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
    #[error("the score of sequence {at} is {value}")]
    NotFinite {
        /// The sequence, counted from 0.
        at: usize,
        /// Its score.
        value: f64,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
