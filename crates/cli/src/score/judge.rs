//! The judge that `whet score` asks.

use whetstone_core::config::Config;
use whetstone_rollout::cache::Identity;
use whetstone_sandbox::job::Judging;

use crate::failure::Failure;

/// A judge at work, and what its verdicts depend on.
pub(super) struct Started {
    pub(super) judge: Box<dyn Judging>,
    pub(super) identity: Identity,
}

/// Starts the judge that the settings ask for.
pub(super) fn start_judge(config: &Config) -> Result<Started, Failure> {
    Err(Failure::Judge {
        problem: format!("no judge for `{}` programs is built in", config.sandbox.python),
        hint: "give `--skip-runtime` to score what can be read off the replies alone",
    })
}
