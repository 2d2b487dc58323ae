//! `grpo`: tasks, and traces where they have a weight, into a model that is paid by verdicts.

use whetstone_config::{Loaded, Problem, StageEntry};
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_train::inputs::Files;

use super::job::{Job, Kind, StageEnd, Stops, options};
use super::models::{
    process_model, process_model_setting, reward_model, reward_model_setting, student,
};
use super::trained::{FINAL, NoOptions, ROLLOUTS, ended};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::training::grpo;

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "grpo",
    command: "whet train grpo",
    takes,
    makes: &[(What::Model, FINAL), (What::Rollouts, ROLLOUTS)],
    check,
    run,
    sections: &[
        "prompt",
        "student",
        "lora",
        "env",
        "sandbox",
        "reward",
        "grpo",
        "dual_source",
        "training",
        "held_out",
    ],
    stops: Stops::AfterAStep,
};

fn takes(config: &Config) -> Vec<Take> {
    let traces = (config.dual_source.teacher_sft_weight > 0.0).then_some(Take::Needs(What::Traces));
    let others = [Take::Needs(What::Tasks), Take::May(What::HeldOut), Take::May(What::Model)];
    others
        .into_iter()
        .chain(traces)
        .chain(reward_model(config))
        .chain(process_model(config))
        .collect()
}

fn check(entry: &StageEntry, loaded: &Loaded) -> Vec<Problem> {
    let mut problems = options::<NoOptions>(entry);
    problems.extend(loaded.refused_by_grpo());
    problems
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let mut settings = student(job)?;
    settings.extend(reward_model_setting(job));
    settings.extend(process_model_setting(job));
    let request = job.run_request(&settings)?;
    let files = Files {
        tasks: job.input(What::Tasks),
        held_out: job.input(What::HeldOut),
        traces: job.input(What::Traces),
        ..Files::default()
    };
    let outcome = grpo::run(&request, files, job.stop, job.observer)?;
    ended(
        job,
        outcome,
        &[
            (metric::GRPO_MEAN_REWARD, "reward"),
            (metric::GRPO_PASS_RATE, "pass rate"),
            (metric::HELD_OUT_PASS_RATE, "held-out pass rate"),
        ],
    )
}
