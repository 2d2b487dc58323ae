//! `sample`: a model's judged rollouts of tasks to learn from, as input of `score` and `pairs`.

use serde::Deserialize;
use whetstone_eval::ROLLOUTS;

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::measured::{SampleOptions, measure};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "sample",
    command: "whet eval --keep-tokens",
    takes: |_| vec![Take::Needs(What::Tasks), Take::May(What::Model)],
    makes: &[(What::Rollouts, ROLLOUTS)],
    check: |entry, _| options::<SamplingOptions>(entry),
    run,
    sections: &["prompt", "student", "env", "sandbox", "reward", "grpo", "eval"],
    stops: Stops::AfterAStep,
};

/// The options, named as the flags of `whet eval`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SamplingOptions {
    max_tokens: Option<usize>,
    max_tasks: Option<usize>,
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let SamplingOptions { max_tokens, max_tasks } = job.options()?;
    let (skip_greedy, keep_tokens) = (true, true);
    let sampling = SampleOptions { max_tokens, max_tasks, policy: None, skip_greedy, keep_tokens };
    measure(job, job.needed(What::Tasks), &sampling)
}
