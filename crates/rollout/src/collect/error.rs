//! A collection that came to nothing.

use std::io;

use whetstone_core::judgement::Infrastructure;
use whetstone_core::task::TaskId;
use whetstone_infer::GenerateError;

use super::{Group, RenderError};

/// Rollouts could not be collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A task's messages are no prompt.
    #[error("cannot make a prompt of task `{task}`")]
    Render {
        /// The task.
        task: TaskId,
        /// What the template or the tokenizer said.
        source: RenderError,
    },

    /// The model did not complete the prompts.
    #[error("cannot sample")]
    Generate(#[from] GenerateError),

    /// No thread could be started.
    #[error("cannot start the threads that judge")]
    Threads(#[source] io::Error),

    /// It was told to end.
    #[error("the collection was stopped")]
    Stopped,

    /// There are rollouts, and not one has a reward.
    #[error("none of {dropped} rollouts could be judged")]
    NothingJudged {
        /// How many there are.
        dropped: usize,
        /// What was wrong with the first.
        #[source]
        first: Infrastructure,
    },
}

impl CollectError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingJudged { .. } => Some("`whet doctor` says whether programs can be judged"),
            Self::Threads(_) => Some("raise `ulimit -u`, or lower `sandbox.workers`"),
            Self::Render { .. } | Self::Generate(_) | Self::Stopped => None,
        }
    }
}

/// Refuses groups of which every rollout was dropped. Where none was asked for, none is missing.
pub(super) fn something_judged<'a>(
    groups: impl IntoIterator<Item = &'a Group, IntoIter: Clone>,
) -> Result<(), CollectError> {
    let groups = groups.into_iter();
    let mut dropped = groups.clone().flat_map(|group| &group.dropped);
    match dropped.next() {
        Some(first) if groups.clone().all(|group| group.rollouts.is_empty()) => {
            let (dropped, first) = (dropped.count() + 1, first.reason.clone());
            Err(CollectError::NothingJudged { dropped, first })
        }
        _ => Ok(()),
    }
}
