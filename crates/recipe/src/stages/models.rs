//! The model of a stage: that of an earlier stage, or the student of the settings.
//!
//! A training puts an adapter of its own over a model, and takes that model for the reference policy. So a
//! training that follows another one starts from one whole model: an adapter is merged into its base first.
//! The embedded student is unpacked into the run, from where its adapters find it again.

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_model::weights::Dtype;
use whetstone_record::atomic::clear_temporaries;
use whetstone_record::outputs::Staged;
use whetstone_train::student::EMBEDDED;

use super::job::{Input, Job};
use super::what::{Take, What};
use crate::export::{self, ExportRequest};
use crate::failure::Failure;
use crate::find::{Around, Found, find};
use crate::student::unpack_into;

/// The folder of the embedded student beside merged models. No stage has this name.
const STUDENT: &str = "_student";

/// The setting that names the model a training starts from; none if it is that of the settings.
pub(super) fn student(job: &Job<'_>) -> Result<Vec<String>, Failure> {
    let model = match job.inputs.get(&What::Model) {
        Some(input) => whole(job, input)?,
        None => match embedded(job)? {
            Some(path) => path,
            None => return Ok(Vec::new()),
        },
    };
    Ok(vec![format!("student.model_name={}", model.display())])
}

/// A base model as a setting, and the adapter over it that a training begins with.
pub(super) struct StartFrom {
    pub(super) settings: Vec<String>,
    pub(super) adapter: Option<PathBuf>,
}

/// The base and the adapter that a training begins with: trainings that share one base keep it.
pub(super) fn start_from(job: &Job<'_>) -> Result<StartFrom, Failure> {
    let Some(input) = job.inputs.get(&What::Model) else {
        return Ok(StartFrom { settings: student(job)?, adapter: None });
    };
    let found = locate(job, input)?;
    let settings = vec![format!("student.model_name={}", found.model.display())];
    Ok(StartFrom { settings, adapter: found.adapter })
}

/// Whether a stage that is paid takes a reward model: it needs one where nothing else pays, and has none
/// where the settings name another or give it no weight.
pub(super) fn reward_model(config: &Config) -> Option<Take> {
    let reward = &config.reward;
    let is_taken = reward.model.is_empty() && reward.model_weight > 0.0;
    let take = if reward.composite_weight <= 0.0 { Take::Needs } else { Take::May };
    is_taken.then(|| take(What::RewardModel))
}

/// The setting that names the reward model of an earlier stage, if the stage takes one.
pub(super) fn reward_model_setting(job: &Job<'_>) -> Option<String> {
    job.input(What::RewardModel).map(|path| format!("reward.model={}", path.display()))
}

/// Whether a stage takes a process reward model: not where the settings name one or another reward model, or give it
/// no weight.
pub(super) fn process_model(config: &Config) -> Option<Take> {
    let reward = &config.reward;
    let is_taken =
        reward.process.is_empty() && reward.model.is_empty() && reward.process_weight > 0.0;
    is_taken.then_some(Take::May(What::ProcessModel))
}

/// The setting that names the process reward model of an earlier stage, if the stage takes one.
pub(super) fn process_model_setting(job: &Job<'_>) -> Option<String> {
    job.input(What::ProcessModel).map(|path| format!("reward.process={}", path.display()))
}

/// The model that is measured or sampled: an adapter stays one.
pub(super) fn policy(job: &Job<'_>) -> Result<String, Failure> {
    let path = match job.input(What::Model) {
        Some(path) => Some(path),
        None => embedded(job)?,
    };
    let name = path.map(|path| path.display().to_string());
    Ok(name.unwrap_or_else(|| job.config.student.model_name.clone()))
}

/// The embedded student, unpacked, if the settings name it.
fn embedded(job: &Job<'_>) -> Result<Option<PathBuf>, Failure> {
    if job.config.student.model_name != EMBEDDED {
        return Ok(None);
    }
    let path = job.models.join(STUDENT);
    unpack_into(&path)?;
    Ok(Some(path))
}

/// A model as one whole model.
fn whole(job: &Job<'_>, input: &Input) -> Result<PathBuf, Failure> {
    let given = input.path.display().to_string();
    let found = locate(job, input)?;
    // Size and speed of a plan are those of the base.
    if found.adapter.is_none() || job.dry_run {
        return Ok(found.model);
    }
    let name = input.stage.clone().unwrap_or_else(|| format!("_of-{}", job.entry.name));
    let merged = job.models.join(name);
    if !merged.is_dir() {
        job.observer
            .note(&format_args!("merges {given} into its base model: {}", merged.display()));
        merge(job, &given, &merged)?;
    }
    Ok(merged)
}

fn locate(job: &Job<'_>, input: &Input) -> Result<Found, Failure> {
    let mut config = Config::default();
    config.run.dir = job.stages.display().to_string();
    find(&input.path.display().to_string(), &Around::of(&config, job.observer))
}

/// Merges an adapter into its base model, as `whet export` does.
fn merge(job: &Job<'_>, adapter: &str, out: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(&job.models);
    made.map_err(|err| Failure::io(format!("cannot create `{}`", job.models.display()), err))?;
    clear_temporaries(&job.models)?;
    let staged = Staged::begin(out);
    let request = ExportRequest {
        model: adapter,
        adapter: None,
        out: staged.path(),
        base_model: None,
        dtype: Dtype::Bf16,
        evaluations: &[],
    };
    export::run(&request, job.observer)?;
    Ok(staged.commit()?)
}
