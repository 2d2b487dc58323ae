//! GRPO and PPO with a process reward model: what it pays, where it is kept, and advantages of turns.

use std::collections::BTreeMap;

use serde_json::Value;
use whetstone_core::config::AdvantageOf;
use whetstone_core::extract::Reply;
use whetstone_core::message::Message;
use whetstone_core::outcome::{Outcome, Transition};
use whetstone_core::reward::{Reward, Term};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::{EnvError, Environment, Episode, Next};
use whetstone_record::journal;

use super::{Data, FINAL, planted, transition};
use crate::school::{PpoModels, School, parity};

/// Two turns, in each of which a number falls by one if the reply is even.
struct Falling;

struct FallingEpisode {
    number: usize,
    messages: Vec<Message>,
    transitions: Vec<Transition>,
}

impl Environment for Falling {
    fn max_turns(&self, _: &Task) -> usize {
        2
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let messages = vec![Message::user(task.id.to_string())];
        Ok(Box::new(FallingEpisode { number: 2, messages, transitions: Vec::new() }))
    }
}

impl Episode for FallingEpisode {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let next = self.number - usize::from(parity(reply.text) > 0.5);
        self.transitions.push(transition(self.number, next));
        self.number = next;
        if self.transitions.len() == 2 {
            return Ok(Next::Done(self.outcome()));
        }
        self.messages.push(Message::assistant(reply.text));
        self.messages.push(Message::user("again"));
        Ok(Next::Ask)
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Ok(self.outcome())
    }
}

impl FallingEpisode {
    fn outcome(&self) -> Outcome {
        let solved = self.number == 0;
        let value = if solved { 0.5 } else { 0.0 };
        let terms = BTreeMap::from([("fall".to_owned(), Term { value, weight: 1.0 })]);
        let reward = Reward::new(terms, BTreeMap::new()).unwrap();
        Outcome::observed("guess", solved, reward).with_transitions(self.transitions.clone())
    }
}

/// A school of episodes, and a process reward model in its run `prm`.
fn school() -> School {
    let mut school = super::school();
    Data::of(&school, planted(60, 1)).prm(&school, "prm").unwrap();
    school.environment = Some(Box::new(Falling));
    school.rows = vec![Vec::new(); 8];
    school.process_model = Some(school.path("prm", FINAL));
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.grpo.kl_coef = 0.0;
    school.config.training.max_length = 128;
    school.config.training.max_steps = 2;
    school.config.training.per_device_train_batch_size = 2;
    school
}

fn lines(school: &School, run: &str) -> Vec<Value> {
    let path = school.path(run, "rollouts/rollouts.jsonl");
    let records = journal::read(&path).unwrap().map(|record| record.unwrap().json);
    records.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

#[test]
fn episodes_are_paid_for_their_process_and_unsolved_ones_stay_below_the_cap() {
    let mut school = school();
    school.config.training.save_steps = 1;
    school.grpo("run").unwrap();
    let (mut solved, mut unsolved) = (0, 0);
    for line in lines(&school, "run") {
        let total = line["reward"]["total"].as_f64().unwrap();
        let process = line["reward"]["terms"]["process"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&process), "{line}");
        assert_eq!(line["validation"]["transitions"].as_array().unwrap().len(), 2);
        if line["validation"]["solved"] == true {
            assert!((total - 0.5 - 0.1 * process).abs() < 1e-9, "{line}");
            solved += 1;
        } else {
            assert!(total <= 0.19 && (total - 0.1 * process).abs() < 1e-9, "{line}");
            assert_eq!(line["reward"]["gates"]["process"]["passed"], false);
            unsolved += 1;
        }
    }
    assert!(solved > 0 && unsolved > 0, "{solved} solved, {unsolved} not");
    let (_, values) = school.metrics("run").pop().unwrap();
    assert!(values.contains_key("process/unsolved") && values.contains_key("reward/process"));
    assert!((values["process/transitions"] - 32.0).abs() < 1e-9, "{values:?}");
    // A checkpoint has the model as it was given, and resuming needs nothing else.
    let (given, kept) = (school.files("prm", FINAL), school.files("run", "outputs/checkpoint-1"));
    for name in ["adapter_model.safetensors", "process_model.json"] {
        assert!(kept[&format!("process_model/{name}")] == given[name], "{name}");
    }
    std::fs::remove_dir_all(school.path("run", FINAL)).unwrap();
    let _ = std::fs::remove_dir_all(school.path("run", "outputs/checkpoint-2"));
    let expected = lines(&school, "run");
    school.process_model = None;
    school.grpo_again("run").unwrap();
    assert_eq!(lines(&school, "run"), expected);
}

#[test]
fn advantages_of_turns_train_something_else_with_and_without_a_model() {
    let mut school = school();
    let weights =
        |school: &School, run: &str| school.files(run, FINAL)["adapter_model.safetensors"].clone();
    school.grpo("episode").unwrap();
    school.config.grpo.advantage_by = AdvantageOf::Step;
    school.grpo("step").unwrap();
    school.process_model = None;
    school.grpo("labels").unwrap();
    let (episode, step, labels) =
        (weights(&school, "episode"), weights(&school, "step"), weights(&school, "labels"));
    assert!(episode != step && step != labels && episode != labels);
    let advantages = |line: &Value| line["advantage"].as_f64().unwrap();
    assert!(lines(&school, "step").iter().map(advantages).any(|advantage| advantage != 0.0));
    assert!(
        lines(&school, "labels").iter().all(|line| line["reward"]["terms"]["process"].is_null())
    );
    // An environment without transitions has one advantage an episode, by the same formula as before.
    school.environment = None;
    school.grpo("plain_step").unwrap();
    school.config.grpo.advantage_by = AdvantageOf::Episode;
    school.grpo("plain").unwrap();
    assert!(weights(&school, "plain") == weights(&school, "plain_step"));
}

#[test]
fn ppo_is_paid_too_and_an_environment_without_transitions_is_refused() {
    let mut school = school();
    school.config.training.max_steps = 1;
    school.ppo("ppo", PpoModels::default()).unwrap();
    let (_, values) = school.metrics("ppo").pop().unwrap();
    assert!(values.contains_key("process/unsolved") && values.contains_key("reward/process"));
    school.environment = None;
    let err = school.grpo("none").unwrap_err();
    assert!(err.is_usage(), "{err}");
    assert!(err.to_string().contains("none of 16 episodes has transitions"), "{err}");
}
