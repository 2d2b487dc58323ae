//! `whet train sft`.

use std::path::Path;

use whetstone_core::config::Config;
use whetstone_core::jsonl::Records;
use whetstone_core::metric;
use whetstone_core::trace::Trace;
use whetstone_data::rows::RowCounts;
use whetstone_train::plan::Plan;
use whetstone_train::sft::{STAGE, Sft, probe, sft};
use whetstone_train::watch::Watch;
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{Example, Student, rows};

use super::args::SftArgs;
use super::dry_run::Planned;
use super::ended::End;
use super::inputs::Files;
use super::view::View;
use super::{begin, dry_run, ended, inputs, left_out, stop};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The traces of a new run, unless others are named.
pub(super) const TRACES: &str = "data/teacher_traces.jsonl";

const SHOWN: [(&str, &str); 3] = [
    (metric::SFT_LOSS.name, "loss"),
    (metric::SFT_GRAD_NORM.name, "norm"),
    (metric::SFT_LR.name, "lr"),
];

/// Trains.
pub(super) fn run(args: &SftArgs, printer: Printer) -> anyhow::Result<Exit> {
    let stop = stop::on_signal(printer);
    let loaded = begin::settings(&args.run, &[])?;
    let config = &loaded.config;
    let known = inputs::known(&args.run, config)?;
    let given = Files { traces: args.traces.clone(), ..Files::default() };
    let files = match &known {
        Some(known) => known.files(&given).map_err(Failure::from)?,
        None => Files { traces: Some(given.traces.unwrap_or_else(|| TRACES.into())), ..given },
    };
    let path = files.traces.as_deref().unwrap_or(Path::new(TRACES));
    let traces = read(path)?;
    let begun = begin::look(&args.run, config, STAGE).map_err(Failure::Train)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let mut student = begin::student(&args.run, config, checkpoint.as_deref(), printer)?;
    let made = rows(&student, &traces, config).map_err(Failure::Train)?;
    let examples: Vec<Example> = made.rows.iter().map(Example::from).collect();
    counts(&made.counts, config, printer);
    let mut found = left_out::Traces::new(path, config.training.max_length as usize);
    found.made(traces.iter().map(|trace| &trace.task_id), &made);
    found.warn(printer);
    let plan = Plan::sft(config, examples.len()).map_err(Failure::Train)?;
    let arithmetic = plan.arithmetic("rows", config.training.max_steps == 0);
    printer.note(&arithmetic);
    preflight(&student, config, printer);
    let view = View::new(printer, plan.steps, &SHOWN);
    let on_silence = |sentence: &str| view.warning(sentence);
    let training = Sft {
        config,
        rows: &examples,
        checkpoint: checkpoint.as_deref(),
        watch: Watch {
            on_phase: &|phase, part| view.phase(phase, part),
            on_step: &|report| view.step(report),
            on_alarm: &|alarm| view.alarm(alarm),
            stop: &stop,
            dog: &Watchdog::new(config.training.watchdog_seconds, &on_silence),
        },
    };
    if args.run.dry_run {
        let planned = Planned { name: &args.run.run, student: &student, config, plan: &plan };
        let whole = planned.sft(&examples, path);
        let probed = probe(&mut student, &training);
        view.finish();
        return dry_run::print(whole, probed, args.run.json, printer);
    }
    let mut session = begun.session(&args.run, &loaded, STAGE).map_err(Failure::Train)?;
    if known.is_none() {
        inputs::keep_and_say(&args.run, session.run(), &files, printer)?;
    }
    let result = sft(&mut student, &mut session, &training);
    view.finish();
    let result = result.map_err(Failure::Train)?;
    let (dir, steps) = (session.dir(), plan.steps);
    let end = End { stage: STAGE, config, dir, ended: result, steps, arithmetic: &arithmetic };
    ended::say(&args.run, &end, printer)
}

pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Trace>> {
    let records = Records::<Trace, _>::open(path).map_err(Failure::Traces)?;
    let traces = records.map(|record| record.map(|numbered| numbered.record));
    Ok(traces.collect::<Result<_, _>>().map_err(Failure::Traces)?)
}

/// Prints the counts of traces by outcome.
fn counts(counts: &RowCounts, config: &Config, printer: Printer) {
    let RowCounts { traces, rows, not_passing, no_response, too_long } = counts;
    printer.note(format_args!(
        "{traces} traces, {rows} rows; left out: {not_passing} not passing, {no_response} without \
         program, {too_long} longer than {} tokens",
        config.training.max_length
    ));
}

fn preflight(student: &Student, config: &Config, printer: Printer) {
    let (all, trained) = student.decoder.parameters().count();
    let mib = student.sft_memory(config).total() >> 20;
    printer.note(format_args!("{trained} of {all} parameters are trained; about {mib} MiB"));
}
