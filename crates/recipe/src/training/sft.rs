//! Supervised fine-tuning on a teacher's traces, or on rows.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::sft_row::SftRow;
use whetstone_core::trace::Trace;
use whetstone_data::rows::RowCounts;
use whetstone_train::inputs::Files;
use whetstone_train::plan::Plan;
use whetstone_train::sft::{STAGE, Sft, probe, sft};
use whetstone_train::watch::Watch;
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{Example, Student, row_examples, rows};

use super::planned::Planned;
use super::said::say_parameters;
use super::{End, RunRequest, begin, inputs, left_out, planned};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};
use crate::prompting;

const SHOWN: Shown = &[
    (metric::SFT_LOSS.name, "loss"),
    (metric::SFT_GRAD_NORM.name, "norm"),
    (metric::SFT_LR.name, "lr"),
];

/// Trains on a file of traces, for which there is a default, or on one of rows.
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
    let loaded = begin::settings(request, &[])?;
    let config = &loaded.config;
    let known = inputs::known(request, config)?;
    let files = match &known {
        Some(known) => known.files(&given)?,
        None if given.rows.is_some() => given,
        None => {
            Files { traces: Some(given.traces.unwrap_or_else(|| inputs::TRACES.into())), ..given }
        }
    };
    inputs::check_named(request, known.as_ref(), &files)?;
    let data = SftData::read(&files)?;
    let path = data.path();
    let loaded = prompting::of_training(loaded, request.from.as_deref(), data.traces(), observer)?;
    let config = &loaded.config;
    let begun = begin::look(request, config, STAGE)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let mut student = begin::student(request, config, checkpoint.as_deref(), observer)?;
    let examples = data.examples(&student, config, observer)?;
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

/// What is learnt from.
enum SftData<'a> {
    Traces { path: &'a Path, traces: Vec<Trace> },
    Rows { path: &'a Path, rows: Vec<SftRow> },
}

impl<'a> SftData<'a> {
    fn read(files: &'a Files) -> Result<Self, Failure> {
        if let Some(path) = files.rows.as_deref() {
            return Ok(Self::Rows { path, rows: inputs::read_rows(path)? });
        }
        let path = files.traces.as_deref().unwrap_or(Path::new(inputs::TRACES));
        Ok(Self::Traces { path, traces: inputs::read_traces(path)? })
    }

    /// The traces, if that is what it is.
    fn traces(&self) -> &[Trace] {
        match self {
            Self::Traces { traces, .. } => traces,
            Self::Rows { .. } => &[],
        }
    }

    fn path(&self) -> &'a Path {
        match self {
            Self::Traces { path, .. } | Self::Rows { path, .. } => path,
        }
    }

    /// The examples, and a note of what is left out.
    fn examples(
        &self,
        student: &Student,
        config: &Config,
        observer: &dyn Observer,
    ) -> Result<Vec<Example>, Failure> {
        let max_tokens = config.training.max_length;
        match self {
            Self::Traces { path, traces } => {
                let made = rows(student, traces, config)?;
                counts(&made.counts, config, observer);
                let mut found = left_out::Traces::new(path, max_tokens as usize);
                found.made(traces.iter().map(|trace| &trace.task_id), &made);
                found.warn(observer);
                Ok(made.rows.iter().map(Example::from).collect())
            }
            Self::Rows { rows, .. } => {
                let made = row_examples(student, rows, config)?;
                observer.note(&format_args!(
                    "{} rows, {} examples; left out: {} rows longer than {max_tokens} tokens",
                    made.rows,
                    made.examples.len(),
                    made.too_long
                ));
                Ok(made.examples)
            }
        }
    }
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
