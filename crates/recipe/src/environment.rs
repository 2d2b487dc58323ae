//! Environments built from the settings, with this binary as the judge of programs.

use whetstone_core::config::Config;
use whetstone_core::task::Task;
use whetstone_env::environment::BuildError;
use whetstone_env::judge::with_setup;
use whetstone_env::python::PythonEnvironment;
use whetstone_env::registry::Environments;
use whetstone_rollout::cache::Identity;
use whetstone_sandbox::JUDGE_VERSION;

use crate::failure::Failure;

/// The environments that tasks are for. Before anything large is loaded: the judge's processes are children
/// of this one.
pub(crate) fn for_tasks<'t>(
    config: &Config,
    tasks: impl IntoIterator<Item = &'t Task>,
) -> Result<Environments, Failure> {
    with_setup(config, |setup| Environments::for_tasks(setup, tasks)).map_err(failure)
}

/// The environment of programs, before any task is there.
pub(crate) fn of_programs(config: &Config) -> Result<Environments, Failure> {
    with_setup(config, Environments::of_programs).map_err(failure)
}

/// The environment of programs for a command that can do without one; `hint` says how.
pub(crate) fn of_programs_or(config: &Config, hint: &'static str) -> Result<Environments, Failure> {
    of_programs(config).map_err(|err| match err {
        Failure::Judge { problem, .. } => Failure::Judge { problem, hint },
        other => other,
    })
}

/// What the verdicts of its judge depend on.
pub(crate) fn identity(programs: &PythonEnvironment) -> Option<Identity> {
    let about = programs.about.as_ref()?;
    let [major, minor, micro] = about.python_version;
    Some(Identity {
        judge: JUDGE_VERSION.to_owned(),
        interpreter: format!("CPython {major}.{minor}.{micro}"),
        isolation: about.isolation,
    })
}

fn failure(err: BuildError) -> Failure {
    match err {
        BuildError::Judge(err) => Failure::judge(&err),
        other => Failure::Environment(other),
    }
}
