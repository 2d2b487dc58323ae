//! `ppo`: tasks into a model that a reward model, the judge, or both pay, with a critic.

use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_train::inputs::Files;

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::models::{StartFrom, reward_model, reward_model_setting, start_from};
use super::trained::{FINAL, NoOptions, ROLLOUTS, ended};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::training::ppo;

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "ppo",
    command: "whet train ppo",
    takes,
    makes: &[(What::Model, FINAL), (What::Rollouts, ROLLOUTS)],
    check: |entry, _| options::<NoOptions>(entry),
    run,
    sections: &[
        "prompt", "student", "lora", "env", "sandbox", "reward", "ppo", "training", "held_out",
    ],
    stops: Stops::AfterAStep,
};

fn takes(config: &Config) -> Vec<Take> {
    let others = [Take::Needs(What::Tasks), Take::May(What::HeldOut), Take::May(What::Model)];
    others.into_iter().chain(reward_model(config)).collect()
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let StartFrom { mut settings, adapter } = start_from(job)?;
    settings.extend(reward_model_setting(job));
    let mut request = job.run_request(&settings)?;
    request.from = adapter.filter(|_| !request.resume);
    let files = Files {
        tasks: job.input(What::Tasks),
        held_out: job.input(What::HeldOut),
        ..Files::default()
    };
    let outcome = ppo::run(&request, files, job.stop, job.observer)?;
    ended(
        job,
        outcome,
        &[
            (metric::PPO_MEAN_REWARD, "reward"),
            (metric::PPO_PASS_RATE, "pass rate"),
            (metric::HELD_OUT_PASS_RATE, "held-out pass rate"),
            (metric::PPO_KL_DIVERGENCE, "KL of the last step"),
        ],
    )
}
