//! `sft`: traces, or rows, into a model that imitates them.
//!
//! A stage reads rows where its `input` names them: `input = { rows = "teach" }`.

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::models::student;
use super::trained::{FINAL, NoOptions, ended};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::training::sft;
use whetstone_core::metric;
use whetstone_train::inputs::Files;

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "sft",
    command: "whet train sft",
    takes: |_| vec![Take::FirstOf(&[What::Traces, What::Rows]), Take::May(What::Model)],
    makes: &[(What::Model, FINAL)],
    check: |entry, _| options::<NoOptions>(entry),
    run,
    sections: &["prompt", "student", "lora", "training"],
    stops: Stops::AfterAStep,
};

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let request = job.run_request(&student(job)?)?;
    let rows = job.input(What::Rows);
    let traces = job.input(What::Traces).filter(|_| rows.is_none());
    let files = Files { traces, rows, ..Files::default() };
    let outcome = sft::run(&request, files, job.stop, job.observer)?;
    ended(job, outcome, &[(metric::SFT_LOSS, "loss")])
}
