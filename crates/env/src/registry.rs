//! The environments there are, and how they are built from the settings.
//!
//! An environment is a folder of this crate and a line in [`ENVIRONMENTS`]. Everything that trains, measures
//! or scores gets its environment here and knows no concrete one, so a new one is added in two places.
//! `docs/guides/add-an-environment.md` builds one.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use whetstone_core::config::Config;
use whetstone_core::message::Message;
use whetstone_core::seed::Seed;
use whetstone_core::task::{PROGRAM, Task, TaskId};

use crate::environment::{BuildError, EnvError, Environment, Episode, Setup};
use crate::python::PythonEnvironment;
use crate::{guess, phaser, python, solver};

/// Every environment, by the kind that tasks and `env.kind` name.
pub const ENVIRONMENTS: &[Registered] = &[
    Registered { kind: PROGRAM, build: python::build },
    Registered { kind: guess::KIND, build: guess::build },
    Registered { kind: solver::KIND, build: solver::build },
    Registered { kind: phaser::KIND, build: phaser::build },
];

/// An environment that can be chosen.
#[derive(Clone, Copy)]
pub struct Registered {
    /// Its name in tasks and settings; stable across versions.
    pub kind: &'static str,
    /// Builds it.
    pub build: fn(&Setup<'_>) -> Result<Box<dyn Environment>, BuildError>,
}

/// What the user can do about an environment that could not be built.
pub fn hint(err: &BuildError) -> String {
    match err {
        BuildError::Judge(_) => "`whet doctor` checks everything the judge needs".to_owned(),
        BuildError::UnknownKind { task, .. } => {
            let known: Vec<&str> = ENVIRONMENTS.iter().map(|known| known.kind).collect();
            let place = if task.is_some() { "`body.kind` of the task" } else { "`env.kind`" };
            format!("set {place} to one of: {}", known.join(", "))
        }
        BuildError::Missing { .. } => {
            "`npm pack phaser@3.90.0` makes the package that `whet env phaser install` takes"
                .to_owned()
        }
        BuildError::OtherPhaser { .. } => {
            "give an index of the installed version, or leave `--api-index` out; `--skip-runtime` reads programs by \
             any index"
                .to_owned()
        }
        BuildError::Prompt(_) => {
            "`whet prompt show --template plain --source` prints a template to begin with".to_owned()
        }
        BuildError::Task { .. } => "correct the task's `body`".to_owned(),
    }
}

/// The environments that tasks need. A task goes to the one of its kind.
pub struct Environments {
    by_kind: BTreeMap<&'static str, Box<dyn Environment>>,
    /// The kind of tasks that name none.
    default: String,
    /// Turns at most, if the settings bound them.
    max_turns: Option<usize>,
}

/// The environment of a kind that a task, or the settings, name.
fn registered(kind: &str, task: Option<&TaskId>) -> Result<&'static Registered, BuildError> {
    let unknown = || BuildError::UnknownKind { kind: kind.to_owned(), task: task.cloned() };
    ENVIRONMENTS.iter().find(|known| known.kind == kind).ok_or_else(unknown)
}

