//! The rollouts of a training step: of which tasks, how they are sampled and judged, what is recorded and
//! measured of them. GRPO and PPO have this in common.

pub(crate) mod collecting;
pub(crate) mod companion;
mod curriculum;
mod difficulty;
pub(crate) mod held_out;
pub(crate) mod metrics;
pub(crate) mod paid;
pub(crate) mod process;
pub(crate) mod record;
mod repetition;
pub(crate) mod sequences;
pub(crate) mod suspects;
pub(crate) mod tasks;
pub(crate) mod values;

use whetstone_core::config::{Config, Sampling};
use whetstone_core::task::Task;
use whetstone_env::environment::Environment;
use whetstone_infer::Limits;

use crate::watch::Watch;

/// How a training gets its rollouts.
#[derive(Clone, Copy)]
pub(crate) struct Collection<'a> {
    pub(crate) config: &'a Config,
    /// How many of a task, how long, how hot.
    pub(crate) sampling: Sampling,
    /// Tasks that are not learnt from, to measure by; there may be none.
    pub(crate) held_out: &'a [Task],
    /// The environment that judges replies.
    pub(crate) environment: &'a dyn Environment,
    /// Threads that judge.
    pub(crate) judges: usize,
    /// Limits of sampling.
    pub(crate) limits: Limits,
    /// Receives progress, and tells when to stop.
    pub(crate) watch: Watch<'a>,
}
