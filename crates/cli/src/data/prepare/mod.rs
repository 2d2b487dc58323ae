//! `whet data prepare`: data sets in, two files of tasks out.

mod args;
mod solver_args;
mod summary;

use std::time::Instant;

use whetstone_core::Seed;
use whetstone_data::prepare::TRAIN;
use whetstone_recipe::preparing;

pub(super) use self::args::PrepareArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::Printer;

/// Prepares tasks.
pub(crate) fn run(args: &PrepareArgs, printer: Printer) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let config = load(&args.config)?.config;
    let seed = Seed::new(args.seed.unwrap_or(config.seed));
    let request = args.request(seed, &config);
    let report = preparing::run(&request, &printer)?;
    if args.json {
        printer.json(&report)?;
    } else {
        summary::print(&report, &args.out, start.elapsed(), printer)?;
        if let Some(sentence) = preparing::families_note(&request) {
            printer.note(sentence);
        }
        if report.train.tasks > 0 {
            next(args).say(printer);
        }
    }
    for sentence in summary::lost(&report.sources) {
        printer.warning(sentence);
    }
    let bad = report.total().bad;
    Ok(if args.strict && bad > 0 { Exit::No } else { Exit::Done })
}

/// References are proven; problems of the solver have certificates instead, and an expert.
fn next(args: &PrepareArgs) -> NextCommand {
    let train = args.out.join(TRAIN);
    if args.is_solver() {
        let teach = NextCommand::whet("teach --teacher embedded --tasks").path(&train);
        return teach.words("--rows").path(&args.out.join("sft_rows.jsonl"));
    }
    let validate = NextCommand::whet("data validate").path(&train);
    validate.words("--out").path(&args.out.join("proven.jsonl"))
}
