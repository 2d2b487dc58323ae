//! `pairs`: judged rollouts and traces into preference pairs.

use serde::Deserialize;

use super::job::{Job, Kind, StageEnd, Stops, figure, options};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::number;
use crate::pairs::{self, PairsRequest};

const PAIRS: &str = "pairs.jsonl";
const HELD_OUT: &str = "pairs.val.jsonl";

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "pairs",
    command: "whet data pairs",
    takes: |_| vec![Take::OneOf(&[What::Rollouts, What::Traces]), Take::May(What::Tasks)],
    makes: &[(What::Pairs, PAIRS), (What::HeldOutPairs, HELD_OUT)],
    check: |entry, _| options::<PairsOptions>(entry),
    run,
    sections: &["prompt"],
    stops: Stops::AtOnce,
};

/// The options, named as the flags of `whet data pairs`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PairsOptions {
    val_fraction: f64,
    min_gap: f64,
    min_distance: f64,
    per_task: usize,
    strict: bool,
}

impl Default for PairsOptions {
    fn default() -> Self {
        Self {
            val_fraction: pairs::DEFAULT_VAL_FRACTION,
            min_gap: pairs::DEFAULT_MIN_GAP,
            min_distance: pairs::DEFAULT_MIN_DISTANCE,
            per_task: pairs::DEFAULT_PER_TASK,
            strict: false,
        }
    }
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    job.create_dir()?;
    let options: PairsOptions = job.options()?;
    let dir = job.dir();
    let request = PairsRequest {
        rollouts: job.input(What::Rollouts).into_iter().collect(),
        traces: job.input(What::Traces).into_iter().collect(),
        pairs: Vec::new(),
        tasks: job.input(What::Tasks).into_iter().collect(),
        out: dir.join(PAIRS),
        out_val: Some(dir.join(HELD_OUT)),
        val_fraction: options.val_fraction.clamp(f64::MIN_POSITIVE, 0.9),
        min_gap: options.min_gap,
        min_distance: options.min_distance,
        per_task: options.per_task.max(1),
        strict: options.strict,
        dry_run: job.dry_run,
    };
    Ok(match pairs::run(&request, job.config, job.observer)? {
        Outcome::Planned(plan) => Outcome::Planned(plan),
        Outcome::Done(summary) => Outcome::Done(Some(vec![
            figure("pairs", number(summary.pairs)),
            figure("held-out pairs", number(summary.pairs_held_out)),
        ])),
    })
}
