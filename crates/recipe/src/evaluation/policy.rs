//! The expert and the trivial policy of an environment, measured as models are: baselines for a model's figures.
//!
//! A policy answers from the conversation alone, or knows the task's solution, so it has one sample of each task and no
//! temperature.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde::Deserialize;
use whetstone_core::completion::{Completion, Finish};
use whetstone_core::message::{Message, Role};
use whetstone_core::{Seed, Task};
use whetstone_env::environment::{EnvError, Environment};
use whetstone_env::registry::Environments;
use whetstone_eval::{Evaluated, make_room};
use whetstone_infer::{GenerateError, Generator, Prompt, SampledCompletion, Usage};

use super::{EvalRequest, Measure, Source};
use crate::environment;
use crate::failure::Failure;

/// A policy of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Knows the task's solution: the most that can be earned.
    Expert,
    /// The best one known that understands nothing: what a model has to beat.
    Trivial,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Expert, Self::Trivial];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expert => "expert",
            Self::Trivial => "trivial",
        }
    }

    fn reply(
        self,
        environment: &Environments,
        task: &Task,
        messages: &[Message],
    ) -> Result<Option<String>, EnvError> {
        match self {
            Self::Expert => environment.expert_reply(task, Seed::new(0), messages),
            Self::Trivial => environment.trivial_reply(task, messages),
        }
    }
}

/// Evaluates a policy; `None` if it was stopped.
pub(super) fn measure(measure: &Measure<'_>, policy: Policy) -> Result<Option<Evaluated>, Failure> {
    let mut config = measure.config.clone();
    let eval = &mut config.eval;
    (eval.num_samples, eval.temperature, eval.k) = (1, 0.0, vec![1]);
    eval.more_temperatures.clear();
    let request = EvalRequest { skip_greedy: true, ..measure.request.clone() };
    let measure = &Measure { config: &config, request: &request, ..*measure };
    let environment = environment::for_evaluation(&config, measure.tasks)?;
    let mut generator = PolicyGenerator::new(policy, &environment, measure.tasks)?;
    make_room(&request.out, measure.earlier())?;
    let name = format!("{} policy", policy.name());
    // Decoded greedily, as far as a policy is: so it says the temperature.
    let settings =
        vec![("--policy", policy.name().to_owned()), ("eval.temperature", "0".to_owned())];
    let about = measure.about(name, settings);
    let progress = measure.observer.progress("sample");
    let mut source = Source {
        generator: &mut generator,
        tokenizer: None,
        render: &|_| Ok(Vec::new()),
        thinking_opened: false,
        max_tokens: usize::MAX,
        max_prompt_tokens: usize::MAX,
        progress: &*progress,
    };
    measure.evaluate(&about, &environment, &mut source)
}

/// Replies of a policy as completions.
struct PolicyGenerator<'a> {
    policy: Policy,
    environment: &'a Environments,
    /// The task of a conversation, by what the user says first.
    tasks: HashMap<String, &'a Task>,
}

impl<'a> PolicyGenerator<'a> {
    /// Refuses tasks whose environment has no such policy.
    fn new(
        policy: Policy,
        environment: &'a Environments,
        tasks: &'a [Task],
    ) -> Result<Self, Failure> {
        let mut by_statement = HashMap::new();
        for task in tasks {
            let refused = |source| Failure::Policy {
                policy: policy.name(),
                task: task.id.to_string(),
                source,
            };
            let episode = environment.open(task, Seed::new(0)).map_err(|err| refused(Some(err)))?;
            let messages = episode.messages();
            let reply = policy.reply(environment, task, messages);
            reply.map_err(|err| refused(Some(err)))?.ok_or_else(|| refused(None))?;
            by_statement.insert(statement(messages).to_owned(), task);
        }
        Ok(Self { policy, environment, tasks: by_statement })
    }

    fn answer(&self, messages: &[Message]) -> String {
        let task = self.tasks.get(statement(messages));
        let reply = task.map(|task| self.policy.reply(self.environment, task, messages));
        // A reply that cannot be made is one that says nothing: no policy earns by it.
        reply.and_then(Result::ok).flatten().unwrap_or_default()
    }
}

impl Generator for PolicyGenerator<'_> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        for (at, prompt) in prompts.iter().enumerate() {
            let text = self.answer(&prompt.messages);
            for sample in 0..prompt.samples {
                let (text, finish) = (text.clone(), Finish::Stop);
                let completion = Completion { text, reasoning: None, finish, tokens: None };
                if done(SampledCompletion { prompt: at, sample, completion }).is_break() {
                    return Ok(Usage::default());
                }
            }
        }
        Ok(Usage::default())
    }
}

/// What the user says first.
fn statement(messages: &[Message]) -> &str {
    let first = messages.iter().find(|message| message.role == Role::User);
    first.map_or("", |message| message.content.as_str())
}
