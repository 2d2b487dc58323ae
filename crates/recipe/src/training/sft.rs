//! Supervised fine-tuning on a teacher's traces.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_data::rows::RowCounts;
use whetstone_train::inputs::Files;
use whetstone_train::plan::Plan;
use whetstone_train::sft::{STAGE, Sft, probe, sft};
use whetstone_train::watch::Watch;
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{Example, rows};

use super::planned::Planned;
use super::said::say_parameters;
use super::{End, RunRequest, begin, inputs, left_out, planned};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};

const SHOWN: Shown = &[
    (metric::SFT_LOSS.name, "loss"),
    (metric::SFT_GRAD_NORM.name, "norm"),
    (metric::SFT_LR.name, "lr"),
];

/// Trains on a file of traces; there is a default.
///
/// # Errors
///
/// If settings or files cannot be used, or training fails.
pub fn run(
    request: &RunRequest,
    traces: Option<PathBuf>,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome<End>, Failure> {
    let loaded = begin::settings(request, &[])?;
    let config = &loaded.config;
    let known = inputs::known(request, config)?;
    let given = Files { traces, ..Files::default() };
    let files = match &known {
        Some(known) => known.files(&given)?,
        None => {
            Files { traces: Some(given.traces.unwrap_or_else(|| inputs::TRACES.into())), ..given }
        }
    };
    let path = files.traces.as_deref().unwrap_or(Path::new(inputs::TRACES));
    let traces = inputs::read_traces(path)?;
    let begun = begin::look(request, config, STAGE)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let mut student = begin::student(request, config, checkpoint.as_deref(), observer)?;
    let made = rows(&student, &traces, config)?;
    let examples: Vec<Example> = made.rows.iter().map(Example::from).collect();
    counts(&made.counts, config, observer);
    let mut found = left_out::Traces::new(path, config.training.max_length as usize);
    found.made(traces.iter().map(|trace| &trace.task_id), &made);
    found.warn(observer);
    let plan = Plan::sft(config, examples.len())?;
    let arithmetic = plan.arithmetic("rows", config.training.max_steps == 0);
    observer.note(&arithmetic);
    let mib = student.sft_memory(config).total() >> 20;
    say_parameters(&student, &format!("{mib} MiB"), observer);
    let view = observer.training(plan.steps, SHOWN);
    let on_silence = |sentence: &str| view.warning(sentence);
    let training = Sft {
        config,
        rows: &examples,
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
        let whole = planned.sft(&examples, path);
        let probed = probe(&mut student, &training);
        view.finish();
        return planned::probed(whole, probed);
    }
    let mut session = begun.session(request, &loaded, STAGE)?;
    if known.is_none() {
        inputs::keep_and_say(request, session.run(), &files, observer)?;
    }
    let result = sft(&mut student, &mut session, &training);
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

/// Says the counts of traces by outcome.
fn counts(counts: &RowCounts, config: &Config, observer: &dyn Observer) {
    let RowCounts { traces, rows, not_passing, no_response, too_long } = counts;
    observer.note(&format_args!(
        "{traces} traces, {rows} rows; left out: {not_passing} not passing, {no_response} without \
         program, {too_long} longer than {} tokens",
        config.training.max_length
    ));
}
