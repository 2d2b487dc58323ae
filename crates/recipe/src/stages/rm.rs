//! `rm`: preference pairs into a reward model.

use whetstone_record::stages::StageFigure;
use whetstone_train::TrainError;
use whetstone_train::inputs::Files;
use whetstone_train::reward_model::Facts;

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::models::{StartFrom, start_from};
use super::trained::{FINAL, NoOptions, ended};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::training::rm;

/// The kind. It begins with the adapter of an earlier stage, on the same base as the policy that it will
/// judge.
pub(super) const KIND: Kind = Kind {
    name: "rm",
    command: "whet train rm",
    takes: |_| {
        vec![Take::Needs(What::Pairs), Take::May(What::HeldOutPairs), Take::May(What::Model)]
    },
    makes: &[(What::RewardModel, FINAL)],
    check: |entry, _| options::<NoOptions>(entry),
    run,
    sections: &["prompt", "student", "lora", "rm", "training"],
    stops: Stops::AfterAStep,
};

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let StartFrom { settings, adapter } = start_from(job)?;
    let mut request = job.run_request(&settings)?;
    request.from = adapter.filter(|_| !request.resume);
    let files = Files {
        pairs: job.input(What::Pairs),
        held_out_pairs: job.input(What::HeldOutPairs),
        ..Files::default()
    };
    let outcome = ended(job, rm::run(&request, &files, job.stop, job.observer)?, &[])?;
    let Outcome::Done(Some(mut figures)) = outcome else { return Ok(outcome) };
    let facts = Facts::read(&job.dir().join(FINAL)).map_err(TrainError::from)?;
    let found = [
        ("held-out accuracy", facts.held_out.accuracy),
        ("lead of the chosen reply", facts.held_out.margin),
    ];
    figures.extend(found.map(|(name, found)| StageFigure {
        name: name.to_owned(),
        value: found.value,
        interval: found.interval(),
    }));
    Ok(Outcome::Done(Some(figures)))
}
