//! The training of a process reward model on the transitions of scored episodes.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_model::adapter::WEIGHTS_FILE;
use whetstone_train::TrainError;
use whetstone_train::inputs::Files;
use whetstone_train::plan::Plan;
use whetstone_train::process_reward::{
    EpisodeSplit, LabelCounts, Prm, ProcessFacts, STAGE, SplitLabels, TokenTransitions, hold_out,
    prm, probe, read_episodes, shared_task, token_transitions,
};
use whetstone_train::session::FINAL_MODEL;
use whetstone_train::watch::{Ended, Watch};
use whetstone_train::watchdog::Watchdog;

use super::planned::Planned;
use super::said::say_parameters;
use super::{End, RunRequest, begin, inputs, lengths, planned};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};
use crate::process_scoring::lines;
use crate::text::{counted, plain};

/// Characters of a task's name that are shown.
const NAME: usize = 100;

const SHOWN: Shown = &[
    (metric::PRM_LOSS.name, "loss"),
    (metric::PRM_ACCURACY.name, "right"),
    (metric::PRM_HELD_OUT_AUC.name, "AUC"),
    (metric::PRM_HELD_OUT_CALIBRATION_ERROR.name, "calibration"),
];

/// Trains a process reward model on the episodes of files.
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
        None if given.episodes.is_empty() => return Err(NO_EPISODES),
        None => {
            let adapter = adapter.as_deref().map(|dir| dir.join(WEIGHTS_FILE));
            Files { adapter, ..given.clone() }
        }
    };
    let EpisodeSplit { train, held_out } = split(&files, config, observer)?;
    let labels =
        SplitLabels { train: LabelCounts::of(&train), held_out: LabelCounts::of(&held_out) };
    labels.train.check()?;
    say_labels("to learn from", &labels.train, observer);
    say_labels("held out", &labels.held_out, observer);
    let loaded = lengths::fit(loaded, observer)?;
    let config = &loaded.config;
    let begun = begin::look(request, config, STAGE)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    // The directory of the adapter to begin with, where there is no checkpoint yet.
    let first = files.adapter.as_deref().and_then(Path::parent);
    let mut student = begin::student(request, config, checkpoint.as_deref().or(first), observer)?;
    student.add_score_head(config)?;
    let limit = config.training.max_length as usize;
    let train = token_transitions(&student.model, &train, limit)?;
    let held_out = token_transitions(&student.model, &held_out, limit)?;
    say_cut(&[&train, &held_out], limit, observer);
    let plan = Plan::prm(config, train.transitions.len())?;
    let arithmetic = plan.scored_arithmetic("transitions", config.training.max_steps == 0);
    observer.note(&arithmetic);
    let mib = student.prm_memory(config).total() >> 20;
    say_parameters(&student, &format!("{mib} MiB"), observer);
    let view = observer.training(plan.steps, SHOWN);
    let on_silence = |sentence: &str| view.warning(sentence);
    let training = Prm {
        config,
        transitions: &train.transitions,
        held_out: &held_out.transitions,
        labels,
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
        let whole = planned.prm(&training, &files);
        let probed = probe(&mut student, &training);
        view.finish();
        return planned::probed(whole, probed);
    }
    let mut session = begun.session(request, &loaded, STAGE)?;
    if known.is_none() {
        inputs::keep_and_say(request, session.run(), &files, observer)?;
    }
    let result = prm(&mut student, &mut session, &training);
    view.finish();
    let ended = result?;
    if ended == Ended::Done {
        let facts = ProcessFacts::read(&session.dir().join("outputs").join(FINAL_MODEL));
        say_facts(&facts.map_err(TrainError::from)?, observer);
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

const NO_EPISODES: Failure = Failure::Usage {
    problem: "no episodes are named",
    hint: "name scored rollouts with `--rollouts FILE`, e.g. `runs/NAME/rollouts/rollouts.jsonl`",
};

/// The episodes of a training: those of other files are measured by, or else a part of the first.
fn split(files: &Files, config: &Config, observer: &dyn Observer) -> Result<EpisodeSplit, Failure> {
    let read = read_episodes(&files.episodes)?;
    say_without(read.without, observer);
    if files.held_out_episodes.is_empty() {
        return Ok(hold_out(read.episodes, config)?);
    }
    let held_out = read_episodes(&files.held_out_episodes)?;
    say_without(held_out.without, observer);
    if let Some(task) = shared_task(&read.episodes, &held_out.episodes) {
        let problem = format!(
            "held-out episodes must be of other tasks, and `{}` is one of those to learn from too",
            plain(task.as_str(), NAME)
        );
        return Err(TrainError::Settings(problem).into());
    }
    Ok(EpisodeSplit { train: read.episodes, held_out: held_out.episodes })
}

fn say_without(lines: usize, observer: &dyn Observer) {
    if lines > 0 {
        observer.note(&format_args!("{} without transitions, passed over", counted(lines, "line")));
    }
}

/// Says what the labels are, and how often the end of an episode contradicts them.
fn say_labels(what: &str, counts: &LabelCounts, observer: &dyn Observer) {
    let LabelCounts { episodes, solved, transitions, .. } = *counts;
    observer.note(&format_args!(
        "{transitions} transitions of {episodes} episodes {what} ({solved} solved): {:.1} % have a positive \
         label, {:.1} % a label that the end of their episode contradicts ({} positive in unsolved ones, {} \
         negative in solved ones)",
        100.0 * counts.positive_share(),
        100.0 * counts.disagreeing_share(),
        counts.positive_unsolved,
        counts.negative_solved
    ));
}

fn say_cut(made: &[&TokenTransitions], limit: usize, observer: &dyn Observer) {
    let cut: usize = made.iter().map(|made| made.cut).sum();
    let longest = made.iter().map(|made| made.longest).max().unwrap_or(0);
    if cut > 0 {
        observer.warning(&format_args!(
            "{} of more than {limit} tokens lose their middle (the longest has {longest}); raise \
             `training.max_length`",
            counted(cut, "transition")
        ));
    }
}

/// Says what a process reward model is worth, and what makes that doubtful.
fn say_facts(facts: &ProcessFacts, observer: &dyn Observer) {
    observer.note(&"measured on all held-out transitions:");
    for line in lines(&facts.held_out) {
        observer.note(&line);
    }
    if !facts.is_better_than_chance() {
        observer.warning(
            &"progress of held-out transitions is not told apart clearly better than by chance: do not \
              train with this process reward model",
        );
    }
}
