//! A model that says what a test tells it to, and an environment that does what the model says.
//!
//! A prompt's tokens are the characters of the conversation, so a test can read them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

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
use whetstone_rollout::collect::{Asked, Collecting, Group, Progress, RenderError, Rollout};

/// A task with this name, which is also what the model is asked.
pub(crate) fn task(id: &str) -> Task {
    let line = format!(
        r#"{{"id":"{id}","statement":"{id}","tests":{{"kind":"asserts","hidden":["a","b"]}}}}"#
    );
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

/// So many samples of each of `tasks`.
pub(crate) fn asked(tasks: &[Task], samples: usize) -> Vec<Asked<'_>> {
    let of = |(at, task)| Asked { task, samples, seed: Seed::new(at) };
    (0..).zip(tasks).map(of).collect()
}

/// The characters of a conversation, a line for each message.
#[expect(clippy::unnecessary_wraps, reason = "what a renderer returns")]
pub(crate) fn render(messages: &[Message]) -> Result<Vec<u32>, RenderError> {
    let lines: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
    Ok(lines.join("\n").chars().map(u32::from).collect())
}

/// The text of a prompt.
pub(crate) fn text(tokens: &[u32]) -> String {
    tokens.iter().map(|&token| char::from_u32(token).unwrap()).collect()
}

/// Settings that a test changes where it needs others.
pub(crate) fn collecting(environment: &dyn Environment) -> Collecting<'_> {
    Collecting {
        environment,
        render: &render,
        thinking_opened: false,
        rule: Rule::default(),
        stop: &[],
        max_tokens: 100,
        max_prompt_tokens: usize::MAX,
        judges: 2,
        on_event: &|_: Progress| ControlFlow::Continue(()),
    }
}

/// Samples of a call: the prompt's number and their own.
pub(crate) type Samples = Vec<(usize, usize)>;

/// A model that plays a script.
pub(crate) struct Player<'a> {
    /// What it says to a prompt's text as this sample.
    pub(crate) says: &'a dyn Fn(&str, usize) -> String,
    /// Puts the samples of a call, as prompt and number, into the order in which they finish.
    pub(crate) order: &'a dyn Fn(Samples) -> Samples,
    /// Called with what was said, after it was handed over.
    pub(crate) after: &'a dyn Fn(&str),
    /// What it was asked, call by call.
    pub(crate) calls: Vec<Vec<Prompt>>,
}

impl<'a> Player<'a> {
    pub(crate) fn new(says: &'a dyn Fn(&str, usize) -> String) -> Self {
        Self { says, order: &|samples| samples, after: &|_| {}, calls: Vec::new() }
    }
}

impl Generator for Player<'_> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        self.calls.push(prompts.to_vec());
        let numbers = |(at, prompt): (usize, &Prompt)| (0..prompt.samples).map(move |n| (at, n));
        let samples = prompts.iter().enumerate().flat_map(numbers).collect();
        let mut usage = Usage { widest: prompts.len(), ..Usage::default() };
        for (prompt, sample) in (self.order)(samples) {
            let said = (self.says)(&text(&prompts[prompt].tokens), sample);
            let completion = completion(&said);
            usage.sampled += said.chars().count();
            if done(SampledCompletion { prompt, sample, completion }).is_break() {
                break;
            }
            (self.after)(&said);
        }
        Ok(usage)
    }
}

/// What was said, a token for each character.
pub(crate) fn completion(said: &str) -> Completion {
    let ids: Vec<u32> = said.chars().map(u32::from).collect();
    let logps = said.bytes().map(|byte| -1.0 / (f32::from(byte) + 0.3)).take(ids.len()).collect();
    let tokens = Some(SampledTokens::new(ids, logps).unwrap());
    Completion { text: said.to_owned(), reasoning: None, finish: Finish::Stop, tokens }
}

/// An environment that does what the reply says:
///
/// | word | what follows |
/// |---|---|
/// | `pass`, `half` | the end, worth 1 or 0.5 |
/// | `more` | it asks again, and says how many replies it has seen |
/// | `broken`, `panic` | it fails or panics |
/// | `once` beside one of these | only the first time that it hears this reply |
/// | anything else | the end, worth 0 |
///
/// A task `closed …` cannot be opened, and one `uncut …` not cut short, with the same words. An episode that is cut short is worth a
/// hundredth for each reply that it has seen.
#[derive(Default)]
pub(crate) struct Stage {
    house: Arc<House>,
    /// Turns of an episode at most; 0 means one.
    max_turns: usize,
}

/// What is called with a reply.
type Before = Box<dyn Fn(&str) + Send + Sync>;

