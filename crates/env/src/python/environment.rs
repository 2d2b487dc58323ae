//! The Python environment: one prompt, one reply, one outcome.

use std::sync::Arc;

use whetstone_core::config::PromptLanguage;
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::Message;
use whetstone_core::prompt::Prompt;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::{Job, Judging, Limits};

use super::{Reading, Rules, settled};
use crate::environment::{EnvError, Environment, Episode, Next, Outcome};
use crate::stack::on_big_stack;

/// Asks for a program and pays for what it does.
pub struct PythonEnvironment {
    /// Who runs the programs.
    pub judge: Arc<dyn Judging>,
    /// How replies are read and paid.
    pub rules: Rules,
    /// The language that the prompt is written in.
    pub language: PromptLanguage,
    /// What a program may use.
    pub limits: Limits,
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
    /// What a reply to a task without tests is worth.
    fn by_static_terms(&self, reading: &Reading) -> Outcome {
        Outcome { judgement: None, reward: self.rules.static_reward(reading) }
    }
}

impl Environment for PythonEnvironment {
    fn name(&self) -> &'static str {
        "python"
    }

    /// Nothing in an episode is random, so the seed is not used.
    fn open(&self, task: &Task, _seed: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let prompt = Prompt::new(task.view(), self.language);
        Ok(Box::new(PythonEpisode {
            judge: Arc::clone(&self.judge),
            rules: self.rules.clone(),
            limits: self.limits,
            task: task.clone(),
            messages: prompt.messages().to_vec(),
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
            self.messages.push(Message::assistant(reply.text));
            self.over = true;
            return Ok(Next::Done(self.by_static_terms(&reading)));
        }
        let judgement = match &reading {
            Reading::Settled(judgement) => judgement.clone(),
            Reading::Runs(candidate) => {
                let (setup, tests) = (&self.task.setup, &self.task.tests);
                let job = Job { program: &candidate.program, setup, tests, limits: self.limits };
                self.judge.judge(job).map_err(Infrastructure::from)?
            }
        };
        self.messages.push(Message::assistant(reply.text));
        self.over = true;
        let reward = self.rules.reward(&reading, &judgement);
        Ok(Next::Done(Outcome { judgement: Some(judgement), reward }))
    }

    /// One reply ends an episode, so this one had none, and no code.
    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        if self.over {
            return Err(EnvError::Over);
        }
        self.over = true;
        let judgement = settled(Verdict::NoCode, &self.task);
        let reading = Reading::Settled(judgement.clone());
        if self.task.tests.is_absent() {
            return Ok(self.by_static_terms(&reading));
        }
        let reward = self.rules.reward(&reading, &judgement);
        Ok(Outcome { judgement: Some(judgement), reward })
    }
}
