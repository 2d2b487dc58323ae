//! The files that a training reads: those that its run was begun with, or those that are given.

use std::path::Path;

use whetstone_core::config::Config;
use whetstone_record::run_dir::RunDir;
use whetstone_train::TrainError;
use whetstone_train::inputs::{self, Files, Known};

use super::RunRequest;
use crate::failure::Failure;
use crate::observer::Observer;

/// The inputs that a resumed run was started with; `None` for a new run, and for one from before
/// inputs were kept.
pub(super) fn known(request: &RunRequest, config: &Config) -> Result<Option<Known>, Failure> {
    if !request.resume {
        return Ok(None);
    }
    let view = RunDir::open_read_only(Path::new(&config.run.dir), &request.name)
        .map_err(TrainError::from)?;
    Ok(inputs::known(&view)?)
}

/// Keeps the files of a run without recorded inputs. If that run is being resumed, warns, because
/// it is unknown whether these are the original files.
pub(super) fn keep_and_say(
    request: &RunRequest,
    run: &RunDir,
    files: &Files,
    observer: &dyn Observer,
) -> Result<(), Failure> {
    if request.resume {
        let paths = [&files.tasks, &files.held_out, &files.traces, &files.rollouts];
        let paths = paths.into_iter().flatten();
        let names: Vec<String> = paths.map(|path| format!("`{}`", path.display())).collect();
        observer.note(&format_args!(
            "the run has no record of its input files; it resumes with {}",
            names.join(", ")
        ));
    }
    Ok(inputs::keep(run, files)?)
}
