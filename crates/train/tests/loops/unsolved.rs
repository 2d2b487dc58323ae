//! Programs are asked for and none is written: a training that pays for something else is ended.

use std::collections::BTreeMap;

use whetstone_core::extract::Reply;
use whetstone_core::judgement::Judgement;
use whetstone_core::message::Message;
use whetstone_core::reward::{Reward, Term};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_train::watch::Ended;

use crate::school::{School, parity};

/// Finds no program in any reply, and pays a little for some.
struct NoProgram;

struct Asking(Vec<Message>);

impl Environment for NoProgram {
    fn max_turns(&self, _: &Task) -> usize {
        1
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        Ok(Box::new(Asking(vec![Message::user(task.id.as_str())])))
    }
}

impl Episode for Asking {
    fn messages(&self) -> &[Message] {
        &self.0
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let term = Term { value: parity(reply.text) / 20.0, weight: 1.0 };
        let terms = BTreeMap::from([("tests".to_owned(), term)]);
        let reward = Reward::new(terms, BTreeMap::new()).unwrap();
        let judgement = Judgement::of_reply(Verdict::NoCode, 2).unwrap();
        Ok(Next::Done(Outcome::of_program(judgement, reward)))
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Err(EnvError::Over)
    }
}

#[test]
fn tasks_that_nobody_solves_end_a_run_that_can_go_on() {
    let mut school = School::new();
    school.config.training.max_steps = 9;
    school.config.grpo.patience_steps = 2;
    school.environment = Some(Box::new(NoProgram));
    let err = school.grpo("run").unwrap_err();
    let text = err.to_string();
    assert!(text.starts_with("no rollout passed a single test in 2 steps"), "{text}");
    assert!(err.is_no() && err.hint().unwrap().contains("whet train sft"));
    assert!(school.path("run", "outputs/checkpoint-2").is_dir());
    school.config.grpo.patience_steps = 0;
    assert_eq!(school.grpo_again("run").unwrap(), Ended::Done, "patience without end");
}
