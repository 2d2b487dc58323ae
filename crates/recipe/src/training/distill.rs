//! The teacher of on-policy distillation that the settings name, opened before the first step.

use whetstone_core::config::Config;
use whetstone_model::decoder::{LoadOptions, WeightFormat};
use whetstone_train::teacher::{LocalTeacher, NamedTokenizer, TokenTeacher, check_vocabulary};
use whetstone_train::{Student, TrainError};

use crate::failure::Failure;
use crate::find::{Around, find};
use crate::model_failure::ModelFailure;
use crate::observer::Observer;
use crate::server_teacher::ServerTeacher;

/// The teacher, if distillation has a weight. A model on this machine is loaded onto the student's device and counted
/// in the student's plans; a server is asked once, to see that it scores tokens.
///
/// # Errors
///
/// If it cannot be opened, its tokens are not the student's, or the server does not score tokens.
pub(super) fn open(
    student: &mut Student,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Option<Box<dyn TokenTeacher>>, Failure> {
    let weights = &config.dual_source;
    if weights.distill_weight <= 0.0 {
        return Ok(None);
    }
    let teacher: Box<dyn TokenTeacher> = if weights.distill_server.is_empty() {
        Box::new(local(student, config, observer)?)
    } else {
        Box::new(ServerTeacher::open(student, config, observer)?)
    };
    student.count_teacher(teacher.device_bytes(config));
    Ok(Some(teacher))
}

/// A model on this machine. Its vocabulary is compared before its weights are read.
fn local(
    student: &Student,
    config: &Config,
    observer: &dyn Observer,
) -> Result<LocalTeacher, Failure> {
    let name = config.dual_source.distill_teacher.as_str();
    let found = find(name, &Around::of(config, observer))?;
    let model = found.open()?;
    let own =
        NamedTokenizer { model: &config.student.model_name, tokenizer: &student.model.tokenizer };
    check_vocabulary(own, NamedTokenizer { model: name, tokenizer: &model.tokenizer })?;
    let positions = config.training.max_length as usize;
    if positions > model.config.positions {
        let made_for = model.config.positions;
        return Err(TrainError::Settings(format!(
            "`training.max_length` is {positions}, but the teacher `{name}` was made for {made_for} tokens: lower \
             `training.max_length`"
        ))
        .into());
    }
    let options = LoadOptions { weights: WeightFormat::Frozen, positions };
    let decoder = found.load(&model, student.decoder.device(), options)?;
    decoder.device().check().map_err(ModelFailure::from)?;
    observer.note(&format_args!(
        "the teacher of distillation: {name}, {} parameters",
        decoder.parameters().count().0
    ));
    Ok(LocalTeacher::new(name, decoder))
}
