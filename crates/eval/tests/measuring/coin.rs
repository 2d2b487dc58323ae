//! A model that answers from its prompt and its seed, and a judge that believes what it is told.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::extract::Reply;
use whetstone_core::judgement::{Counts, Held, Infrastructure, Isolation, Judgement};
use whetstone_core::message::Message;
use whetstone_core::reward::{Reward, Term};
use whetstone_core::verdict::Verdict;
use whetstone_core::wire::Wire;
use whetstone_core::{Seed, Task};
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_infer::{GenerateError, Generator, Prompt, Rule, SampledCompletion, Usage};
use whetstone_rollout::collect::{Collecting, Render};

fn task(id: &str) -> Task {
    let line = format!(
        r#"{{"id":"{id}","statement":"{id}","tests":{{"kind":"asserts","hidden":["a","b"]}}}}"#
    );
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

pub(crate) fn tasks(ids: &[&str]) -> Vec<Task> {
    ids.iter().map(|id| task(id)).collect()
}

/// Says `pass` or `wrong` by the prompt's seed and the sample's number; `long …` is cut off. At a temperature below 0.5 it
/// passes.
#[derive(Default)]
pub(crate) struct Coin {
    pub(crate) calls: Vec<usize>,
}

impl Generator for Coin {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        self.calls.push(prompts.iter().map(|prompt| prompt.samples).sum());
        for (at, prompt) in prompts.iter().enumerate() {
            let asked: String =
                prompt.tokens.iter().map(|&token| char::from_u32(token).unwrap()).collect();
            for sample in 0..prompt.samples {
                let cold = prompt.rule.temperature > 0.0 && prompt.rule.temperature < 0.5;
                let drawn = prompt.seed.derive("coin", sample as u64).get();
                let heads = cold || drawn.is_multiple_of(2);
                let text = format!("{asked} {}", if heads { "pass" } else { "wrong" });
                let finish = if asked.starts_with("long") { Finish::Length } else { Finish::Stop };
                // The second sample has two tokens, so a mean over samples is another.
                let logps =
                    vec![-1.0 / f32::from(1 + u16::try_from(sample).unwrap()); 1 + sample % 2];
                let tokens = SampledTokens::new(vec![7; logps.len()], logps).ok();
                let completion = Completion { text, reasoning: None, finish, tokens };
                if done(SampledCompletion { prompt: at, sample, completion }).is_break() {
                    return Ok(Usage::default());
                }
            }
        }
        Ok(Usage { sampled: 3 * self.calls.last().unwrap(), ..Usage::default() })
    }
}

/// A program passes if it says so; of a task `broken …` none can be judged.
pub(crate) struct Judge;

struct Play([Message; 1]);

impl Environment for Judge {
    fn max_turns(&self, _: &Task) -> usize {
        1
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        Ok(Box::new(Play([Message::user(&task.statement)])))
    }
}

impl Episode for Play {
    fn messages(&self) -> &[Message] {
        &self.0
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let text = reply.text;
        if text.starts_with("broken") {
            return Err(Infrastructure("no zygote".to_owned()).into());
        }
        let passed = text.ends_with("pass");
        let verdict = if passed { Verdict::Pass } else { Verdict::Wrong { test: 1 } };
        let counts = Counts { passed: 1 + u32::from(passed), total: 2 };
        let held = Held { cpu_ms: 1.5, isolation: Isolation::Full };
        let judgement = Judgement::of_run(verdict, counts, held).unwrap();
        let term = Term { value: f64::from(u8::from(passed)), weight: 1.0 };
        let terms = BTreeMap::from([("tests".to_owned(), term)]);
        let reward = Reward::new(terms, BTreeMap::new()).unwrap();
        Ok(Next::Done(Outcome::of_program(judgement, reward)))
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        unreachable!("every episode ends with its first reply")
    }
}

/// A conversation as its characters.
pub(crate) const RENDER: &Render<'static> =
    &|messages: &[Message]| Ok(messages[0].content.chars().map(u32::from).collect());

pub(crate) fn collecting() -> Collecting<'static> {
    Collecting {
        environment: &Judge,
        render: RENDER,
        thinking_opened: false,
        rule: Rule::default(),
        stop: &[],
        max_tokens: 8,
        max_prompt_tokens: 100,
        judges: 2,
        on_event: &|_| ControlFlow::Continue(()),
    }
}
