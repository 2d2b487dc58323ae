//! The Phaser environment: one prompt, one program, checked and run.

use std::sync::Arc;

use whetstone_core::config::{Config, PromptLanguage};
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::message::Message;
use whetstone_core::program::Language;
use whetstone_core::prompt::Prompt;
use whetstone_core::seed::Seed;
use whetstone_core::stack::BigStack;
use whetstone_core::task::Task;
use whetstone_phaser::check::{Findings, ParseMode, check};
use whetstone_phaser::index::Index;
use whetstone_sandbox::Judge;
use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{InputScript, Installation, SourceKind};

use super::checks::{Check, FRAMES, GameTask};
use super::validation::{FormatFindings, RuntimeFindings, Validation};
use super::{Program, installed, observe, plan, reward};
use crate::environment::{BuildError, EnvError, Environment, Episode, Next, Outcome, Setup};
use crate::python::limits;
use crate::stack::on_big_stack;

/// Its name in tasks and settings.
pub const KIND: &str = "phaser";

/// The seed of every program's randomness: the same program has the same outcome wherever it is judged.
const SEED: u64 = 0;

/// Asks for a game and pays for what it does.
pub struct PhaserEnvironment {
    judge: Arc<Judge>,
    index: &'static Index,
    language: PromptLanguage,
    limits: Limits,
}

/// Builds it with the judge of the settings and the Phaser that is installed.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Environment>, BuildError> {
    let missing = |problem: String| BuildError::Missing { kind: KIND, problem };
    let found = installed().map_err(|error| missing(error.to_string()))?;
    let found = found.ok_or_else(|| missing("Phaser is not installed".to_owned()))?;
    let judge = (setup.start_judge)().map_err(BuildError::Judge)?;
    PhaserEnvironment::new(setup.config, judge, &found)
        .map(|environment| Box::new(environment) as Box<dyn Environment>)
        .ok_or_else(|| missing(format!("there is no index of Phaser {}", found.version().number())))
}

impl PhaserEnvironment {
    /// By the settings, with a judge that has this installation; `None` if no index is of its version.
    pub fn new(config: &Config, judge: Judge, found: &Installation) -> Option<Self> {
        let index = Index::embedded(found.version().number())?;
        let (language, limits) = (config.prompt.language, limits(config));
        Some(Self { judge: Arc::new(judge), index, language, limits })
    }
}

impl Environment for PhaserEnvironment {
    /// One reply ends an episode.
    fn max_turns(&self, _: &Task) -> usize {
        1
    }

    fn check(&self, task: &Task) -> Result<(), EnvError> {
        game_task(task).map(drop)
    }

    /// Nothing in an episode is random, so the seed is not used.
    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let view = whetstone_core::task::TaskView { language: Language::Javascript, ..task.view() };
        let messages = Prompt::new(view, self.language).messages().to_vec();
        Ok(Box::new(PhaserEpisode {
            judge: Arc::clone(&self.judge),
            index: self.index,
            limits: self.limits,
            task: game_task(task)?,
            messages,
            over: false,
        }))
    }
}

/// What a task's body asks of a game.
fn game_task(task: &Task) -> Result<GameTask, EnvError> {
    let problem = |error: &dyn std::fmt::Display| EnvError::Task(error.to_string());
    let checks: Vec<Check> = task.field("checks").map_err(|error| problem(&error))?;
    let input: Option<InputScript> = optional(task, "input")?;
    let frames: Option<u32> = optional(task, "frames")?;
    GameTask::new(frames.unwrap_or(FRAMES), input.unwrap_or_default(), checks)
        .map_err(|error| problem(&error))
}

fn optional<T: serde::de::DeserializeOwned>(
    task: &Task,
    name: &'static str,
) -> Result<Option<T>, EnvError> {
    match task.field(name) {
        Ok(value) => Ok(Some(value)),
        Err(whetstone_core::wire::WireError::Missing(_)) => Ok(None),
        Err(error) => Err(EnvError::Task(error.to_string())),
    }
}

struct PhaserEpisode {
    judge: Arc<Judge>,
    index: &'static Index,
    limits: Limits,
    task: GameTask,
    messages: Vec<Message>,
    over: bool,
}

impl Episode for PhaserEpisode {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        if self.over {
            return Err(EnvError::Over);
        }
        let read = on_big_stack(|stack| read(reply, self.index, stack))?;
        let mut validation = read.validation;
        if validation.parse.ok {
            let program = Program {
                source: &read.source,
                kind: source_kind(&read.source, &validation),
                seed: SEED,
                limits: self.limits,
            };
            let seen = observe(&self.judge, program, &self.task)?;
            (validation.runtime, validation.task) =
                (Some(RuntimeFindings::from(seen.run)), seen.checks);
        }
        self.messages.push(Message::assistant(reply.text));
        self.over = true;
        Ok(Next::Done(outcome(&validation)))
    }

    /// One reply ends an episode, so this one had none.
    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        if self.over {
            return Err(EnvError::Over);
        }
        self.over = true;
        let read = on_big_stack(|stack| read(Reply::text(""), self.index, stack))?;
        Ok(outcome(&read.validation))
    }
}

struct Read {
    source: String,
    validation: Validation,
}

/// What is known of a reply before its program is run.
fn read(reply: Reply<'_>, index: &Index, stack: &BigStack) -> Read {
    let extraction = extract(reply, Form::PlanJavascript);
    let source = extraction.code.as_ref().map(|code| code.source.to_string()).unwrap_or_default();
    let plan = extraction.plan.as_deref().map(|plan| plan::worth(plan, &source));
    let format = FormatFindings::of(&extraction, plan);
    let findings = if format.code { check(&source, index, stack) } else { Findings::default() };
    Read { source, validation: Validation::of(format, findings) }
}

/// A program with imports or exports is run as a module, any other as a page would run it: as a script.
fn source_kind(source: &str, validation: &Validation) -> SourceKind {
    let is_statement = |line: &str| {
        ["import ", "import{", "export "].iter().any(|start| line.trim_start().starts_with(start))
    };
    if validation.parse.mode == ParseMode::Module && source.lines().any(is_statement) {
        SourceKind::Module
    } else {
        SourceKind::Script
    }
}

fn outcome(validation: &Validation) -> Outcome {
    let paid = reward::reward(validation);
    let outcome = Outcome::observed(KIND, reward::is_solved(validation), paid)
        .with_fact("format", &validation.format)
        .with_fact("parse", &validation.parse)
        .with_fact("api", &validation.api)
        .with_fact("lifecycle", &validation.lifecycle);
    match &validation.runtime {
        Some(run) => outcome.with_fact("runtime", run).with_fact("task", &validation.task),
        None => outcome,
    }
}
