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

/// The inputs that a resumed run was started with; `None` for a new run, and for one from before
/// inputs were kept.
pub(super) fn known(args: &RunArgs, config: &Config) -> Result<Option<Known>, Failure> {
    if !args.resume {
        return Ok(None);
    }
    let view =
        RunDir::open_read_only(Path::new(&config.run.dir), &args.run).map_err(TrainError::from)?;
    Ok(inputs::known(&view)?)
}

/// Keeps the files of a run without recorded inputs. If that run is being resumed, warns, because
/// it is unknown whether these are the original files.
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
            "the run has no record of its input files; it resumes with {}",
            names.join(", ")
        ));
    }
    Ok(inputs::keep(run, files)?)
}
