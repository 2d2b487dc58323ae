//! The generator on this machine.

use std::ops::ControlFlow;

use whetstone_kernels::Device;
use whetstone_model::Tokenizer;
use whetstone_model::decoder::{Decoder, Most, PAGE};

use crate::check::check_prompt;
use crate::generator::{
    Conversations, GenerateError, Generator, News, Prompt, SampleId, Sampled, SampledCompletion,
    TurnPrompt, Until, Usage,
};
use crate::headway::Watch;
use crate::limits::Limits;
use crate::work::{Memory, Model, Work, page_counts, room};

/// A model on this machine that completes prompts.
#[derive(Debug)]
pub struct Local<'a> {
    decoder: &'a Decoder,
    tokenizer: &'a Tokenizer,
    limits: Limits,
    watch: Option<Watch<'a>>,
    /// Kept from call to call.
    memory: Option<Memory>,
}

impl<'a> Local<'a> {
    /// Completes with `decoder`, whose tokens are `tokenizer`'s.
    pub fn new(decoder: &'a Decoder, tokenizer: &'a Tokenizer, limits: Limits) -> Self {
        Self { decoder, tokenizer, limits, watch: None, memory: None }
    }

    /// Is looked at by `watch` while it works. When that breaks, a call ends as if no more completions were wanted:
    /// within a step, and on a processor within a layer of a prompt.
    #[must_use]
    pub fn watched(self, watch: Watch<'a>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Like [`Generator::generate`], but shows the text of samples while they are drawn, too. The samples are the
    /// same.
    ///
    /// # Errors
    ///
    /// If a prompt cannot be completed, or the device fails.
    pub fn generate_with_text(
        &mut self,
        prompts: &[Prompt],
        take: &mut dyn FnMut(Sampled<'_>) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        let alone = |prompt: &Prompt| TurnPrompt {
            prompt: prompt.clone(),
            follows: None,
            most_tokens: None,
        };
        self.generate_turns(&mut Alone { prompts: prompts.iter().map(alone).collect(), take })
    }

    fn allowed_pages(&self) -> usize {
        self.limits.cache_bytes / self.decoder.page_bytes()
    }

    /// KV cache of `pages` pages and a stepper for so much: those of the last call, if they are large
    /// enough.
    fn memory(&mut self, pages: usize, most: Most) -> Memory {
        let Some(memory) = self.memory.take().filter(|memory| memory.cache.pages() >= pages) else {
            let cache = self.decoder.cache(pages);
            return Memory { cache, stepper: self.decoder.stepper(most) };
        };
        if memory.stepper.has_room(most) {
            return memory;
        }
        Memory { stepper: self.decoder.stepper(most), ..memory }
    }

    /// The most that steps of these prompts, and of turns that follow them, may have.
    fn most(&self, turns: &[TurnPrompt]) -> Most {
        let samples: usize = turns.iter().map(|turn| turn.prompt.samples).sum();
        let tokens = turns.iter().map(|turn| self.longest(turn)).max();
        Most { rows: samples.min(self.limits.sequences.max(1)), tokens: tokens.unwrap_or_default() }
    }

    /// Tokens that a conversation may come to: with this completion, or those of later turns.
    fn longest(&self, turn: &TurnPrompt) -> usize {
        let now = turn.prompt.tokens.len() + room(self.decoder, &turn.prompt);
        turn.most_tokens.map_or(now, |most| most.min(self.decoder.positions()).max(now))
    }

    /// Pages to take: no more than can be in use at a time.
    fn pages(&self, turns: &[TurnPrompt], most: Most) -> Result<usize, GenerateError> {
        let wanted = self.wanted_pages(turns)?;
        let keeps_conversations = turns.iter().any(|turn| turn.most_tokens.is_some());
        // One sequence more: a prompt whose samples have not all started keeps its pages.
        let at_a_time = (most.rows + 1) * (most.tokens.div_ceil(PAGE) + 1);
        let used = if keeps_conversations { wanted } else { wanted.min(at_a_time) };
        let rounded = match self.decoder.device() {
            Device::Cpu(_) => used,
            // The pool keeps a cache of every size that was taken, so that sizes of a training's steps should be few.
            Device::Cuda(_) => used.next_multiple_of((used.next_power_of_two() / 8).max(1)),
        };
        Ok(rounded.min(self.allowed_pages()))
    }

    /// Pages for all samples of all prompts at once.
    fn wanted_pages(&self, turns: &[TurnPrompt]) -> Result<usize, GenerateError> {
        let mut wanted = 0;
        for (index, turn) in turns.iter().enumerate() {
            let prompt = &turn.prompt;
            check_prompt(self.decoder, index, prompt)?;
            let (shared, own) = page_counts(prompt.tokens.len(), room(self.decoder, prompt));
            let needed = (shared + own) * self.decoder.page_bytes();
            if shared + own > self.allowed_pages() {
                let allowed = self.limits.cache_bytes;
                return Err(GenerateError::TooLarge { prompt: index, needed, allowed });
            }
            let own = match turn.most_tokens {
                Some(_) => self.longest(turn).div_ceil(PAGE),
                None => own,
            };
            wanted += shared + own * prompt.samples;
        }
        Ok(wanted)
    }
}

/// Prompts that are there at once, and that no turn follows.
struct Alone<'a> {
    prompts: Vec<TurnPrompt>,
    take: &'a mut dyn FnMut(Sampled<'_>) -> ControlFlow<()>,
}

impl Conversations for Alone<'_> {
    fn news(&mut self) -> News {
        News::default()
    }

    fn wait(&mut self, _: Until) -> News {
        News { prompts: std::mem::take(&mut self.prompts), over: Vec::new() }
    }

    fn text(&mut self, id: SampleId, text: &str) -> ControlFlow<()> {
        (self.take)(Sampled::Text { id, text })
    }

    fn done(&mut self, sampled: SampledCompletion) -> ControlFlow<()> {
        (self.take)(Sampled::Done(sampled))
    }
}

impl Generator for Local<'_> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        self.generate_with_text(prompts, &mut |sampled| match sampled {
            Sampled::Text { .. } => ControlFlow::Continue(()),
            Sampled::Done(completion) => done(completion),
        })
    }

    /// Takes prompts between two steps, and starts each as soon as there is room. Memory is taken for the
    /// prompts that are there first: later ones must not be longer than these say with
    /// [`TurnPrompt::most_tokens`].
    fn generate_turns(
        &mut self,
        conversations: &mut dyn Conversations,
    ) -> Result<Usage, GenerateError> {
        let first = conversations.wait(Until::Any);
        if first.prompts.is_empty() {
            return Ok(Usage::default());
        }
        let most = self.most(&first.prompts);
        let pages = self.pages(&first.prompts, most)?;
        let memory = self.memory(pages, most);
        let model = Model { decoder: self.decoder, tokenizer: self.tokenizer };
        let mut work = Work::new(model, memory, most).watched(self.watch);
        let outcome = work.take_in(first).and_then(|()| work.run(conversations));
        let (memory, usage) = work.end();
        self.memory = Some(memory);
        outcome.map(|()| usage)
    }
}
