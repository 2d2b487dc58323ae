//! `eval`: a model measured on held-out tasks.

use serde::Deserialize;

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::measured::{SampleOptions, measure};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::evaluation::Policy;
use crate::failure::Failure;

/// The kind. Its samples are of held-out tasks, so they are not offered to stages that learn.
pub(super) const KIND: Kind = Kind {
    name: "eval",
    command: "whet eval",
    takes: |_| vec![Take::Needs(What::HeldOut), Take::May(What::Model)],
    makes: &[],
    check: |entry, _| options::<EvalOptions>(entry),
    run,
    sections: &["prompt", "student", "env", "sandbox", "reward", "grpo", "eval"],
    stops: Stops::AfterAStep,
};

/// The options, named as the flags of `whet eval`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EvalOptions {
    max_tokens: Option<usize>,
    max_tasks: Option<usize>,
    skip_greedy: bool,
    /// Measures a policy of the environment instead of a model.
    policy: Option<Policy>,
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let EvalOptions { max_tokens, max_tasks, skip_greedy, policy } = job.options()?;
    let keep_tokens = false;
    let sampling = SampleOptions { max_tokens, max_tasks, policy, skip_greedy, keep_tokens };
    measure(job, job.needed(What::HeldOut), &sampling)
}
