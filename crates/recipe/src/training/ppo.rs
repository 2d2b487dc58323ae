//! PPO with a critic, on tasks, paid by the judge, by a reward model, or by both.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_infer::Limits;
use whetstone_model::adapter::WEIGHTS_FILE;
use whetstone_train::inputs::{Files, Known};
use whetstone_train::plan::Plan;
use whetstone_train::ppo::{Ppo, STAGE, ppo, probe};
use whetstone_train::watch::Watch;
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{SampledSequences, Student};

use super::begin::{self, Start};
use super::grpo::PromptRoom;
use super::inputs::{self, Inputs};
use super::planned::{self, Planned};
use super::said::{sampling_memory, say_parameters};
use super::{End, RunRequest, reward_model};
use crate::dry_run::Outcome;
use crate::environment;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};
use crate::prompting;

/// The metrics on the progress line.
const SHOWN: Shown = &[
    (metric::PPO_MEAN_REWARD.name, "reward"),
    (metric::PPO_PASS_RATE.name, "pass"),
    (metric::HELD_OUT_PASS_RATE.name, "held-out"),
    (metric::PPO_KL_DIVERGENCE.name, "kl"),
    (metric::PPO_EXPLAINED_VARIANCE.name, "explained"),
    (metric::SPEED_SAMPLED_TOKENS_PER_S.name, "tokens/s"),
];

/// Trains with PPO on the files that are `given`; defaults stand for those that are not.
///
/// # Errors
///
/// If settings or files cannot be used, or training fails.
pub fn run(
    request: &RunRequest,
    given: Files,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome<End>, Failure> {
    let Start { request, adapter } = Start::of(request, STAGE);
    let request = &request;
    let loaded = begin::settings(request, &[])?;
    let config = &loaded.config;
    let known = inputs::known(request, config)?;
    let files = files(given, config, adapter.as_deref(), known.as_ref())?;
    inputs::check_named(request, known.as_ref(), &files)?;
    let Inputs { tasks, held_out, .. } = Inputs::read(&files, config, observer)?;
    let first = files.adapter.as_deref().and_then(Path::parent);
    let loaded = prompting::of_training(loaded, request.from.as_deref().or(first), &[], observer)?;
    let config = &loaded.config;
    Plan::ppo(config, tasks.len())?;
    if config.reward.model.is_empty() {
        observer.note(&"rewards are the judge's; `--reward-model DIR` pays by a reward model too");
    }
    // Before anything large is loaded: the judge's processes are children of this one.
    let environment = environment::for_tasks(config, tasks.iter().chain(&held_out))?;
    let begun = begin::look(request, config, STAGE)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let initial = files.adapter.as_deref().and_then(Path::parent);
    let mut student = begin::student(request, config, checkpoint.as_deref().or(initial), observer)?;
    let sampling = config.ppo_sampling();
    let room = PromptRoom { student: &student, config, sampling, environment: &environment };
    let fitting =
        |path: &Option<PathBuf>, tasks: Vec<Task>| room.fitting(path.as_deref(), tasks, observer);
    let tasks = fitting(&files.tasks, tasks)?;
    let held_out =
        fitting(files.held_out.as_ref().map_or(&files.tasks, |_| &files.held_out), held_out)?;
    let plan = Plan::ppo(config, tasks.len())?;
    let arithmetic = plan.ppo_arithmetic(config);
    let sequences = SampledSequences::new(&plan, config, held_out.len());
    let limits = student.ppo_limits(config, sequences);
    observer.note(&arithmetic);
    say_memory(&student, config, limits, observer);
    let view = observer.training(plan.steps, SHOWN);
    let on_silence = |sentence: &str| view.warning(sentence);
    let training = Ppo {
        config,
        tasks: &tasks,
        held_out: &held_out,
        environment: &environment,
        judges: whetstone_env::judge::callers(config),
        limits,
        initial,
        reward_model: files.reward_model.as_deref().and_then(Path::parent),
        process_model: files.process_model.as_deref().and_then(Path::parent),
        checkpoint: checkpoint.as_deref(),
        watch: Watch {
            on_phase: &|phase, part| view.phase(phase, part),
            on_step: &|report| view.step(report),
            on_alarm: &|alarm| view.alarm(alarm),
            stop,
            dog: &Watchdog::new(config.training.watchdog_seconds, &on_silence),
        },
    };
    if request.dry_run {
        let planned = Planned { name: &request.name, student: &student, config, plan: &plan };
        let whole = planned.ppo(&training, &files);
        let probed = probe(&mut student, &training);
        view.finish();
        return planned::probed(whole, probed);
    }
    let mut session = begun.session(request, &loaded, STAGE)?;
    if known.is_none() {
        inputs::keep_and_say(request, session.run(), &files, observer)?;
    }
    let result = ppo(&mut student, &mut session, &training);
    view.finish();
    Ok(Outcome::Done(End {
        stage: STAGE,
        runs: config.run.dir.clone(),
        dir: session.dir().to_owned(),
        ended: result?,
        steps: plan.steps,
        arithmetic,
    }))
}

/// The files of a run: those that it was begun with, or the given ones.
fn files(
    given: Files,
    config: &Config,
    adapter: Option<&Path>,
    known: Option<&Known>,
) -> Result<Files, Failure> {
    if let Some(known) = known {
        return Ok(known.files(&given)?);
    }
    let reward_model = reward_model::weights(config)?;
    let process_model = reward_model::process_weights(config)?;
    let tasks = Some(given.tasks.unwrap_or_else(|| inputs::TASKS.into()));
    let adapter = adapter.map(|dir| dir.join(WEIGHTS_FILE));
    Ok(Files { tasks, adapter, reward_model, process_model, ..given })
}

/// Says which models there are, and what memory they take.
fn say_memory(student: &Student, config: &Config, limits: Limits, observer: &dyn Observer) {
    let (training, sampling) = student.ppo_memory(config, limits.sequences);
    let (training, sampling) = (training.total() >> 20, sampling_memory(&sampling, limits));
    let memory = format!(
        "{training} MiB to train, {sampling}, with policy, critic, reference and reward \
         model on one base"
    );
    say_parameters(student, &memory, observer);
}
