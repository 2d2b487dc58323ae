//! A real tiny model as the generator.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use whetstone_core::extract::Reply;
use whetstone_core::reward::Reward;
use whetstone_core::{Message, Seed, Task};
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_infer::{
    GenerateError, Generator, Limits, Local, Prompt, Rule, SampledCompletion, Usage,
};
use whetstone_kernels::Device;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::Decoder;
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Family, Tokenizer};
use whetstone_rollout::collect::{Collected, Collecting, RenderError, collect};

use crate::stage::{Stage, asked, collecting, task};

const VOCAB: u32 = 64;
const SAMPLES: usize = 6;
const MAX_TOKENS: usize = 12;

/// A random model that ends one completion in a dozen or so.
fn config() -> Config {
    Config {
        family: Family::Llama,
        vocab: VOCAB as usize,
        width: 32,
        layers: 2,
        heads: 2,
        kv_heads: 1,
        head_dim: 16,
        ffn: 48,
        rms_eps: 1e-6,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: false,
        positions: 64,
        bos: None,
        eos: vec![2, 3, 5, 7],
        pad: None,
        dtype: Dtype::F32,
    }
}

/// Token `n` is the text `<n>`.
fn words() -> Tokenizer {
    let vocab: Vec<String> = (0..VOCAB).map(|id| format!("\"<{id}>\":{id}")).collect();
    let json = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"<0>"}},"decoder":{{"type":"Fuse"}}}}"#,
        vocab.join(",")
    );
    Tokenizer::from_json(&json, Path::new("made in a test")).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "what a renderer returns")]
fn render(messages: &[Message]) -> Result<Vec<u32>, RenderError> {
    let bytes = messages.iter().flat_map(|message| message.content.bytes());
    Ok(bytes.map(|byte| u32::from(byte) % VOCAB).collect())
}

#[test]
fn groups_of_a_real_model_have_the_tokens_that_it_samples_alone() {
    let decoder = Decoder::new(&Device::cpu(1).unwrap(), &config(), 5, 64);
    let tokenizer = words();
    let (stage, tasks) = (Stage::default(), [task("add"), task("multiply"), task("sort a list")]);
    let settings = Collecting { render: &render, max_tokens: MAX_TOKENS, ..collecting(&stage) };
    let asked = asked(&tasks, SAMPLES);
    // Fewer at a time than there are, so that some wait.
    let limits = Limits { sequences: 5, ..Limits::default() };
    let mut local = Local::new(&decoder, &tokenizer, limits);
    let collected = collect(&settings, &mut local, &asked).unwrap();

    let mut sampled = 0;
    for (group, asked) in collected.groups.iter().zip(&asked) {
        let tokens: Vec<u32> = render(&[Message::user(&asked.task.statement)]).unwrap();
        let prompt = Prompt {
            tokens: tokens.clone(),
            messages: [].into(),
            samples: SAMPLES,
            first_sample: 0,
            rule: Rule::default(),
            seed: asked.seed.derive("turn", 0),
            max_tokens: MAX_TOKENS,
            stop: Vec::new(),
        };
        let mut alone = vec![None; SAMPLES];
        Local::new(&decoder, &tokenizer, Limits::default())
            .generate(&[prompt], &mut |drawn| {
                alone[drawn.sample] = Some(drawn.completion);
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((group.rollouts.len(), group.dropped.len()), (SAMPLES, 0));
        for (rollout, alone) in group.rollouts.iter().zip(alone) {
            let [turn] = &rollout.turns[..] else { panic!("one turn") };
            assert_eq!(Some(&turn.completion), alone.as_ref());
            assert_eq!(*turn.prompt, tokens[..]);
            sampled += rollout.sampled_tokens();
        }
    }
    assert_eq!(collected.usage.sampled, sampled);
    let ended = collected.groups.iter().flat_map(|group| &group.rollouts);
    let short = ended.filter(|rollout| rollout.sampled_tokens() < MAX_TOKENS).count();
    assert!(short > 0 && short < 3 * SAMPLES, "some end by themselves: {short}");
}

/// Asks again for so many turns, and takes its time for some answers.
struct Chatter {
    turns: usize,
    slow: Duration,
}

struct Chat {
    messages: Vec<Message>,
    left: usize,
    slow: Duration,
}

impl Environment for Chatter {
    fn max_turns(&self, _: &Task) -> usize {
        self.turns
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let messages = vec![Message::user(&task.statement)];
        Ok(Box::new(Chat { messages, left: self.turns, slow: self.slow }))
    }
}

impl Episode for Chat {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        self.left -= 1;
        if reply.text.len().is_multiple_of(3) {
            std::thread::sleep(self.slow);
        }
        if self.left == 0 {
            return Ok(Next::Done(self.cut_short()?));
        }
        let answer = format!("{} left", self.left);
        self.messages.extend([Message::assistant(reply.text), Message::user(answer)]);
        Ok(Next::Ask)
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        let reward = Reward::new([].into(), [].into()).expect("no terms");
        Ok(Outcome::observed("chat", true, reward))
    }
}

/// A generator that is asked in waves, each with whole prompts.
struct Waves<'a>(Local<'a>);

