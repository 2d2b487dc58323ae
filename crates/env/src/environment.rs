//! The shape of every environment: a state machine that is driven from outside.
//!
//! An environment never calls the model itself. So one loop can advance thousands of episodes and
//! send all their prompts as one batch, and a test can play the model with a list of strings.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use whetstone_core::config::{Config, Sanitize};
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::Message;
pub use whetstone_core::outcome::{Evidence, Outcome};
use whetstone_core::prompt::PromptError;
use whetstone_core::seed::Seed;
use whetstone_core::task::{Task, TaskId};
pub use whetstone_sandbox::StartError;

use whetstone_sandbox::Judge;

use crate::phaser::PhaserOptions;
use crate::results::ResultCache;

/// Opens episodes on tasks of one kind.
pub trait Environment: Any + Send + Sync {
    /// Turns of an episode of `task` at most, where the settings (`env.max_turns`) do not bound them.
    fn max_turns(&self, task: &Task) -> usize;

    /// Whether a task has what the environment needs. Called for every task before anything is sampled, so an
    /// environment whose episodes are costly to open only reads the task's body here.
    fn check(&self, task: &Task) -> Result<(), EnvError> {
        self.open(task, Seed::new(0)).map(drop)
    }

    /// Named facts that decide its outcomes beside task, reply and seed: a scoring that was ended early is resumed
    /// only under the same ones. Empty where there are none.
    fn identity(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Starts an episode. Everything random in it follows from `seed`.
    fn open(&self, task: &Task, seed: Seed) -> Result<Box<dyn Episode>, EnvError>;

    /// The reply of an expert that knows the task's solution, to the conversation so far: a teacher without a
    /// server. It follows from its arguments alone, so a conversation can be resumed at any turn. `None` where
    /// the environment has no expert.
    fn expert_reply(
        &self,
        _task: &Task,
        _seed: Seed,
        _messages: &[Message],
    ) -> Result<Option<String>, EnvError> {
        Ok(None)
    }

    /// The reply of the best policy that understands nothing, to the conversation so far: what a model has to beat.
    /// `None` where the environment knows none.
    fn trivial_reply(
        &self,
        _task: &Task,
        _messages: &[Message],
    ) -> Result<Option<String>, EnvError> {
        Ok(None)
    }
}

/// One conversation about one task.
pub trait Episode: Send {
    /// The whole conversation so far: what the model sees next.
    fn messages(&self) -> &[Message];

    /// Takes the model's next reply.
    ///
    /// `Err` means the world broke, not the reply: the rollout is dropped and counted, and no
    /// reward is recorded. A malformed reply is the model's doing and earns its verdict.
    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError>;

    /// Ends an episode whose model may say no more: it has had all its turns, or the conversation
    /// fills its context. What the episode is worth as it stands.
    ///
    /// Not to have come to an end is the model's doing: it earns a verdict. `Err` means the world
    /// broke, as for a reply.
    fn cut_short(&mut self) -> Result<Outcome, EnvError>;
}

/// What follows a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// [`Episode::messages`] has grown; ask the model again.
    Ask,
    /// The episode is over.
    Done(Outcome),
}

/// The environment could not judge a reply.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// The judge failed.
    #[error("cannot judge the reply")]
    Judge(#[from] Infrastructure),
    /// No thread to read the reply on.
    #[error("cannot start a thread to read the reply on")]
    Thread(#[from] std::io::Error),
    /// The task lacks what the environment needs, or has no environment here.
    #[error("{0}")]
    Task(String),
    /// The prompt cannot be written.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The caller goes on after the end.
    #[error("the episode is over: it takes no more replies")]
    Over,
}

/// What environments are built from.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The settings.
    pub config: &'a Config,
    /// Programs are read and not run: what an environment pays for running them is left out.
    pub skip_runtime: bool,
    /// Starts the judge of programs. Called only by an environment that runs programs.
    pub start_judge: &'a (dyn Fn() -> Result<Judge, StartError> + Sync),
    /// Results of earlier runs, and of this one.
    pub results: Option<&'a Arc<dyn ResultCache>>,
    /// What replaces parts of the Phaser environment.
    pub phaser: Option<&'a PhaserOptions>,
    /// What is judged of a Python program. Anything but all of it is for evaluation alone, where no reward is paid.
    pub sanitize: Sanitize,
}

impl<'a> Setup<'a> {
    /// Programs are run whole, nothing is kept, and nothing is replaced.
    pub fn new(
        config: &'a Config,
        start_judge: &'a (dyn Fn() -> Result<Judge, StartError> + Sync),
    ) -> Self {
        let (skip_runtime, sanitize) = (false, Sanitize::Off);
        Self { config, skip_runtime, start_judge, results: None, phaser: None, sanitize }
    }
}

/// An environment could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The judge of programs does not start.
    #[error("{0}")]
    Judge(StartError),
    /// A task or the settings name an environment that there is not.
    #[error("`{kind}` is no environment{}", asked_by(.task.as_ref()))]
    UnknownKind {
        /// The name.
        kind: String,
        /// The task that names it; else the settings do.
        task: Option<TaskId>,
    },
    /// What the environment runs programs with is not there.
    #[error("the environment `{kind}` cannot be built: {problem}")]
    Missing {
        /// The environment.
        kind: &'static str,
        /// What is missing or damaged.
        problem: String,
    },
    /// The index describes another version of Phaser than the one that is installed.
    #[error(
        "the index of `--api-index` describes Phaser {index}, and Phaser {installed} is installed"
    )]
    OtherPhaser {
        /// The version of the index.
        index: String,
        /// The version that is installed.
        installed: &'static str,
    },
    /// The settings name no prompt.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A task lacks what its environment needs.
    #[error("cannot open task `{task}`")]
    Task {
        /// The task.
        task: TaskId,
        /// What is wrong with it.
        source: EnvError,
    },
}

fn asked_by(task: Option<&TaskId>) -> String {
    task.map_or_else(
        || ": `env.kind` names it".to_owned(),
        |task| format!(": task `{task}` names it"),
    )
}
