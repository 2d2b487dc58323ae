//! The training of a student on preference pairs: DPO, IPO or SimPO.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_core::config::{Config, Trained};
use whetstone_core::metric;
use whetstone_model::adapter::WEIGHTS_FILE;
use whetstone_train::TrainError;
use whetstone_train::dpo::{Dpo, STAGE, dpo, probe};
use whetstone_train::inputs::Files;
use whetstone_train::plan::Plan;
use whetstone_train::reward_model::token_pairs;
use whetstone_train::watch::Watch;
use whetstone_train::watchdog::Watchdog;

use super::pairs::{check, say, split};
use super::planned::Planned;
use super::rm::PAIRS;
use super::said::say_parameters;
use super::{End, RunRequest, begin, inputs, lengths, planned};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};

const SHOWN: Shown = &[
    (metric::DPO_LOSS.name, "loss"),
    (metric::DPO_ACCURACY.name, "right"),
    (metric::DPO_MARGIN.name, "margin"),
    (metric::DPO_CHOSEN_REWARD.name, "chosen"),
    (metric::DPO_HELD_OUT_ACCURACY.name, "held-out"),
];

/// Trains on a file of pairs; there is a default.
///
/// # Errors
///
/// If settings or files cannot be used, or training fails.
pub fn run(
    request: &RunRequest,
    given: &Files,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome<End>, Failure> {
    let begin::Start { request, adapter } = begin::Start::of(request, STAGE);
    let request = &request;
    let loaded = begin::settings(request, &[])?;
    let config = &loaded.config;
    let known = inputs::known(request, config)?;
    let files = match &known {
        Some(known) => known.files(given)?,
        None if request.resume => return Err(inputs::NONE_RECORDED),
        None => {
            let pairs = Some(given.pairs.clone().unwrap_or_else(|| PAIRS.into()));
            let adapter = adapter.as_deref().map(|dir| dir.join(WEIGHTS_FILE));
            Files { pairs, adapter, ..given.clone() }
        }
    };
    let path = files.pairs.as_deref().unwrap_or(Path::new(PAIRS));
    let (fraction, seed) = (config.dpo.held_out_fraction, config.seed);
    let pairs = split(path, files.held_out_pairs.as_deref(), fraction, seed)?;
    // The directory of the adapter to begin with, where there is no checkpoint yet.
    let initial = files.adapter.as_deref().and_then(Path::parent);
    check_adapter_is_trained(config, initial)?;
    let loaded = lengths::fit(loaded, observer)?;
    let config = &loaded.config;
    let begun = begin::look(request, config, STAGE)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let mut student = begin::student(request, config, checkpoint.as_deref().or(initial), observer)?;
    let limit = config.training.max_length as usize;
    let train = token_pairs(&student.model, &pairs.train, limit)?;
    let held_out = token_pairs(&student.model, &pairs.held_out, limit)?;
    say("to learn from", &train, limit, observer);
    say("held out", &held_out, limit, observer);
    check(&train, pairs.train.len(), limit)?;
    check(&held_out, pairs.held_out.len(), limit)?;
    let plan = Plan::dpo(config, train.pairs.len())?;
    let arithmetic = plan.scored_arithmetic("pairs", config.training.max_steps == 0);
    observer.note(&arithmetic);
    observer.note(&reference(config, initial));
    let mib = student.dpo_memory(config).total() >> 20;
    say_parameters(&student, &format!("{mib} MiB"), observer);
    let view = observer.training(plan.steps, SHOWN);
    let on_silence = |sentence: &str| view.warning(sentence);
    let training = Dpo {
        config,
        pairs: &train.pairs,
        held_out: &held_out.pairs,
        initial,
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
        let whole = planned.dpo(&training, &files);
        let probed = probe(&mut student, &training);
        view.finish();
        return planned::probed(whole, probed);
    }
    let mut session = begun.session(request, &loaded, STAGE)?;
    if known.is_none() {
        inputs::keep_and_say(request, session.run(), &files, observer)?;
    }
    let result = dpo(&mut student, &mut session, &training);
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

/// Refuses an adapter to begin with where all weights are trained: the result would have none.
fn check_adapter_is_trained(config: &Config, initial: Option<&Path>) -> Result<(), TrainError> {
    let Some(dir) = initial.filter(|_| config.training.train == Trained::Full) else {
        return Ok(());
    };
    let dir = dir.display();
    Err(TrainError::Settings(format!(
        "`--from {dir}` is an adapter, and `training.train=full` trains all weights: merge it first with `whet export \
         {dir} --out NEW`, and name the result with `--set student.model_name=NEW`"
    )))
}

/// Says what the reference is.
fn reference(config: &Config, initial: Option<&Path>) -> String {
    if !config.dpo.loss.has_reference() {
        return "`dpo.loss = \"simpo\"` has no reference".to_owned();
    }
    match (config.training.train, initial) {
        (Trained::Full, _) => "the reference is the base, loaded once more".to_owned(),
        (Trained::Lora, None) => "the reference is the student without its adapter".to_owned(),
        (Trained::Lora, Some(dir)) => {
            format!(
                "the reference is the adapter that the training begins with, `{}`",
                dir.display()
            )
        }
    }
}
