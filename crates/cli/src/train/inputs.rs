//! The files that a training reads: those that its run was begun with, or those that are given.

use std::path::Path;

use whetstone_core::config::Config;
use whetstone_record::run_dir::RunDir;
use whetstone_train::TrainError;
use whetstone_train::inputs;

pub(super) use whetstone_train::inputs::{Files, Known};

use super::RunArgs;
use crate::failure::Failure;
use crate::printer::Printer;

/// What the run that is resumed was begun with; none of a new one, and of one from before inputs were
/// kept.
pub(super) fn known(args: &RunArgs, config: &Config) -> Result<Option<Known>, Failure> {
    if !args.resume {
        return Ok(None);
    }
    let view =
        RunDir::open_read_only(Path::new(&config.run.dir), &args.run).map_err(TrainError::from)?;
    Ok(inputs::known(&view)?)
}

/// Keeps the files of a run that does not know any. If it is one that goes on, says so: nobody can tell
/// whether these are what it was begun with.
pub(super) fn keep_and_say(
    args: &RunArgs,
    run: &RunDir,
    files: &Files,
    printer: Printer,
) -> Result<(), Failure> {
    if args.resume {
        let paths = [&files.tasks, &files.held_out, &files.traces, &files.rollouts];
        let paths = paths.into_iter().flatten();
        let names: Vec<String> = paths.map(|path| format!("`{}`", path.display())).collect();
        printer.note(format_args!(
            "the run does not say which files it was begun with; it goes on with {}",
            names.join(", ")
        ));
    }
    Ok(inputs::keep(run, files)?)
}
