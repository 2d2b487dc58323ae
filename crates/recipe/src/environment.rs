//! Environments built from the settings, with this binary as the judge of programs.

use std::sync::Arc;

use whetstone_core::config::{Config, Sanitize};
use whetstone_core::task::Task;
use whetstone_env::environment::{BuildError, Setup};
use whetstone_env::judge::{self, with_setup};
use whetstone_env::phaser::PhaserOptions;
use whetstone_env::registry::Environments;
use whetstone_env::results::ResultCache;

use crate::failure::Failure;

/// The environments that tasks are for. Before anything large is loaded: the judge's processes are children
/// of this one.
pub(crate) fn for_tasks<'t>(
    config: &Config,
    tasks: impl IntoIterator<Item = &'t Task>,
) -> Result<Environments, Failure> {
    with_setup(config, |setup| Environments::for_tasks(setup, tasks)).map_err(failure)
}

/// Like [`for_tasks`], for an evaluation: programs are judged as `eval.sanitize` says.
pub(crate) fn for_evaluation<'t>(
    config: &Config,
    tasks: impl IntoIterator<Item = &'t Task>,
) -> Result<Environments, Failure> {
    let sanitize = config.eval.sanitize;
    with_setup(config, |setup| Environments::for_tasks(&Setup { sanitize, ..*setup }, tasks))
        .map_err(failure)
}

/// The environment of programs, before any task is there.
pub(crate) fn of_programs(config: &Config) -> Result<Environments, Failure> {
    with_setup(config, Environments::of_programs).map_err(failure)
}

/// Whether a command that scores files runs programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunPrograms {
    /// It does.
    Yes,
    /// It does, and takes their time: interpreters are started before.
    Warm,
    /// It does not: no judge is started.
    No,
}

impl RunPrograms {
    /// They are run; in a probe their time is taken.
    pub(crate) fn probing(is_probe: bool) -> Self {
        if is_probe { Self::Warm } else { Self::Yes }
    }
}

/// How the tasks of a file are scored.
pub(crate) struct ScoringSetup<'a> {
    pub(crate) run: RunPrograms,
    /// Results of earlier runs.
    pub(crate) results: Option<&'a Arc<dyn ResultCache>>,
    /// What replaces parts of the Phaser environment.
    pub(crate) phaser: Option<&'a PhaserOptions>,
    /// What is judged of a Python program.
    pub(crate) sanitize: Sanitize,
}

impl ScoringSetup<'_> {
    /// Nothing is kept, nothing is replaced, and programs are judged whole.
    pub(crate) fn new(run: RunPrograms) -> Self {
        Self { run, results: None, phaser: None, sanitize: Sanitize::Off }
    }
}

/// The environments that score the tasks of a file; nothing is kept, and nothing is replaced.
pub(crate) fn scoring(
    config: &Config,
    tasks: &[Task],
    run: RunPrograms,
) -> Result<Environments, BuildError> {
    scoring_with(config, tasks, &ScoringSetup::new(run))
}

/// Like [`scoring`], with results of earlier runs, and parts of environments replaced.
pub(crate) fn scoring_with(
    config: &Config,
    tasks: &[Task],
    setup: &ScoringSetup<'_>,
) -> Result<Environments, BuildError> {
    let &ScoringSetup { run, results, phaser, sanitize } = setup;
    let is_built = |task: &&Task| run != RunPrograms::No || !task.is_program(&config.env.kind);
    let environments = with_setup(config, |setup| {
        let skip_runtime = run == RunPrograms::No;
        let setup = Setup { skip_runtime, results, phaser, sanitize, ..*setup };
        Environments::for_tasks(&setup, tasks.iter().filter(is_built))
    })?;
    if let Some(programs) = environments.programs().filter(|_| run == RunPrograms::Warm) {
        judge::warm_up(programs.judge.as_ref(), config);
    }
    Ok(environments)
}

/// The failure of a command that can do without a judge; `hint` says how.
pub(crate) fn failure_or(err: BuildError, hint: &'static str) -> Failure {
    match failure(err) {
        Failure::Judge { problem, .. } => Failure::Judge { problem, hint },
        other => other,
    }
}

/// The failure of a command that needs its environments.
pub(crate) fn failure(err: BuildError) -> Failure {
    match err {
        BuildError::Judge(err) => Failure::judge(&err),
        other => Failure::Environment(other),
    }
}
