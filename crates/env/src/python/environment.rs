//! The Python environment: one prompt, one reply, one outcome.

use std::sync::Arc;
use std::time::Duration;

use whetstone_core::config::{Config, SandboxConfig};
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::Message;
use whetstone_core::prompt::{PromptError, PromptTemplate, begun_answer};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::Judge;
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::protocol::About;

use super::{Reading, Rules, settled};
use crate::environment::{BuildError, EnvError, Environment, Episode, Next, Outcome, Setup};
use crate::stack::on_big_stack;

/// Asks for a program and pays for what it does.
pub struct PythonEnvironment {
    /// Who runs the programs.
    pub judge: Arc<dyn Judging>,
    /// How replies are read and paid.
    pub rules: Rules,
    /// The prompt around a problem.
    pub prompt: PromptTemplate,
    /// What a program may use.
    pub limits: Limits,
    /// How the judge holds programs, and with which interpreter; none of a stand-in.
    pub about: Option<About>,
}

/// Builds it with the judge of the settings.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Environment>, BuildError> {
    let judge = (setup.start_judge)().map_err(BuildError::Judge)?;
    let mut environment = PythonEnvironment::new(setup.config, judge)?;
    environment.rules.sanitize = setup.sanitize;
    Ok(Box::new(environment))
}

/// What a program may use by the settings.
pub fn limits(config: &Config) -> Limits {
    let SandboxConfig { cpu_seconds, memory_mib, .. } = config.sandbox;
    Limits { cpu: Duration::from_secs_f64(cpu_seconds), memory: u64::from(memory_mib) << 20 }
}

impl PythonEnvironment {
    /// By the settings, with a judge that runs.
    ///
    /// # Errors
    ///
    /// If the settings name no prompt.
    pub fn new(config: &Config, judge: Judge) -> Result<Self, PromptError> {
        let about = judge.about().clone();
        let [_, minor, _] = about.python_version;
        let rules = Rules::new(config.reward.clone());
        Ok(Self {
            judge: Arc::new(judge),
            rules: rules.for_python(u8::try_from(minor).unwrap_or(u8::MAX)),
            prompt: PromptTemplate::of(&config.prompt)?,
            limits: limits(config),
            about: Some(about),
        })
    }
}

struct PythonEpisode {
    judge: Arc<dyn Judging>,
    rules: Rules,
    limits: Limits,
    task: Task,
    messages: Vec<Message>,
    over: bool,
}

impl PythonEpisode {
    /// Takes the one reply, which has the text that the prompt began it with.
    fn end_with(&mut self, text: &str) {
        if begun_answer(&self.messages).is_some() {
            self.messages.pop();
        }
        self.messages.push(Message::assistant(text));
        self.over = true;
    }

    /// What a reply to a task without tests is worth.
    fn by_static_terms(&self, reading: &Reading) -> Outcome {
        Outcome::not_run(self.rules.static_reward(reading))
    }
}

impl Environment for PythonEnvironment {
    /// One reply ends an episode.
    fn max_turns(&self, _: &Task) -> usize {
        1
    }

    /// Nothing in an episode is random, so the seed is not used.
    fn open(&self, task: &Task, _seed: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let prompt = self.prompt.prompt(task.view())?;
        Ok(Box::new(PythonEpisode {
            judge: Arc::clone(&self.judge),
            rules: self.rules.clone(),
            limits: self.limits,
            task: task.clone(),
            messages: prompt.messages(),
            over: false,
        }))
    }
}

impl Episode for PythonEpisode {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Reads the reply on a thread of its own with a big stack: starting one takes some 30 µs, a
    /// hundredth of what running the program takes. Whoever reads thousands of replies without
    /// running them calls [`Rules::read`] on threads that it keeps.
    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        if self.over {
            return Err(EnvError::Over);
        }
        let reading = on_big_stack(|stack| self.rules.read(&self.task, reply, stack))?;
        if self.task.tests.is_absent() {
            self.end_with(reply.text);
            return Ok(Next::Done(self.by_static_terms(&reading)));
        }
        let outcome = self.rules.outcome(&reading, |candidate| {
            let (setup, tests) = (&self.task.setup, &self.task.tests);
            let job = Job { program: &candidate.program, setup, tests, limits: self.limits };
            self.judge.judge(job).map_err(Infrastructure::from)
        })?;
        self.end_with(reply.text);
        Ok(Next::Done(outcome))
    }

    /// One reply ends an episode, so this one had none, and no code.
    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        if self.over {
            return Err(EnvError::Over);
        }
        self.over = true;
        let judgement = settled(Verdict::NoCode, &self.task);
        let reading =
            Reading::Settled { judgement: judgement.clone(), language: self.task.language };
        if self.task.tests.is_absent() {
            return Ok(self.by_static_terms(&reading));
        }
        let reward = self.rules.reward(&reading, &judgement);
        Ok(Outcome::of_program(judgement, reward))
    }
}
