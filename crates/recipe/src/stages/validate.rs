//! `validate`: tasks into proven tasks.

use serde::Deserialize;

use super::job::{Job, Kind, StageEnd, Stops, figure, options};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::number;
use crate::validation::{self, ValidateRequest};

const PROVEN: &str = "proven.jsonl";
const DROPPED: &str = "dropped.jsonl";

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "validate",
    command: "whet data validate",
    takes: |_| vec![Take::Needs(What::Tasks)],
    makes: &[(What::Tasks, PROVEN)],
    check: |entry, _| options::<ValidateOptions>(entry),
    run,
    sections: &["sandbox"],
    stops: Stops::AtOnce,
};

/// The options, named as the flags of `whet data validate`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ValidateOptions {
    repeats: u32,
    max_cpu_share: f64,
    limit: Option<u64>,
}

impl Default for ValidateOptions {
    fn default() -> Self {
        Self {
            repeats: validation::DEFAULT_REPEATS,
            max_cpu_share: validation::DEFAULT_MAX_CPU_SHARE,
            limit: None,
        }
    }
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    job.create_dir()?;
    let ValidateOptions { repeats, max_cpu_share, limit } = job.options()?;
    let dir = job.dir();
    let request = ValidateRequest {
        tasks: vec![job.needed(What::Tasks)],
        out: Some(dir.join(PROVEN)),
        dropped: Some(dir.join(DROPPED)),
        repeats: repeats.max(1),
        max_cpu_share,
        limit,
        fresh: false,
        dry_run: job.dry_run,
    };
    Ok(match validation::run(&request, job.config, job.observer)? {
        Outcome::Planned(plan) => Outcome::Planned(plan),
        Outcome::Done(report) => Outcome::Done(Some(vec![
            figure("proven tasks", number(report.total.proven)),
            figure("tasks", number(report.total.tasks)),
        ])),
    })
}
