//! Adapters beside the one that is trained, on the same base, each in a folder of the checkpoints: a critic, or the
//! reference that a training with an adapter began with.
//!
//! Not here: reward models, which bring the facts beside their weights (`rollouts/companion.rs`).

use std::path::{Path, PathBuf};

use whetstone_core::seed::Seed;
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::AdapterId;

use crate::error::{CheckpointError, TrainError};
use crate::student::{Companion, Student};

/// The folder of the reference in a checkpoint.
const REFERENCE: &str = "reference";

/// Adds an adapter, that of a directory or a new one, and makes it the active one.
pub(crate) fn add_adapter(
    student: &mut Student,
    name: &'static str,
    from: Option<&Path>,
    seed: Seed,
) -> Result<AdapterId, TrainError> {
    let id = student.decoder.new_adapter(name);
    let settings = student.adapter_settings().clone();
    let settings = match from {
        None => {
            student.decoder.add_adapter_like(&settings, seed.get());
            settings
        }
        Some(dir) => {
            let found = student.decoder.load_adapter(dir);
            let found =
                found.map_err(|err| TrainError::damaged(dir, CheckpointError::Adapter(err)))?;
            AdapterSettings { base: settings.base, ..found }
        }
    };
    student.companions.push(Companion { folder: name, adapter: id, settings, facts: None });
    Ok(id)
}

/// Where a training comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The checkpoint that it resumes from.
    pub(crate) checkpoint: Option<&'a Path>,
    /// The adapter that it began with, of another training.
    pub(crate) initial: Option<&'a Path>,
}

/// Adds the frozen adapter that a training began with: of its checkpoint, or else the initial one. `None` if it began
/// with a new adapter, whose reference is the base itself. What was active is active afterwards.
pub(crate) fn add_reference(
    student: &mut Student,
    origin: Origin<'_>,
) -> Result<Option<AdapterId>, TrainError> {
    let saved: Option<PathBuf> =
        origin.checkpoint.map(|dir| dir.join(REFERENCE)).filter(|dir| dir.is_dir());
    let begins = if origin.checkpoint.is_some() { saved.as_deref() } else { origin.initial };
    let Some(dir) = begins else { return Ok(None) };
    let policy = student.decoder.active_adapter();
    let id = add_adapter(student, REFERENCE, Some(dir), Seed::new(0))?;
    student.decoder.train_adapter(id, false);
    student.decoder.activate(policy);
    Ok(Some(id))
}
