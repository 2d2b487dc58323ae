//! Environments as commands get them: built from the settings, with this binary as the judge of programs.

use whetstone_core::config::Config;
use whetstone_core::task::Task;
use whetstone_env::environment::{BuildError, Setup};
use whetstone_env::registry::Environments;

use crate::failure::Failure;

/// The environments that tasks are for. Before anything large is loaded: the judge's processes are children
/// of this one.
pub(crate) fn for_tasks<'t>(
    config: &Config,
    tasks: impl IntoIterator<Item = &'t Task>,
) -> Result<Environments, Failure> {
    Environments::for_tasks(&Setup { config, start_judge: &|| crate::judge::start(config) }, tasks)
        .map_err(failure)
}

/// The environment of programs, before any task is there.
pub(crate) fn of_programs(config: &Config) -> Result<Environments, Failure> {
    Environments::of_programs(&Setup { config, start_judge: &|| crate::judge::start(config) })
        .map_err(failure)
}

fn failure(err: BuildError) -> Failure {
    match err {
        BuildError::Judge(err) => crate::judge::failure(&err),
        other => Failure::Environment(other),
    }
}