impl Environments {
    /// Builds the environments that `tasks` are for.
    ///
    /// # Errors
    ///
    /// If one of them does not exist or cannot be built, or a task lacks what its environment needs.
    pub fn for_tasks<'t>(
        setup: &Setup<'_>,
        tasks: impl IntoIterator<Item = &'t Task>,
    ) -> Result<Self, BuildError> {
        Self::none(setup.config).and_for_tasks(setup, tasks)
    }

    /// Builds those of the environments that `tasks` are for which are not there yet.
    ///
    /// # Errors
    ///
    /// Those of [`Environments::for_tasks`].
    pub fn and_for_tasks<'t>(
        mut self,
        setup: &Setup<'_>,
        tasks: impl IntoIterator<Item = &'t Task>,
    ) -> Result<Self, BuildError> {
        let mut others = Vec::new();
        for task in tasks {
            self.add(setup, task.kind(), Some(&task.id))?;
            if self.kind_of(task) != PROGRAM {
                others.push(task);
            }
        }
        for task in others {
            let problem = |source| BuildError::Task { task: task.id.clone(), source };
            self.check(task).map_err(problem)?;
        }
        Ok(self)
    }

    /// Builds the environment of programs, before any task is known.
    ///
    /// # Errors
    ///
    /// If the judge does not start.
    pub fn of_programs(setup: &Setup<'_>) -> Result<Self, BuildError> {
        let mut environments = Self::none(setup.config);
        environments.add(setup, Some(PROGRAM), None)?;
        Ok(environments)
    }

    /// No environment at all: every task is refused. For callers that judge nothing.
    pub fn none(config: &Config) -> Self {
        let max_turns = Some(config.env.max_turns as usize).filter(|&turns| turns > 0);
        Self { by_kind: BTreeMap::new(), default: config.env.kind.clone(), max_turns }
    }

    /// Adds the environment of programs, built already: with a judge of the caller's.
    #[must_use]
    pub fn with_programs(mut self, programs: PythonEnvironment) -> Self {
        self.by_kind.insert(PROGRAM, Box::new(programs));
        self
    }

    /// Builds the environment of a kind, unless it is there.
    fn add(
        &mut self,
        setup: &Setup<'_>,
        kind: Option<&str>,
        task: Option<&TaskId>,
    ) -> Result<(), BuildError> {
        let named = kind.unwrap_or(&self.default);
        if self.by_kind.contains_key(named) {
            return Ok(());
        }
        let found = registered(named, task.filter(|_| kind.is_some()))?;
        self.by_kind.insert(found.kind, (found.build)(setup)?);
        Ok(())
    }

    /// Whether the environments that tasks name exist, before anything is built or loaded.
    ///
    /// # Errors
    ///
    /// If one of them does not exist.
    pub fn check_kinds<'t>(
        config: &Config,
        tasks: impl IntoIterator<Item = &'t Task>,
    ) -> Result<(), BuildError> {
        tasks.into_iter().try_for_each(|task| {
            let kind = task.kind();
            let named = kind.unwrap_or(&config.env.kind);
            registered(named, kind.map(|_| &task.id)).map(|_| ())
        })
    }

    /// The kinds that were built.
    pub fn kinds(&self) -> BTreeSet<&'static str> {
        self.by_kind.keys().copied().collect()
    }

    /// The environment of programs, if it was built: for callers that score whole files of programs with a
    /// cache.
    pub fn programs(&self) -> Option<&PythonEnvironment> {
        let environment: &dyn Any = self.by_kind.get(PROGRAM)?.as_ref();
        environment.downcast_ref()
    }

    /// What decides the outcomes of these environments beside task, reply and seed.
    pub fn identity(&self) -> BTreeMap<String, String> {
        self.by_kind.values().flat_map(|environment| environment.identity()).collect()
    }

    fn built_for(&self, task: &Task) -> Result<&dyn Environment, EnvError> {
        let kind = self.kind_of(task);
        let missing = || EnvError::Task(format!("the environment `{kind}` was not built"));
        self.by_kind.get(kind).map(AsRef::as_ref).ok_or_else(missing)
    }

    fn kind_of<'t>(&'t self, task: &'t Task) -> &'t str {
        task.kind().unwrap_or(&self.default)
    }
}

impl Environment for Environments {
    fn max_turns(&self, task: &Task) -> usize {
        let own = || self.by_kind.get(self.kind_of(task)).map_or(1, |found| found.max_turns(task));
        self.max_turns.unwrap_or_else(own)
    }

    fn check(&self, task: &Task) -> Result<(), EnvError> {
        self.built_for(task)?.check(task)
    }

    fn open(&self, task: &Task, seed: Seed) -> Result<Box<dyn Episode>, EnvError> {
        self.built_for(task)?.open(task, seed)
    }

    fn expert_reply(
        &self,
        task: &Task,
        seed: Seed,
        messages: &[Message],
    ) -> Result<Option<String>, EnvError> {
        match self.by_kind.get(self.kind_of(task)) {
            Some(environment) => environment.expert_reply(task, seed, messages),
            None => Ok(None),
        }
    }

