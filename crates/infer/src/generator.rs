//! The requests and results of a generator.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use whetstone_core::{Completion, Message, Seed};
use whetstone_kernels::sample::Rule;

/// A prompt and how it is to be completed.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Its tokens; none for a generator that renders conversations itself, such as a server.
    pub tokens: Vec<u32>,
    /// The conversation that the tokens were rendered from; empty for plain text. If it ends with the beginning of
    /// an answer, the text of a completion begins with that.
    pub messages: Arc<[Message]>,
    /// Number of completions.
    pub samples: usize,
    /// Number of the first completion: more than 0 where earlier ones are there already. A completion depends on
    /// its number, not on how many are drawn beside it.
    pub first_sample: usize,
    /// The sampling rule.
    pub rule: Rule,
    /// The seed of its samples.
    pub seed: Seed,
    /// Tokens of a completion at most, the one that ends it included.
    pub max_tokens: usize,
    /// Stop strings; they are not a part of the completion.
    pub stop: Vec<String>,
}

/// A completion that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledCompletion {
    /// Index of the prompt.
    pub prompt: usize,
    /// Number of the sample, from [`Prompt::first_sample`] on.
    pub sample: usize,
    /// The sampled completion.
    pub completion: Completion,
}

/// News of a sample that is being drawn.
#[derive(Debug)]
pub enum Sampled<'a> {
    /// A token more.
    Text {
        /// The sample.
        id: SampleId,
        /// Its text so far, as far as later tokens cannot change it: whole characters, and nothing of a stop string.
        text: &'a str,
    },
    /// The sample is done.
    Done(SampledCompletion),
}

/// Work done by a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of prompts that went through the model; a prompt counts once for all of its samples, and of a later
    /// turn only tokens whose keys and values are not in the cache.
    pub prefilled: usize,
    /// Tokens that were sampled.
    pub sampled: usize,
    /// Steps.
    pub steps: usize,
    /// Sequences of the fullest step.
    pub widest: usize,
    /// Pages of the fullest moment.
    pub most_pages: usize,
    /// Time that prompts took.
    pub prefill_time: Duration,
    /// Time that steps took, the choice of tokens included.
    pub decode_time: Duration,
}

impl Usage {
    /// The sum of this call and a later one.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            prefilled: self.prefilled + later.prefilled,
            sampled: self.sampled + later.sampled,
            steps: self.steps + later.steps,
            widest: self.widest.max(later.widest),
            most_pages: self.most_pages.max(later.most_pages),
            prefill_time: self.prefill_time + later.prefill_time,
            decode_time: self.decode_time + later.decode_time,
        }
    }
}

/// Why generation failed.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A prompt without tokens.
    #[error("prompt {prompt} is empty")]
    Empty {
        /// Its index.
        prompt: usize,
    },
    /// A prompt that asks for none.
    #[error("prompt {prompt} asks for {what}")]
    Nothing {
        /// Its index.
        prompt: usize,
        /// The empty request, as text for the message.
        what: &'static str,
    },
    /// A token that the model does not have.
    #[error("prompt {prompt} has token {token}; the model has {vocab}")]
    Token {
        /// Its index.
        prompt: usize,
        /// The token.
        token: u32,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// A prompt that fills the model's context.
    #[error("prompt {prompt} has {length} tokens, and the model was loaded for {positions} in all")]
    TooLong {
        /// Its index.
        prompt: usize,
        /// Its length.
        length: usize,
        /// Positions that the model was loaded for.
        positions: usize,
    },
    /// Even alone it would not fit.
    #[error(
        "prompt {prompt} and its completion need {needed} bytes of KV cache; {allowed} are allowed"
    )]
    TooLarge {
        /// Its index.
        prompt: usize,
        /// Bytes of one sample.
        needed: usize,
        /// The limit.
        allowed: usize,
    },
    /// A rule that chooses nothing.
    #[error("prompt {prompt}: {problem}")]
    Rule {
        /// Its index.
        prompt: usize,
        /// The problem.
        problem: String,
    },
    /// The model gave no numbers.
    #[error("prompt {prompt}, sample {sample}: the log-probability of token {position} is {logp}")]
    NotFinite {
        /// Index of the prompt.
        prompt: usize,
        /// Index of the sample.
        sample: usize,
        /// Index of the token in the completion.
        position: usize,
        /// The computed value.
        logp: f32,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] whetstone_kernels::DeviceError),
    /// Tokens that cannot be written as text.
    #[error(transparent)]
    Text(#[from] whetstone_model::tokenizer::TokenizerError),
}

/// A sample by its prompt, counted from the first prompt of the call, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleId {
    /// Index of the prompt.
    pub prompt: usize,
    /// Index of the sample.
    pub sample: usize,
}

/// The prompt of one turn of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnPrompt {
    /// The whole conversation so far, and how it is to be completed.
    pub prompt: Prompt,
    /// The sample of the turn before, if there was one. A generator may keep its keys and values and
    /// compute only tokens that are new, if the prompt has one sample.
    pub follows: Option<SampleId>,
    /// Tokens that the conversation may come to, completions included, if another turn may follow.
    pub most_tokens: Option<usize>,
}

/// News of conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    /// Prompts to complete. They are numbered on in the order in which they come.
    pub prompts: Vec<TurnPrompt>,
    /// Samples that no turn will follow.
    pub over: Vec<SampleId>,
}

/// What a generator without anything to do waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// A prompt.
    Any,
    /// The prompts of all conversations that go on.
    All,
}

/// Conversations that are being sampled: their prompts come while a generator works.
pub trait Conversations {
    /// What has come since the last call. Does not wait; called between the steps of a generator.
    fn news(&mut self) -> News;

    /// Waits for prompts. None mean that there will be no more.
    fn wait(&mut self, until: Until) -> News;

    /// Looks at the text of a sample that has got a token and is not done ([`Sampled::Text`]); a `Break` ends the
    /// work.
    fn text(&mut self, _: SampleId, _: &str) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes a completion; a `Break` ends the work.
    fn done(&mut self, sampled: SampledCompletion) -> ControlFlow<()>;
}

/// Completes prompts.
pub trait Generator {
    /// Draws all samples of all prompts and hands each over as soon as it is done; a `Break` ends
    /// the work.
    ///
    /// # Errors
    ///
    /// If a prompt cannot be completed; then nothing was computed.
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError>;

    /// Completes the prompts of conversations as they come, until there are no more.
    ///
    /// This one goes in waves of [`Self::generate`]: the next turn of all conversations that go on is sampled
    /// when all of them were answered. A generator that can take prompts while it works has its own.
    ///
    /// # Errors
    ///
    /// If a prompt cannot be completed; what was handed over before stays.
    fn generate_turns(
        &mut self,
        conversations: &mut dyn Conversations,
    ) -> Result<Usage, GenerateError> {
        let (mut usage, mut first) = (Usage::default(), 0);
        loop {
            let turns = conversations.wait(Until::All).prompts;
            if turns.is_empty() {
                return Ok(usage);
            }
            let prompts: Vec<Prompt> = turns.into_iter().map(|turn| turn.prompt).collect();
            let mut goes_on = ControlFlow::Continue(());
            let mut hand_over = |sampled: SampledCompletion| {
                let prompt = first + sampled.prompt;
                goes_on = conversations.done(SampledCompletion { prompt, ..sampled });
                goes_on
            };
            usage = usage.and(self.generate(&prompts, &mut hand_over)?);
            if goes_on.is_break() {
                return Ok(usage);
            }
            first += prompts.len();
        }
    }
}
