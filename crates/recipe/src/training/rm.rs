//! The training of a reward model on preference pairs.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_core::metric;
use whetstone_model::adapter::WEIGHTS_FILE;
use whetstone_train::inputs::Files;
use whetstone_train::plan::Plan;
use whetstone_train::reward_model::{Facts, Rm, STAGE, probe, rm, token_pairs};
use whetstone_train::session::FINAL_MODEL;
use whetstone_train::watch::{Ended, Watch};
use whetstone_train::watchdog::Watchdog;

use super::pairs::{check, say, split};
use super::planned::Planned;
use super::said::say_parameters;
use super::{End, RunRequest, begin, inputs, lengths, planned};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};
use crate::reward_scoring::lines;

/// The pairs of a new run, unless others are named.
pub const PAIRS: &str = "data/pairs.jsonl";

const SHOWN: Shown = &[
    (metric::RM_LOSS.name, "loss"),
    (metric::RM_ACCURACY.name, "right"),
    (metric::RM_MARGIN.name, "lead"),
    (metric::RM_HELD_OUT_ACCURACY.name, "held-out"),
];

/// Trains a reward model on a file of pairs; there is a default.
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
    let (fraction, seed) = (config.rm.held_out_fraction, config.seed);
    let pairs = split(path, files.held_out_pairs.as_deref(), fraction, seed)?;
    let loaded = lengths::fit(loaded, observer)?;
    let config = &loaded.config;
    let begun = begin::look(request, config, STAGE)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    // The directory of the adapter to begin with, where there is no checkpoint yet.
    let first = files.adapter.as_deref().and_then(Path::parent);
    let mut student = begin::student(request, config, checkpoint.as_deref().or(first), observer)?;
    student.add_score_head(config)?;
    let limit = config.training.max_length as usize;
    let train = token_pairs(&student.model, &pairs.train, limit)?;
    let held_out = token_pairs(&student.model, &pairs.held_out, limit)?;
    say("to learn from", &train, limit, observer);
    say("held out", &held_out, limit, observer);
    check(&train, pairs.train.len(), limit)?;
    check(&held_out, pairs.held_out.len(), limit)?;
    let plan = Plan::rm(config, train.pairs.len())?;
    let arithmetic = plan.scored_arithmetic("pairs", config.training.max_steps == 0);
    observer.note(&arithmetic);
    let mib = student.rm_memory(config).total() >> 20;
    say_parameters(&student, &format!("{mib} MiB"), observer);
    let view = observer.training(plan.steps, SHOWN);
    let on_silence = |sentence: &str| view.warning(sentence);
    let training = Rm {
        config,
        pairs: &train.pairs,
        held_out: &held_out.pairs,
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
        let whole = planned.rm(&training, &files);
        let probed = probe(&mut student, &training);
        view.finish();
        return planned::probed(whole, probed);
    }
    let mut session = begun.session(request, &loaded, STAGE)?;
    if known.is_none() {
        inputs::keep_and_say(request, session.run(), &files, observer)?;
    }
    let result = rm(&mut student, &mut session, &training);
    view.finish();
    let ended = result?;
    if ended == Ended::Done {
        let facts = Facts::read(&session.dir().join("outputs").join(FINAL_MODEL));
        say_facts(&facts.map_err(whetstone_train::TrainError::from)?, observer);
    }
    Ok(Outcome::Done(End {
        stage: STAGE,
        runs: config.run.dir.clone(),
        dir: session.dir().to_owned(),
        ended,
        steps: plan.steps,
        arithmetic,
    }))
}

/// Says what a reward model is worth, and what makes that doubtful.
fn say_facts(facts: &Facts, observer: &dyn Observer) {
    observer.note(&"measured on all held-out pairs:");
    for line in lines(&facts.held_out) {
        observer.note(&line);
    }
    if !facts.is_better_than_chance() {
        observer.warning(
            &"the order of held-out pairs is not clearly better than chance: do not train with this reward \
              model",
        );
    }
}
