//! The reward models that settings name.

use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_model::adapter::WEIGHTS_FILE;
use whetstone_train::TrainError;
use whetstone_train::reward_model::Facts;

use crate::failure::Failure;

/// The weights of the reward model of the settings, of a directory or of the run that trained it; none if they
/// name none.
pub(super) fn weights(config: &Config) -> Result<Option<PathBuf>, Failure> {
    let reward = &config.reward;
    if reward.model.is_empty() {
        return Ok(None);
    }
    if reward.model_weight + reward.composite_weight <= 0.0 {
        let problem = "`reward.model_weight` and `reward.composite_weight` are both 0: every reward would \
                       be 0, and nothing could be learnt. Raise one of them";
        return Err(TrainError::Settings(problem.to_owned()).into());
    }
    let weights = named(&reward.model).ok_or_else(|| {
        let problem = format!(
            "`reward.model` is `{}`, where there is no `{WEIGHTS_FILE}`: name the directory of a reward \
             model, or the run of `whet train rm` that made it",
            reward.model
        );
        Failure::from(TrainError::Settings(problem))
    })?;
    if !reward.accept_weak_model {
        refuse_weak(&weights)?;
    }
    Ok(Some(weights))
}

/// Refuses a reward model that its own training found to be no better than chance.
fn refuse_weak(weights: &Path) -> Result<(), Failure> {
    let dir = weights.parent().unwrap_or(Path::new("."));
    let facts = Facts::read(dir).map_err(TrainError::from)?;
    if facts.is_better_than_chance() {
        return Ok(());
    }
    let accuracy = facts.held_out.accuracy;
    let [low, high] = accuracy.interval().unwrap_or([0.0, 1.0]).map(|end| 100.0 * end);
    let problem = format!(
        "the reward model `{}` is not clearly better than chance: {:.1} % of {} held-out pairs are in the right order \
         (95 % interval: {low:.1} to {high:.1} %). Train it on more pairs, or pay by it all the same with \
         `--accept-weak-reward-model` (the setting `reward.accept_weak_model = true`)",
        dir.display(),
        100.0 * accuracy.value,
        facts.held_out.pairs,
    );
    Err(TrainError::Settings(problem).into())
}

/// [`weights`] of the process reward model.
pub(super) fn process_weights(config: &Config) -> Result<Option<PathBuf>, Failure> {
    let process = &config.reward.process;
    if process.is_empty() {
        return Ok(None);
    }
    named(process).map(Some).ok_or_else(|| {
        let problem = format!(
            "`reward.process` is `{process}`, where there is no `{WEIGHTS_FILE}`: name the directory of a \
             process reward model, or the run of `whet train prm` that made it"
        );
        TrainError::Settings(problem).into()
    })
}

/// The directory of a reward model: the given one, or the final model of the run that it is.
pub(crate) fn directory(given: &Path) -> PathBuf {
    let weights = named(&given.to_string_lossy());
    weights.and_then(|file| Some(file.parent()?.to_owned())).unwrap_or_else(|| given.to_owned())
}

/// The weights of a directory, or of the run in it.
fn named(given: &str) -> Option<PathBuf> {
    let given = Path::new(given);
    let places = [given.join("outputs/final_model"), given.to_owned()];
    places.into_iter().map(|dir| dir.join(WEIGHTS_FILE)).find(|file| file.is_file())
}
