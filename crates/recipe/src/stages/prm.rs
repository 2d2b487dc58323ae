//! `prm`: the transitions of judged episodes into a process reward model.

use whetstone_record::stages::StageFigure;
use whetstone_train::TrainError;
use whetstone_train::inputs::Files;
use whetstone_train::process_reward::ProcessFacts;

use super::job::{Job, Kind, StageEnd, Stops, figure, options};
use super::models::{StartFrom, start_from};
use super::trained::{FINAL, NoOptions, ended};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::training::prm;

/// The kind. It begins with the adapter of an earlier stage, on the same base as the policy that it will
/// judge.
pub(super) const KIND: Kind = Kind {
    name: "prm",
    command: "whet train prm",
    takes: |_| vec![Take::Needs(What::Rollouts), Take::May(What::Model)],
    makes: &[(What::ProcessModel, FINAL)],
    check: |entry, _| options::<NoOptions>(entry),
    run,
    sections: &["prompt", "student", "lora", "prm", "training"],
    stops: Stops::AfterAStep,
};

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let StartFrom { settings, adapter } = start_from(job)?;
    let mut request = job.run_request(&settings)?;
    request.from = adapter.filter(|_| !request.resume);
    let files = Files { episodes: vec![job.needed(What::Rollouts)], ..Files::default() };
    let outcome = ended(job, prm::run(&request, &files, job.stop, job.observer)?, &[])?;
    let Outcome::Done(Some(mut figures)) = outcome else { return Ok(outcome) };
    let facts = ProcessFacts::read(&job.dir().join(FINAL)).map_err(TrainError::from)?;
    let auc = facts.held_out.auc.map(|found| ("held-out AUC", found));
    let measured = auc.into_iter().chain([("calibration error", facts.held_out.calibration_error)]);
    figures.extend(measured.map(|(name, found)| StageFigure {
        name: name.to_owned(),
        value: found.value,
        interval: found.interval(),
    }));
    figures.push(figure("labels that the end contradicts", facts.labels.disagreeing_share()));
    Ok(Outcome::Done(Some(figures)))
}
