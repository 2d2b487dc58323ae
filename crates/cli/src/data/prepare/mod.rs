//! `whet data prepare`: data sets in, two files of tasks out.

mod args;
mod summary;

use std::time::Instant;

use whetstone_core::Seed;
use whetstone_data::prepare::{PrepareSummary, Preparing, prepare};
use whetstone_recipe::datasets::embedded;

pub(super) use self::args::PrepareArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prepares tasks.
pub(crate) fn run(args: &PrepareArgs, printer: Printer) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let config = load(&args.config)?.config;
    let seed = Seed::new(args.seed.unwrap_or(config.seed));
    let report = prepare_with(args, seed, printer)?;
    if args.json {
        printer.json(&report)?;
    } else {
        summary::print(&report, &args.out, start.elapsed(), printer)?;
    }
    for sentence in summary::lost(&report.sources) {
        printer.warning(sentence);
    }
    let bad = report.total().bad;
    Ok(if args.strict && bad > 0 { Exit::No } else { Exit::Done })
}

fn prepare_with(
    args: &PrepareArgs,
    seed: Seed,
    printer: Printer,
) -> Result<PrepareSummary, Failure> {
    let origins = args.named().origins(&printer)?;
    let made = args.embedded.map(|count| embedded(seed, count, &args.families));
    let made = made.transpose()?.unwrap_or_default();
    if args.embedded.is_some_and(|wanted| made.len() < wanted) {
        printer.note(format_args!("at most {} embedded tasks can be generated", made.len()));
    }
    // One step for each source and benchmark, and then comparing and writing.
    let steps = origins.len() + args.decontaminate.len() + 2;
    let bar = printer.progress(steps as u64);
    let report = prepare(&Preparing {
        origins,
        made,
        benchmarks: args.decontaminate.clone(),
        ngram: args.ngram,
        seed,
        split: args.split.into(),
        val_fraction: args.val_fraction,
        limit: args.limit,
        out: &args.out,
        on_step: &|step| {
            bar.set_message(step.to_owned());
            bar.inc(1);
        },
    });
    bar.finish_and_clear();
    Ok(report?)
}
