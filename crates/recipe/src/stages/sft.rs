//! `sft`: traces into a model that imitates them.

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::models::student;
use super::trained::{FINAL, NoOptions, ended};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::training::sft;
use whetstone_core::metric;

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "sft",
    command: "whet train sft",
    takes: |_| vec![Take::Needs(What::Traces), Take::May(What::Model)],
    makes: &[(What::Model, FINAL)],
    check: |entry, _| options::<NoOptions>(entry),
    run,
    sections: &["prompt", "student", "lora", "training"],
    stops: Stops::AfterAStep,
};

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let request = job.run_request(&student(job)?)?;
    let outcome = sft::run(&request, job.input(What::Traces), job.stop, job.observer)?;
    ended(job, outcome, &[(metric::SFT_LOSS, "loss")])
}
