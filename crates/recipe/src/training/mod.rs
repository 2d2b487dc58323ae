//! A training from its settings and files to its final model: [`sft`], [`grpo`], [`rm`], [`prm`], [`dpo`] and [`ppo`].
//!
//! ```text
//! settings ─► files ─► environment ─► student ─► rows, plan ─► run directory ─► steps
//! ```
//!
//! A run directory is created last, so that a training that cannot start leaves nothing behind.

pub(crate) mod begin;
mod distill;
pub mod dpo;
pub mod grpo;
pub(crate) mod inputs;
mod left_out;
pub(crate) mod lengths;
mod own_held_out;
pub mod pairs;
pub(crate) mod planned;
pub mod ppo;
pub mod prm;
mod recorded;
pub(crate) mod reward_model;
pub mod rm;
pub(crate) mod said;
pub mod sft;
pub(crate) mod steps;
pub(crate) mod taught;

use std::path::PathBuf;

use whetstone_config::Sources;
use whetstone_core::config::DeviceChoice;
use whetstone_train::watch::Ended;

/// The run that a training fills, and how it begins.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The run's name: a directory in `run.dir`.
    pub name: String,
    /// Whether it is resumed from its last checkpoint.
    pub resume: bool,
    /// A checkpoint of another run to start from.
    pub from: Option<PathBuf>,
    /// Whether only the plan is wanted: one step is taken, and nothing is kept.
    pub dry_run: bool,
    /// The device, over the setting `run.device`.
    pub device: Option<DeviceChoice>,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
    /// Sources of settings.
    pub sources: Sources,
}

/// A training that came to an end.
#[derive(Debug)]
pub struct End {
    /// The kind of training, e.g. `grpo`.
    pub stage: &'static str,
    /// The folder of runs.
    pub runs: String,
    /// The run's directory.
    pub dir: PathBuf,
    /// How it ended.
    pub ended: Ended,
    /// Steps that were planned.
    pub steps: u64,
    /// How the number of steps comes about.
    pub arithmetic: String,
}