impl Generator for Waves<'_> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        self.0.generate(prompts, done)
    }
}

/// Three groups of two episodes, of eight turns each.
fn eight_turns(generator: &mut dyn Generator, judges: usize, slow: Duration) -> Collected {
    let tasks = [task("add"), task("multiply"), task("sort a list")];
    let environment = Chatter { turns: 8, slow };
    let settings = Collecting {
        render: &render,
        max_tokens: MAX_TOKENS,
        max_prompt_tokens: 400,
        judges,
        ..collecting(&environment)
    };
    let collected = collect(&settings, generator, &asked(&tasks, 2)).unwrap();
    for rollout in collected.groups.iter().flat_map(|group| &group.rollouts) {
        assert_eq!(rollout.turns.len(), 8);
        for pair in rollout.turns.windows(2) {
            let said =
                [&pair[0].prompt, pair[0].completion.tokens.as_ref().unwrap().ids()].concat();
            assert!(pair[1].prompt.starts_with(&said), "a later prompt has the sampled tokens");
        }
    }
    collected
}

#[test]
fn episodes_are_the_same_in_whatever_order_turns_are_judged_and_sampled() {
    let config = Config { positions: 512, ..config() };
    let decoder = Decoder::new(&Device::cpu(1).unwrap(), &config, 5, 512);
    let tokenizer = words();
    let local = |limits| Local::new(&decoder, &tokenizer, limits);
    let whole = eight_turns(&mut local(Limits::default()), 1, Duration::ZERO);
    let slow = Duration::from_millis(2);
    let one = Limits { sequences: 1, ..Limits::default() };
    let scarce = Limits { cache_bytes: 26 * decoder.page_bytes(), ..Limits::default() };
    for (limits, judges) in [(Limits::default(), 3), (one, 2), (scarce, 3)] {
        let found = eight_turns(&mut local(limits), judges, slow);
        assert_eq!(found.groups, whole.groups, "{limits:?}");
    }
    // Prompts once, and of every later turn the answer and the last token of the completion before it.
    let turns = || whole.groups.iter().flat_map(|group| &group.rollouts).map(|one| &one.turns);
    let first: usize =
        whole.groups.iter().map(|group| group.rollouts[0].turns[0].prompt.len()).sum();
    let later = turns().flat_map(|turns| turns.windows(2)).map(|pair| {
        let said = pair[0].completion.tokens.as_ref().unwrap().ids().len();
        pair[1].prompt.len() - pair[0].prompt.len() - said + 1
    });
    assert_eq!(whole.usage.prefilled, first + later.sum::<usize>());
    let waves =
        eight_turns(&mut Waves(local(Limits::default())), 2, Duration::ZERO).usage.prefilled;
    println!("{} tokens prefilled, of whole prompts {waves}", whole.usage.prefilled);
    assert!(waves > 6 * whole.usage.prefilled, "{waves}, {}", whole.usage.prefilled);
}

/// Answers the task `slow` only when an episode of the other task is over.
#[derive(Default)]
struct Patient(Arc<Gate>);

#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

struct Waiting {
    chat: Chat,
    is_slow: bool,
    gate: Arc<Gate>,
}

impl Environment for Patient {
    fn max_turns(&self, _: &Task) -> usize {
        8
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let messages = vec![Message::user(&task.statement)];
        let chat = Chat { messages, left: 8, slow: Duration::ZERO };
        let (is_slow, gate) = (task.statement == "slow", Arc::clone(&self.0));
        Ok(Box::new(Waiting { chat, is_slow, gate }))
    }
}

impl Episode for Waiting {
    fn messages(&self) -> &[Message] {
        self.chat.messages()
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let is_open = self.gate.is_open.lock().unwrap();
        if self.is_slow {
            let patience = Duration::from_secs(30);
            let opened = self.gate.opened.wait_timeout_while(is_open, patience, |open| !*open);
            assert!(!opened.unwrap().1.timed_out(), "the other episode waits for this one");
        } else {
            drop(is_open);
        }
        let next = self.chat.reply(reply)?;
        if matches!(next, Next::Done(_)) {
            *self.gate.is_open.lock().unwrap() = true;
            self.gate.opened.notify_all();
        }
        Ok(next)
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        self.chat.cut_short()
    }
}

#[test]
fn an_episode_goes_through_all_turns_while_another_waits_for_its_first_answer() {
    let config = Config { positions: 512, ..config() };
    let decoder = Decoder::new(&Device::cpu(1).unwrap(), &config, 5, 512);
    let (tokenizer, environment) = (words(), Patient::default());
    let settings = Collecting {
        render: &render,
        max_tokens: MAX_TOKENS,
        max_prompt_tokens: 400,
        judges: 2,
        ..collecting(&environment)
    };
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    let tasks = [task("slow"), task("fast")];
    let collected = collect(&settings, &mut local, &asked(&tasks, 1)).unwrap();
    for group in &collected.groups {
        assert_eq!((group.rollouts.len(), group.dropped.len()), (1, 0), "{group:?}");
        assert_eq!(group.rollouts[0].turns.len(), 8);
    }
}
