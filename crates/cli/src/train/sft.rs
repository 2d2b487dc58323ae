//! `whet train sft`.

use std::path::Path;

use serde::Serialize;
use whetstone_core::jsonl::Records;
use whetstone_core::trace::Trace;
use whetstone_data::rows::RowCounts;
use whetstone_train::plan::Plan;
use whetstone_train::sft::{STAGE, Sft, sft};
use whetstone_train::watch::{Ended, Watch};
use whetstone_train::{Example, Student, rows};

use super::args::SftArgs;
use super::view::View;
use super::{begin, stop};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

const SHOWN: [(&str, &str); 3] = [("sft/loss", "loss"), ("sft/grad_norm", "norm"), ("sft/lr", "lr")];

#[derive(Serialize)]
struct Report<'a> {
    run: String,
    steps: u64,
    done: bool,
    final_model: Option<String>,
    rows: Counts,
    arithmetic: &'a str,
}

#[derive(Serialize)]
struct Counts {
    traces: u64,
    rows: u64,
    not_passing: u64,
    no_response: u64,
    too_long: u64,
}

/// Trains.
pub(super) fn run(args: &SftArgs, printer: Printer) -> anyhow::Result<Exit> {
    let stop = stop::on_signal(printer);
    let loaded = begin::settings(&args.run)?;
    let config = &loaded.config;
    let traces = read(&args.traces)?;
    let (mut session, checkpoint) =
        begin::session(&args.run, &loaded, STAGE).map_err(Failure::Train)?;
    let mut student = begin::student(&args.run, config, checkpoint.as_deref())?;
    let limit = (config.prompt.language, config.training.max_length as usize);
    let made = rows(&student, &traces, limit).map_err(Failure::Train)?;
    let examples: Vec<Example> = made.rows.iter().map(Example::from).collect();
    let plan = Plan::sft(config, examples.len()).map_err(Failure::Train)?;
    let arithmetic = plan.arithmetic("rows", config.training.max_steps == 0);
    preflight(&student, (config, &arithmetic), &made.counts, printer);
    let view = View::new(printer, plan.steps, &SHOWN);
    let ended = sft(
        &mut student,
        &mut session,
        &Sft {
            config,
            rows: &examples,
            checkpoint: checkpoint.as_deref(),
            watch: Watch {
                on_phase: &|phase, part| view.phase(phase, part),
                on_step: &|report| view.step(report),
                stop: &stop,
            },
        },
    );
    view.finish();
    let ended = ended.map_err(Failure::Train)?;
    say(args, (session.dir(), ended, plan.steps), (&made.counts, &arithmetic), printer)
}

fn read(path: &Path) -> anyhow::Result<Vec<Trace>> {
    let records = Records::<Trace, _>::open(path).map_err(Failure::Lines)?;
    let traces = records.map(|record| record.map(|numbered| numbered.record));
    Ok(traces.collect::<Result<_, _>>().map_err(Failure::Lines)?)
}

fn preflight(
    student: &Student,
    (config, arithmetic): (&whetstone_core::config::Config, &str),
    counts: &RowCounts,
    printer: Printer,
) {
    let RowCounts { traces, rows, not_passing, no_response, too_long } = counts;
    printer.note(format_args!(
        "{traces} traces, {rows} rows; left out: {not_passing} not passing, {no_response} without \
         program, {too_long} longer than {} tokens",
        config.training.max_length
    ));
    printer.note(arithmetic);
    let (all, trained) = student.decoder.parameters().count();
    let (training, _) = student.memory(config, 1);
    let mib = training.total() >> 20;
    printer.note(format_args!("{trained} of {all} parameters are trained; about {mib} MiB"));
}

fn say(
    args: &SftArgs,
    (dir, ended, steps): (&Path, Ended, u64),
    (counts, arithmetic): (&RowCounts, &str),
    printer: Printer,
) -> anyhow::Result<Exit> {
    let (steps, done) = match ended {
        Ended::Done => (steps, true),
        Ended::Stopped(at) => (at, false),
    };
    let model = dir.join("outputs").join(whetstone_train::session::FINAL_MODEL);
    let final_model = done.then(|| model.display().to_string());
    if args.run.json {
        let RowCounts { traces, rows, not_passing, no_response, too_long } = *counts;
        let rows = Counts { traces, rows, not_passing, no_response, too_long };
        let run = dir.display().to_string();
        printer.json(&Report { run, steps, done, final_model, rows, arithmetic })?;
    } else if let Some(path) = final_model {
        printer.data(path)?;
    } else {
        let name = &args.run.run;
        printer.note(format_args!("stopped after step {steps}; go on with `--run {name} --resume`"));
    }
    Ok(Exit::Done)
}