    fn trivial_reply(&self, task: &Task, messages: &[Message]) -> Result<Option<String>, EnvError> {
        match self.by_kind.get(self.kind_of(task)) {
            Some(environment) => environment.trivial_reply(task, messages),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use whetstone_core::wire::Wire;
    use whetstone_sandbox::StartError;

    use super::*;

    fn task(line: &str) -> Task {
        Task::from_object(serde_json::from_str(line).unwrap()).unwrap()
    }

    const GUESS: &str = r#"{"id":"g/1","statement":"Guess.","body":{"kind":"guess","number":7}}"#;
    const BARE: &str = r#"{"id":"g/2","statement":"Guess.","number":7}"#;
    const PROGRAM_TASK: &str =
        r#"{"id":"p/1","statement":"s","tests":{"kind":"asserts","hidden":["a"]}}"#;

    /// The environments of these tasks, and how often the judge was started. It never can be.
    fn build(config: &Config, lines: &[&str]) -> (Result<Environments, BuildError>, u32) {
        let started = AtomicU32::new(0);
        let start_judge = || {
            started.fetch_add(1, Ordering::Relaxed);
            Err(StartError::Refused("no judge here".to_owned()))
        };
        let tasks: Vec<Task> = lines.iter().map(|line| task(line)).collect();
        let setup = Setup::new(config, &start_judge);
        (Environments::for_tasks(&setup, &tasks), started.load(Ordering::Relaxed))
    }

    fn refused(config: &Config, lines: &[&str]) -> (String, String) {
        let Err(err) = build(config, lines).0 else { panic!("it was built") };
        (err.to_string(), hint(&err))
    }

    #[test]
    fn a_task_goes_to_the_environment_that_it_names_and_else_to_that_of_the_settings() {
        let mut config = Config::default();
        let (built, started) = build(&config, &[GUESS]);
        assert_eq!((built.unwrap().kinds(), started), (BTreeSet::from(["guess"]), 0));
        config.env.kind = "guess".to_owned();
        let (built, started) = build(&config, &[GUESS, BARE]);
        assert_eq!((built.unwrap().kinds(), started), (BTreeSet::from(["guess"]), 0));
        let (built, started) = build(&config, &[GUESS, PROGRAM_TASK]);
        assert!(matches!(built, Err(BuildError::Judge(_))), "tests are a program's");
        assert_eq!(started, 1);
    }

    #[test]
    fn an_environment_that_there_is_not_is_named_with_who_asks_for_it() {
        let mut config = Config::default();
        let odd = GUESS.replace(r#""kind":"guess""#, r#""kind":"chess""#);
        let (problem, hint) = refused(&config, &[&odd]);
        assert_eq!(problem, "`chess` is no environment: task `g/1` names it");
        let known: Vec<&str> = ENVIRONMENTS.iter().map(|known| known.kind).collect();
        assert_eq!(known[..2], ["program", "guess"]);
        let known = known.join(", ");
        assert_eq!(hint, format!("set `body.kind` of the task to one of: {known}"));
        config.env.kind = "chess".to_owned();
        let (problem, hint) = refused(&config, &[BARE]);
        assert_eq!(problem, "`chess` is no environment: `env.kind` names it");
        assert_eq!(hint, format!("set `env.kind` to one of: {known}"));
    }

    #[test]
    fn a_task_without_what_its_environment_needs_is_refused_before_anything_is_sampled() {
        let lacking = GUESS.replace(r#","number":7"#, "");
        let (problem, _) = refused(&Config::default(), &[&lacking]);
        assert_eq!(problem, "cannot open task `g/1`");
    }

    #[test]
    fn turns_are_the_environments_unless_the_settings_bound_them() {
        let mut config = Config::default();
        let turns = |config: &Config| build(config, &[GUESS]).0.unwrap().max_turns(&task(GUESS));
        assert_eq!(turns(&config), 2);
        config.env.max_turns = 1;
        assert_eq!(turns(&config), 1);
    }
}
