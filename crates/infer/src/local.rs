//! The generator on this machine.

use std::ops::ControlFlow;

use whetstone_kernels::sample::Rule;
use whetstone_model::Tokenizer;
use whetstone_model::decoder::{Decoder, Most};

use crate::generator::{GenerateError, Generator, Limits, Prompt, SampledCompletion, Usage};
use crate::work::{Memory, Work, page_counts, room};

/// A model on this machine that completes prompts.
#[derive(Debug)]
pub struct Local<'a> {
    decoder: &'a Decoder,
    tokenizer: &'a Tokenizer,
    limits: Limits,
    /// Kept from call to call.
    memory: Option<Memory>,
}

impl<'a> Local<'a> {
    /// Completes with `decoder`, whose tokens are `tokenizer`'s.
    pub fn new(decoder: &'a Decoder, tokenizer: &'a Tokenizer, limits: Limits) -> Self {
        Self { decoder, tokenizer, limits, memory: None }
    }

    fn allowed_pages(&self) -> usize {
        self.limits.cache_bytes / self.decoder.page_bytes()
    }

    /// KV cache of `pages` pages and a stepper for these prompts: those of the last call, if they
    /// are large enough.
    fn memory(&mut self, pages: usize, prompts: &[Prompt]) -> Memory {
        let samples: usize = prompts.iter().map(|prompt| prompt.samples).sum();
        let tokens =
            prompts.iter().map(|prompt| prompt.tokens.len() + room(self.decoder, prompt)).max();
        let most = Most {
            rows: samples.min(self.limits.sequences.max(1)),
            tokens: tokens.unwrap_or_default(),
        };
        let Some(memory) = self.memory.take().filter(|memory| memory.cache.pages() >= pages) else {
            let cache = self.decoder.cache(pages);
            return Memory { cache, stepper: self.decoder.stepper(most) };
        };
        if memory.stepper.has_room(most) {
            return memory;
        }
        Memory { stepper: self.decoder.stepper(most), ..memory }
    }

    fn check(&self, prompts: &[Prompt]) -> Result<usize, GenerateError> {
        let mut wanted = 0;
        for (index, prompt) in prompts.iter().enumerate() {
            self.check_one(index, prompt)?;
            let (shared, own) = page_counts(prompt.tokens.len(), room(self.decoder, prompt));
            let needed = (shared + own) * self.decoder.page_bytes();
            if shared + own > self.allowed_pages() {
                let allowed = self.limits.cache_bytes;
                return Err(GenerateError::TooLarge { prompt: index, needed, allowed });
            }
            wanted += shared + own * prompt.samples;
        }
        Ok(wanted)
    }

    fn check_one(&self, index: usize, prompt: &Prompt) -> Result<(), GenerateError> {
        let (length, positions) = (prompt.tokens.len(), self.decoder.positions());
        let vocab = self.decoder.config().vocab;
        if length == 0 {
            return Err(GenerateError::Empty { prompt: index });
        }
        if prompt.samples == 0 || prompt.max_tokens == 0 {
            let what = if prompt.samples == 0 { "no samples" } else { "no tokens" };
            return Err(GenerateError::Nothing { prompt: index, what });
        }
        if length >= positions {
            return Err(GenerateError::TooLong { prompt: index, length, positions });
        }
        if let Some(&token) = prompt.tokens.iter().find(|&&token| token as usize >= vocab) {
            return Err(GenerateError::Token { prompt: index, token, vocab });
        }
        match rule_problem(&prompt.rule) {
            Some(problem) => Err(GenerateError::Rule { prompt: index, problem }),
            None => Ok(()),
        }
    }
}

fn rule_problem(rule: &Rule) -> Option<String> {
    let Rule { temperature, top_p, min_p, presence_penalty, repetition_penalty, .. } = *rule;
    let checks = [
        ("temperature", temperature, (0.0..=100.0).contains(&temperature)),
        ("top_p", top_p, top_p > 0.0 && top_p <= 1.0),
        ("min_p", min_p, (0.0..=1.0).contains(&min_p)),
        ("presence_penalty", presence_penalty, presence_penalty.abs() <= 100.0),
        (
            "repetition_penalty",
            repetition_penalty,
            repetition_penalty > 0.0 && repetition_penalty <= 100.0,
        ),
    ];
    let bad = checks.into_iter().find(|(_, _, good)| !good)?;
    Some(format!("{} is {}", bad.0, bad.1))
}

impl Generator for Local<'_> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        let wanted = self.check(prompts)?.min(self.allowed_pages());
        let memory = self.memory(wanted, prompts);
        let mut work = Work::new((self.decoder, self.tokenizer), prompts, (memory, self.limits));
        let outcome = work.run(done);
        let (memory, usage) = work.end();
        self.memory = Some(memory);
        outcome.map(|_| usage)
    }
}
