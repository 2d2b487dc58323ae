//! What is said when a training ends.

use std::path::Path;

use serde::Serialize;
use whetstone_train::session::FINAL_MODEL;
use whetstone_train::watch::Ended;

use super::args::RunArgs;
use crate::exit::Exit;
use crate::printer::Printer;

#[derive(Serialize)]
struct Report<'a> {
    run: String,
    steps: u64,
    done: bool,
    final_model: Option<String>,
    arithmetic: &'a str,
}

/// Says where the model is, or how to go on.
pub(super) fn say(
    args: &RunArgs,
    (dir, ended, steps): (&Path, Ended, u64),
    arithmetic: &str,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let (steps, done) = match ended {
        Ended::Done => (steps, true),
        Ended::Stopped(at) => (at, false),
    };
    let model = dir.join("outputs").join(FINAL_MODEL);
    let final_model = done.then(|| model.display().to_string());
    if args.json {
        let run = dir.display().to_string();
        printer.json(&Report { run, steps, done, final_model, arithmetic })?;
    } else if let Some(path) = final_model {
        printer.data(path)?;
    } else {
        let name = &args.run;
        printer
            .note(format_args!("stopped after step {steps}; go on with `--run {name} --resume`"));
    }
    Ok(Exit::Done)
}
