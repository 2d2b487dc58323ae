//! The one path from replies to an outcome: `score`, `teach` and `eval --samples`.
//!
//! ```text
//!                  ┌─ program ─► read ─► cache ─► judge ─► reward ─┐
//! task, replies ─► │                                               ├─► outcome
//!                  └─ other ───► an episode of its environment ────┘
//! ```
//!
//! Environments come from the registry; training asks the same ones while it samples. Programs of
//! whole files are read on threads that are kept, and those that were judged before are not run
//! again: so they do not go through an episode, but are read, judged and paid by the same rules.
//! Without an environment of programs nothing is run: programs have their static terms alone.

mod episode;
mod in_flight;
mod programs;

use self::programs::Programs;

use std::collections::BTreeMap;

use whetstone_core::config::Config;
use whetstone_core::extract::Reply;
use whetstone_core::outcome::Outcome;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::BuildError;
use whetstone_env::python::Rules;
use whetstone_env::registry::Environments;
use whetstone_env::stack::BigStack;
use whetstone_record::batch::catch_panic;
use whetstone_sandbox::job::{Limits, Unjudged};

use crate::cache::{Cache, Identity};
use crate::tasks::Tasks;

/// The environments that score the tasks of a file.
#[derive(Clone, Copy)]
pub enum EnvironmentSource<'a> {
    /// They are there already.
    Ready(&'a Environments),
    /// They are built once the tasks are known: no judge is started where no program is asked for.
    Build(&'a (dyn Fn(&[Task]) -> Result<Environments, BuildError> + Sync)),
}

/// Scores replies. All threads share it.
pub(crate) struct Scorer<'a> {
    tasks: &'a Tasks,
    environments: &'a Environments,
    /// The kind of tasks that name none.
    default_kind: &'a str,
    seed: Seed,
    programs: Programs<'a>,
}

/// What a [`Scorer`] is made of.
pub(crate) struct ScorerParts<'a> {
    pub(crate) config: &'a Config,
    pub(crate) tasks: &'a Tasks,
    pub(crate) environments: &'a Environments,
    pub(crate) cache: Option<&'a Cache>,
    /// Threads that score at the same time.
    pub(crate) workers: usize,
}

/// The outcome of replies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    pub(crate) outcome: Outcome,
    /// The verdict was known already.
    pub(crate) cached: bool,
}

impl<'a> EnvironmentSource<'a> {
    /// The environments of `tasks`; those that are built are put into `built`.
    pub(crate) fn for_tasks(
        self,
        tasks: &Tasks,
        built: &'a mut Option<Environments>,
    ) -> Result<&'a Environments, BuildError> {
        match self {
            Self::Ready(environments) => Ok(environments),
            Self::Build(build) => Ok(built.insert(build(tasks.all())?)),
        }
    }
}

impl<'a> Scorer<'a> {
    pub(crate) fn new(parts: &ScorerParts<'a>) -> Self {
        let ScorerParts { config, tasks, environments, .. } = *parts;
        let (default_kind, seed) = (config.env.kind.as_str(), Seed::new(config.seed));
        Self { tasks, environments, default_kind, seed, programs: Programs::new(parts) }
    }

    /// Scores the replies to the task with this number, those of all turns in order.
    ///
    /// A panic is a failure of these replies alone.
    pub(crate) fn score(
        &self,
        task: u32,
        replies: &[Reply<'_>],
        stack: &BigStack,
    ) -> Result<Scored, Unjudged> {
        let score = || match replies.last() {
            Some(&reply) if self.is_program(task) => self.programs.score(task, reply, stack),
            _ => self.play(task, replies),
        };
        catch_panic("reading the reply", score)?
    }

    /// Whether the task with this number asks for a program.
    pub(crate) fn is_program(&self, task: u32) -> bool {
        self.tasks.get(task).is_program(self.default_kind)
    }

    /// Whether any task asks for a program.
    pub(crate) fn has_programs(&self) -> bool {
        self.tasks.all().iter().any(|task| task.is_program(self.default_kind))
    }

    /// How programs are read and paid.
    pub(crate) fn rules(&self) -> &Rules {
        &self.programs.rules
    }

    /// What a program may use; where nothing is run, the usual.
    pub(crate) fn limits(&self) -> Limits {
        self.programs.environment.map(|programs| programs.limits).unwrap_or_default()
    }

    /// Who judges programs; nobody where nothing is run.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.programs.environment.map(Identity::of)
    }

    /// What decides the outcomes of episodes beside task, reply and seed.
    pub(crate) fn environments(&self) -> BTreeMap<String, String> {
        self.environments.identity()
    }

    fn play(&self, task: u32, replies: &[Reply<'_>]) -> Result<Scored, Unjudged> {
        let task = self.tasks.get(task);
        let outcome = episode::outcome(self.environments, task, self.seed, replies)?;
        Ok(Scored { outcome, cached: false })
    }
}
