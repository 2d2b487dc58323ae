//! The reward models that settings name.

use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_model::adapter::WEIGHTS_FILE;
use whetstone_train::TrainError;

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
    named(&reward.model).map(Some).ok_or_else(|| {
        let problem = format!(
            "`reward.model` is `{}`, where there is no `{WEIGHTS_FILE}`: name the directory of a reward \
             model, or the run of `whet train rm` that made it",
            reward.model
        );
        TrainError::Settings(problem).into()
    })
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

/// The weights of a directory, or of the run in it.
fn named(given: &str) -> Option<PathBuf> {
    let given = Path::new(given);
    let places = [given.join("outputs/final_model"), given.to_owned()];
    places.into_iter().map(|dir| dir.join(WEIGHTS_FILE)).find(|file| file.is_file())
}
