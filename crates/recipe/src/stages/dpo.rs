//! `dpo`: preference pairs into a model that prefers the chosen replies.

use whetstone_core::config::Trained;
use whetstone_core::metric;
use whetstone_train::inputs::Files;

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::models::{StartFrom, start_from, student};
use super::trained::{FINAL, NoOptions, ended};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::training::dpo;

/// The kind. It begins with the adapter of an earlier stage, which is also its reference.
pub(super) const KIND: Kind = Kind {
    name: "dpo",
    command: "whet train dpo",
    takes: |_| {
        vec![Take::Needs(What::Pairs), Take::May(What::HeldOutPairs), Take::May(What::Model)]
    },
    makes: &[(What::Model, FINAL)],
    check: |entry, _| options::<NoOptions>(entry),
    run,
    sections: &["prompt", "student", "lora", "dpo", "training"],
    stops: Stops::AfterAStep,
};

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let StartFrom { settings, adapter } = match job.config.training.train {
        Trained::Lora => start_from(job)?,
        Trained::Full => StartFrom { settings: student(job)?, adapter: None },
    };
    let mut request = job.run_request(&settings)?;
    request.from = adapter.filter(|_| !request.resume);
    let files = Files {
        pairs: job.input(What::Pairs),
        held_out_pairs: job.input(What::HeldOutPairs),
        ..Files::default()
    };
    let outcome = dpo::run(&request, &files, job.stop, job.observer)?;
    ended(
        job,
        outcome,
        &[
            (metric::DPO_LOSS, "loss"),
            (metric::DPO_HELD_OUT_ACCURACY, "held-out accuracy"),
            (metric::DPO_HELD_OUT_MARGIN, "lead of the chosen reply"),
        ],
    )
}
