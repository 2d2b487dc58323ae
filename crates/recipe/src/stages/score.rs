//! `score`: rollouts into rollouts with verdict, reward and advantage.

use serde::Deserialize;
use whetstone_core::config::AdvantageBy;

use super::job::{Job, Kind, StageEnd, Stops, figure, options};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::number;
use crate::scoring::{self, ScoreRequest};

const SCORED: &str = "rollouts.scored.jsonl";

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "score",
    command: "whet score",
    takes: |_| vec![Take::Needs(What::Rollouts), Take::Needs(What::Tasks)],
    makes: &[(What::Rollouts, SCORED)],
    check: |entry, _| options::<ScoreOptions>(entry),
    run,
    sections: &["env", "sandbox", "reward", "grpo"],
    stops: Stops::AtOnce,
};

/// The options, named as the flags of `whet score`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ScoreOptions {
    strict: bool,
    skip_runtime: bool,
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    job.create_dir()?;
    let ScoreOptions { strict, skip_runtime } = job.options()?;
    let request = ScoreRequest {
        rollouts: job.needed(What::Rollouts),
        tasks: job.needed(What::Tasks),
        out: Some(job.dir().join(SCORED)),
        report: None,
        cache: None,
        api_index: None,
        validator: None,
        advantage: AdvantageBy::Mean,
        strict,
        skip_runtime,
        fresh: false,
        dry_run: job.dry_run,
    };
    Ok(match scoring::run(&request, job.config, job.observer)? {
        Outcome::Planned(plan) => Outcome::Planned(plan),
        Outcome::Done(scored) => Outcome::Done(Some(vec![
            figure("lines", number(scored.report.lines)),
            figure("scored lines", number(scored.report.scored)),
        ])),
    })
}
