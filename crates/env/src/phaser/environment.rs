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
use whetstone_sandbox::phaser::{InputScript, SourceKind, Version};

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
    /// Who runs the programs; nobody where they are only read.
    judge: Option<Arc<Judge>>,
    index: &'static Index,
    language: PromptLanguage,
    limits: Limits,
}

/// Builds it with the judge of the settings and the Phaser that is installed; neither is needed to read programs.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Environment>, BuildError> {
    let missing = |problem: String| BuildError::Missing { kind: KIND, problem };
    let found = installed().map_err(|error| missing(error.to_string()))?;
    if setup.skip_runtime {
        let version = found.map_or(Version::V3, |found| found.version());
        return PhaserEnvironment::boxed(setup.config, None, version).map_err(missing);
    }
    let found = found.ok_or_else(|| missing("Phaser is not installed".to_owned()))?;
    let judge = (setup.start_judge)().map_err(BuildError::Judge)?;
    PhaserEnvironment::boxed(setup.config, Some(judge), found.version()).map_err(missing)
}

impl PhaserEnvironment {
    /// By the settings, for a version of Phaser, which the judge has installed.
    fn boxed(
        config: &Config,
        judge: Option<Judge>,
        version: Version,
    ) -> Result<Box<dyn Environment>, String> {
        let index = Index::embedded(version.number())
            .ok_or_else(|| format!("there is no index of Phaser {}", version.number()))?;
        let (language, limits) = (config.prompt.language, limits(config));
        Ok(Box::new(Self { judge: judge.map(Arc::new), index, language, limits }))
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
            judge: self.judge.clone(),
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
    judge: Option<Arc<Judge>>,
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
        if let Some(judge) = self.judge.as_ref().filter(|_| validation.parse.ok) {
            let program = Program {
                source: &read.source,
                kind: source_kind(&read.source, &validation),
                seed: SEED,
                limits: self.limits,
            };
            let seen = observe(judge, program, &self.task)?;
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

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;
    use whetstone_sandbox::StartError;

    use super::*;

    const TASK: &str = r#"{"id":"seed_000001","statement":"A box.","language":"javascript",
        "body":{"kind":"phaser","checks":[{"kind":"count","select":{},"at_least":1}]}}"#;
    const GAME: &str = "class Main extends Phaser.Scene {\n  create() {\n    \
        const box = this.add.rectangle(100, 100, 20, 20, 0xff0000);\n    \
        this.tweens.add({ targets: box, x: 300, duration: 500 });\n  }\n}\n\
        new Phaser.Game({ width: 800, height: 600, scene: Main });";

    fn task() -> Task {
        Task::from_object(serde_json::from_str(TASK).expect("JSON")).expect("a task")
    }

    /// The outcome of a reply that is read and not run.
    fn read_only(text: &str) -> Outcome {
        let start_judge = || Err(StartError::Refused("nothing is run".to_owned()));
        let setup =
            Setup { config: &Config::default(), skip_runtime: true, start_judge: &start_judge };
        let environment = build(&setup).expect("reading needs no judge");
        let mut episode = environment.open(&task(), Seed::new(1)).expect("an episode");
        let Next::Done(outcome) = episode.reply(Reply::text(text)).expect("an outcome") else {
            panic!("one reply ends it")
        };
        outcome
    }

    fn reply(source: &str) -> String {
        let plan = "1. Make a scene.\n2. Add a rectangle.\n3. Start tweens.";
        format!("[PLAN]\n{plan}\n[/PLAN]\n```javascript\n{source}\n```\n")
    }

    #[test]
    fn a_program_that_is_only_read_earns_its_static_terms() {
        let outcome = read_only(&reply(GAME));
        assert!((outcome.reward.total() - 0.5).abs() < 1e-9, "{:?}", outcome.reward);
        assert!(!outcome.reward.terms().contains_key("runtime"));
        assert!(!outcome.is_solved());
    }

    #[test]
    fn an_invented_name_no_parse_and_no_code_fail_their_gates() {
        let failed = |text: &str| {
            let reward = read_only(text).reward;
            let failed = reward.gates().iter().filter(|(_, gate)| !gate.passed);
            let failed: Vec<String> = failed.map(|(name, _)| name.clone()).collect();
            (failed, reward.total())
        };
        let (gates, total) = failed(&reply(&GAME.replace("add.rectangle", "add.rectangel")));
        assert_eq!(gates, ["known_api"]);
        assert!(total < 0.5, "{total}");
        let (gates, total) = failed(&reply("class {"));
        assert_eq!(gates, ["parses"]);
        assert!(total <= 0.05, "{total}");
        let (gates, total) = failed("I would rather not.");
        assert_eq!(gates, ["code", "parses"]);
        assert!(total.abs() < 1e-9, "{total}");
    }

    #[test]
    fn a_task_without_checks_is_refused() {
        let bare = TASK.replace(r#","checks":[{"kind":"count","select":{},"at_least":1}]"#, "");
        let bare = Task::from_object(serde_json::from_str(&bare).expect("JSON")).expect("a task");
        let problem = game_task(&bare).expect_err("no checks").to_string();
        assert!(problem.contains("checks"), "{problem}");
    }

    #[test]
    fn imports_make_a_module_and_a_word_in_a_text_does_not() {
        let kind = |source: &str| {
            let read = on_big_stack(|stack| {
                read(Reply::text(&reply(source)), Index::embedded("3").expect("an index"), stack)
            });
            let read = read.expect("a thread");
            source_kind(&read.source, &read.validation)
        };
        assert_eq!(kind("import Phaser from 'phaser';\nnew Phaser.Game({});"), SourceKind::Module);
        assert_eq!(kind("const text = 'export it';\nplayer = 1;"), SourceKind::Script);
    }
}
