//! An environment with a trivial reward: the letters of a reply, and a real program besides if there is a judge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use whetstone_core::extract::Reply;
use whetstone_core::judgement::{Infrastructure, Judgement};
use whetstone_core::message::Message;
use whetstone_core::program::{Language, Program};
use whetstone_core::reward::{Reward, Term};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_sandbox::Judge;
use whetstone_sandbox::job::{Job, Judging, Limits as JobLimits};

/// The prompt of a task, which ends with its name.
pub(crate) fn prompt(name: &str) -> String {
    let ask = "Write a python function that returns the sum of the squares of the even numbers in \
               a list. ";
    format!("{}{name}", ask.repeat(2))
}

/// Pays for the letters of a reply; with a judge, runs a program for each.
pub(crate) struct Letters {
    pub(crate) judge: Option<Arc<Judge>>,
}

struct Reading {
    judge: Option<Arc<Judge>>,
    task: Task,
    messages: Vec<Message>,
}

impl Environment for Letters {
    fn max_turns(&self, _: &Task) -> usize {
        1
    }

    fn open(&self, task: &Task, _seed: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let messages = vec![Message::user(prompt(task.id.as_str()))];
        Ok(Box::new(Reading { judge: self.judge.clone(), task: task.clone(), messages }))
    }
}

impl Reading {
    /// The task's own reference stands for what a student would have written; none without a judge.
    fn judged(&self) -> Result<Option<Judgement>, EnvError> {
        let Some(judge) = &self.judge else { return Ok(None) };
        let source = self.task.reference.clone().unwrap_or_default();
        let program = Program { language: Language::Python, source, truncated: false };
        let (setup, tests) = (&self.task.setup, &self.task.tests);
        let job = Job { program: &program, setup, tests, limits: JobLimits::default() };
        Ok(Some(judge.judge(job).map_err(Infrastructure::from)?))
    }
}

impl Episode for Reading {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let text = reply.text;
        let judgement = self.judged()?;
        let letters = text.chars().collect::<BTreeSet<char>>().len() % 7;
        let value = f64::from(u8::try_from(letters).unwrap_or(0)) / 6.0;
        let terms = BTreeMap::from([("letters".to_owned(), Term { value, weight: 1.0 })]);
        let reward = Reward::new(terms, BTreeMap::new()).expect("a number in its bounds");
        Ok(Next::Done(match judgement {
            Some(judgement) => Outcome::of_program(judgement, reward),
            None => Outcome::observed("letters", false, reward),
        }))
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Err(EnvError::Over)
    }
}