/// What all episodes share.
#[derive(Default)]
struct House {
    /// Called first thing with every reply.
    before: Option<Before>,
    /// Everything that happened, counted: `open id`, `reply text`, `cut id`.
    seen: Mutex<BTreeMap<String, usize>>,
    seeds: Mutex<Vec<Seed>>,
}

struct Play {
    house: Arc<House>,
    messages: Vec<Message>,
    replies: u32,
}

impl Stage {
    /// With something to do before every reply.
    pub(crate) fn with(before: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let house = House { before: Some(Box::new(before)), ..House::default() };
        Self { house: Arc::new(house), ..Self::default() }
    }

    /// The same with so many turns at most.
    pub(crate) fn turns(self, max_turns: usize) -> Self {
        Self { max_turns, ..self }
    }

    /// How often this happened.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.house.seen.lock().unwrap().get(what).copied().unwrap_or_default()
    }

    /// The seeds of all episodes.
    pub(crate) fn seeds(&self) -> Vec<Seed> {
        self.house.seeds.lock().unwrap().clone()
    }
}

impl House {
    /// Counts what happens: how often it did so far.
    fn saw(&self, what: String) -> usize {
        let mut seen = self.seen.lock().unwrap();
        let count = seen.entry(what).or_default();
        *count += 1;
        *count
    }

    /// Fails or panics if `text` says so.
    fn obey(&self, what: &str, text: &str) -> Result<(), EnvError> {
        let times = self.saw(format!("{what} {text}"));
        if text.contains("once") && times > 1 {
            return Ok(());
        }
        assert!(!text.contains("panic"), "as it was told");
        if text.contains("broken") {
            return Err(Infrastructure(format!("no zygote for {text}")).into());
        }
        Ok(())
    }
}

impl Environment for Stage {
    fn max_turns(&self, _: &Task) -> usize {
        self.max_turns.max(1)
    }

    fn open(&self, task: &Task, seed: Seed) -> Result<Box<dyn Episode>, EnvError> {
        self.house.seeds.lock().unwrap().push(seed);
        if task.statement.contains("closed") {
            self.house.obey("open", &task.statement)?;
        }
        let (house, messages) = (Arc::clone(&self.house), vec![Message::user(&task.statement)]);
        Ok(Box::new(Play { house, messages, replies: 0 }))
    }
}

impl Episode for Play {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let text = reply.text;
        if let Some(before) = &self.house.before {
            before(text);
        }
        self.house.obey("reply", text)?;
        self.replies += 1;
        self.messages.push(Message::assistant(text));
        if text.contains("more") {
            // Of an environment that answers differently every time.
            let salt = if text.contains("salt") { self.house.saw("salt".to_owned()) } else { 0 };
            self.messages.push(Message::user(format!("{} seen{}", self.replies, "!".repeat(salt))));
            return Ok(Next::Ask);
        }
        let worth =
            [("pass", 1.0), ("half", 0.5)].into_iter().find(|(word, _)| text.contains(word));
        Ok(Next::Done(outcome(worth.map_or(0.0, |(_, worth)| worth))))
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        let asked = &self.messages[0].content;
        if asked.contains("uncut") {
            self.house.obey("cut", asked)?;
        }
        Ok(outcome(f64::from(self.replies) / 100.0))
    }
}

/// A program that is worth so much: it passes if that is 1.
fn outcome(worth: f64) -> Outcome {
    let (verdict, passed) =
        if worth >= 1.0 { (Verdict::Pass, 2) } else { (Verdict::Wrong { test: 1 }, 1) };
    let held = Held { cpu_ms: 1.5, isolation: Isolation::Full };
    let judgement = Judgement::of_run(verdict, Counts { passed, total: 2 }, held).unwrap();
    let term = Term { value: worth, weight: 1.0 };
    let terms = BTreeMap::from([("tests".to_owned(), term)]);
    Outcome::of_program(judgement, Reward::new(terms, BTreeMap::new()).unwrap())
}

/// The last texts of the judged rollouts, with their numbers and worth.
pub(crate) fn told(group: &Group) -> Vec<(usize, &str, f64)> {
    let mut told = Vec::new();
    for Rollout { sample, turns, outcome, .. } in &group.rollouts {
        told.push((
            *sample,
            turns.last().unwrap().completion.text.as_str(),
            outcome.reward.total(),
        ));
    }
    told
}

/// The dropped rollouts, with their reasons.
pub(crate) fn dropped(group: &Group) -> Vec<(usize, &str)> {
    group.dropped.iter().map(|dropped| (dropped.sample, dropped.reason.0.as_str())).collect()
}
