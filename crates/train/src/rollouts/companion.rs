//! A reward model as one more adapter on the student's base, active only while it scores.

use std::path::{Path, PathBuf};

use whetstone_core::config::{Config, Trained};
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::{AdapterId, Decoder};
use whetstone_record::plain_file::read_plain;

use crate::error::{CheckpointError, TrainError};
use crate::reward_model::error::RewardModelError;
use crate::reward_model::facts::LIMIT_BYTES;
use crate::reward_model::kind::ScorerKind;
use crate::student::{Companion, FactsFile, Student};

/// A reward model's adapter, beside the policy's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoringAdapter {
    policy: AdapterId,
    adapter: AdapterId,
}

/// The directory of a training's reward model: that in its checkpoint, or the given one.
pub(crate) fn directory(
    kind: ScorerKind,
    given: Option<&Path>,
    checkpoint: Option<&Path>,
) -> Option<PathBuf> {
    let saved = checkpoint.map(|dir| dir.join(kind.folder())).filter(|dir| dir.is_dir());
    saved.or_else(|| given.map(Path::to_owned))
}

impl ScoringAdapter {
    /// Puts the reward model of a directory on the student's base, where checkpoints keep it too. What was
    /// active is active afterwards.
    pub(crate) fn add(
        student: &mut Student,
        kind: ScorerKind,
        dir: &Path,
        load: impl FnOnce(&mut Decoder) -> Result<(), RewardModelError>,
    ) -> Result<Self, TrainError> {
        let policy = student.decoder.active_adapter();
        let adapter = student.decoder.new_adapter(kind.folder());
        load(&mut student.decoder)?;
        student.decoder.train_adapter(adapter, false);
        let settings = AdapterSettings::of_dir(dir)
            .map_err(|err| TrainError::damaged(dir, CheckpointError::Adapter(err)))?;
        // As it stands there: a number that is read and written again may differ in its last bit.
        let text = read_plain(&dir.join(kind.file()), LIMIT_BYTES)
            .map_err(|err| TrainError::damaged(dir, CheckpointError::Read(err)))?;
        let facts = Some(FactsFile { kind, text });
        student.companions.push(Companion { folder: kind.folder(), adapter, settings, facts });
        student.decoder.activate(policy);
        Ok(Self { policy, adapter })
    }

    /// Does something while the reward model is the active adapter.
    pub(crate) fn with<T>(self, student: &mut Student, work: impl FnOnce(&Student) -> T) -> T {
        student.decoder.activate(self.adapter);
        let done = work(student);
        student.decoder.activate(self.policy);
        done
    }
}

/// Refuses settings under which the base that a reward model stands on is trained.
pub(crate) fn check_base_is_frozen(config: &Config, kind: ScorerKind) -> Result<(), TrainError> {
    if config.training.train != Trained::Full {
        return Ok(());
    }
    Err(TrainError::Settings(format!(
        "a {} is an adapter on the student's base, which `training.train=full` changes: set \
         `training.train=lora`, or `{}=`",
        kind.noun(),
        kind.setting()
    )))
}
