//! The Phaser environment: one prompt, one program, checked and run.

use std::collections::BTreeMap;
use std::sync::Arc;

use whetstone_core::extract::Reply;
use whetstone_core::message::Message;
use whetstone_core::program::Language;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::seed::Seed;
use whetstone_core::task::{Task, TaskView};
use whetstone_phaser::index::Index;
use whetstone_sandbox::phaser::{InputScript, Installation, Version};

use super::checks::{Check, FRAMES, GameTask};
use super::inspector::{Engine, Inspector};
use super::options::{IndexSource, PhaserOptions};
use super::validation::Validation;
use super::{installed, reward};
use crate::environment::{BuildError, EnvError, Environment, Episode, Next, Outcome, Setup};
use crate::judge::workers;
use crate::python::limits;

/// Its name in tasks and settings.
pub const KIND: &str = "phaser";

/// The fact that names the terms of what was not run.
pub(super) const NOT_RUN: &str = "not_run";

/// Asks for a game and pays for what it does.
pub struct PhaserEnvironment {
    inspector: Arc<Inspector>,
    prompt: PromptTemplate,
}

/// Builds it with the judge of the settings and the Phaser that is installed; neither is needed to read programs, nor
/// where an outside validator runs them.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Environment>, BuildError> {
    let missing = |problem: String| BuildError::Missing { kind: KIND, problem };
    let PhaserOptions { index, validator } = setup.phaser.cloned().unwrap_or_default();
    let found = installed().map_err(|error| missing(error.to_string()))?;
    let version = found.as_ref().map_or(Version::V3, Installation::version);
    let engine = if setup.skip_runtime || validator.is_some() {
        None
    } else {
        let found = found.ok_or_else(|| missing("Phaser is not installed".to_owned()))?;
        same_version(index.as_deref(), version)?;
        let judge = (setup.start_judge)().map_err(BuildError::Judge)?;
        Some(Engine { judge, installed: found })
    };
    let index =
        match index {
            Some(index) => IndexSource::Given(index),
            None => IndexSource::Embedded(Index::embedded(version.number()).ok_or_else(|| {
                missing(format!("there is no index of Phaser {}", version.number()))
            })?),
        };
    let inspector = Inspector {
        engine,
        index_digest: index.digest(),
        index,
        validator,
        workers: workers(setup.config),
        results: setup.results.cloned(),
        skip_runtime: setup.skip_runtime,
        limits: limits(setup.config),
    };
    let prompt = PromptTemplate::for_plans(&setup.config.prompt)?;
    Ok(Box::new(PhaserEnvironment { inspector: Arc::new(inspector), prompt }))
}

/// Refuses an index that a user gave, of another version than the one that runs programs.
fn same_version(index: Option<&Index>, installed: Version) -> Result<(), BuildError> {
    let installed = installed.number();
    match index.map(Index::version).filter(|&version| version != installed) {
        Some(index) => Err(BuildError::OtherPhaser { index: index.to_owned(), installed }),
        None => Ok(()),
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
        let view = TaskView { language: Language::Javascript, ..task.view() };
        let messages = self.prompt.prompt(view)?.messages();
        Ok(Box::new(PhaserEpisode {
            inspector: self.inspector.clone(),
            id: task.id.to_string(),
            task: game_task(task)?,
            messages,
            over: false,
        }))
    }

    fn identity(&self) -> BTreeMap<String, String> {
        self.inspector.identity()
    }
}

/// Checks that a task's body can be read.
///
/// # Errors
///
/// If a field is missing or wrong.
pub fn check_body(task: &Task) -> Result<(), EnvError> {
    game_task(task).map(drop)
}

/// What a task's body asks of a game.
fn game_task(task: &Task) -> Result<GameTask, EnvError> {
    let problem = |error: &dyn std::fmt::Display| EnvError::Task(error.to_string());
    // Required, if empty: a misspelt name would make a task that is paid without a run.
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
    inspector: Arc<Inspector>,
    id: String,
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
        let validation = self.inspector.inspect(&self.id, &self.task, reply)?;
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
        let validation = self.inspector.inspect(&self.id, &self.task, Reply::text(""))?;
        Ok(outcome(&validation))
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
        None if validation.parse.ok => outcome.with_fact(NOT_RUN, &reward::NEED_A_RUN),
        None => outcome,
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::config::Config;
    use whetstone_core::outcome::Evidence;
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
        let config = Config::default();
        let setup = Setup { skip_runtime: true, ..Setup::new(&config, &start_judge) };
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
    fn what_was_not_run_is_named_where_there_was_something_to_run() {
        let facts = |text: &str| match read_only(text).evidence {
            Evidence::Observed(seen) => seen.facts.get(NOT_RUN).map(str::to_owned),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            facts(&reply(GAME)).as_deref(),
            Some(r#"["runtime","task","no_tampering","check_passed"]"#)
        );
        assert_eq!(facts(&reply("class {")), None);
    }

    #[test]
    fn what_decides_outcomes_differs_with_the_index() {
        let start_judge = || Err(StartError::Refused("nothing is run".to_owned()));
        let config = Config::default();
        let identity = |version: &str| {
            let index = Index::read(Index::embedded(version).expect("one").write().as_bytes());
            let options =
                PhaserOptions { index: index.ok().map(Arc::new), ..PhaserOptions::default() };
            let setup = Setup {
                skip_runtime: true,
                phaser: Some(&options),
                ..Setup::new(&config, &start_judge)
            };
            build(&setup).expect("reading needs no judge").identity()
        };
        let (three, four) = (identity("3"), identity("4"));
        let differ: Vec<&String> = three
            .iter()
            .filter(|(name, value)| four.get(*name) != Some(value))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(differ, ["phaser: --api-index"]);
        assert_eq!(three["phaser: --skip-runtime"], "true");
    }

    #[test]
    fn an_index_of_another_version_than_the_installed_one_is_refused_with_both() {
        let four = Index::embedded("4");
        let said = same_version(four, Version::V3).expect_err("another version").to_string();
        assert!(said.contains("describes Phaser 4.2.1, and Phaser 3.90.0 is installed"), "{said}");
        assert!(same_version(four, Version::V4).is_ok() && same_version(None, Version::V3).is_ok());
    }

    #[test]
    fn a_task_without_the_field_is_refused_and_an_empty_list_is_not() {
        let bare = TASK.replace(r#","checks":[{"kind":"count","select":{},"at_least":1}]"#, "");
        let bare = Task::from_object(serde_json::from_str(&bare).expect("JSON")).expect("a task");
        let problem = game_task(&bare).expect_err("no checks").to_string();
        assert!(problem.contains("checks"), "{problem}");
        let none = TASK.replace(r#"[{"kind":"count","select":{},"at_least":1}]"#, "[]");
        let none = Task::from_object(serde_json::from_str(&none).expect("JSON")).expect("a task");
        assert!(game_task(&none).expect("a task").checks().is_empty());
    }
}
