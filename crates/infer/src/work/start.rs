//! From prompts that wait to samples with their first tokens.
//!
//! Next turns of conversations come first, since their pages are there. If neither a next turn nor a prompt fits
//! while nothing is being sampled, pages that are kept between turns are given up.
//!
//! Prompts are prefilled together in batches of some hundred tokens, so that short prompts do not
//! read all weights for a few rows each. The limit keeps the memory of a batch below that of one
//! long prompt.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use whetstone_kernels::{Buffer, Device};
use whetstone_model::decoder::{Decoder, Extend, PAGE, Prefill};
use whetstone_model::memory::TOGETHER_ON_CUDA;
use whetstone_model::tokenizer::SpecialTokens;

use super::kept::{Copied, NextTurn};
use super::{Active, Work, page_counts, room};
use crate::generator::{Conversations, GenerateError, SampleId, TurnPrompt};
use crate::headway::Watch;
use crate::stop::StopText;

/// Tokens of prompts that go through together, at most; a longer one goes alone. A GPU has use for
/// many more rows than a processor.
fn most_together(decoder: &Decoder) -> usize {
    match decoder.device() {
        Device::Cpu(_) => decoder.positions().min(256),
        Device::Cuda(_) => TOGETHER_ON_CUDA,
    }
}

/// A prompt with samples that have not started.
#[derive(Debug)]
pub(super) struct Waiting {
    prompt: usize,
    turn: Arc<TurnPrompt>,
    left: usize,
    /// The pages of the prompt and the logits after it, once it was computed.
    begun: Option<Begun>,
}

/// A prompt that was computed.
#[derive(Debug)]
struct Begun {
    pages: Vec<u32>,
    logits: Buffer<f32>,
}

impl Waiting {
    pub(super) fn new(prompt: usize, turn: Arc<TurnPrompt>) -> Self {
        Self { prompt, left: turn.prompt.samples, turn, begun: None }
    }
}

/// A prompt with the number of samples that start now.
#[derive(Debug)]
struct Admitted {
    waiting: Waiting,
    count: usize,
    /// Pages of the prompt that are still to be computed, and of each sample.
    shared: usize,
    own: usize,
}

impl Work<'_> {
    /// Starts as many samples as fit. A sample's first token comes from the logits after its prompt.
    pub(super) fn start(
        &mut self,
        source: &mut dyn Conversations,
    ) -> Result<ControlFlow<()>, GenerateError> {
        loop {
            let first = self.active.len();
            let next_turns = self.admit_next_turns();
            let rows = if next_turns.is_empty() {
                let admitted = self.admit();
                if admitted.is_empty() {
                    return Ok(ControlFlow::Continue(()));
                }
                self.begin(admitted)
            } else {
                self.go_on(next_turns)
            };
            let Some(mut rows) = rows else { return Ok(ControlFlow::Break(())) };
            if self.choose(&mut rows, first, source)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Next turns that fit; pages are promised to them.
    fn admit_next_turns(&mut self) -> Vec<NextTurn> {
        let mut admitted: Vec<NextTurn> = Vec::new();
        let (mut tokens, most) = (0, most_together(self.decoder));
        while let Some(next) = self.conversations.front() {
            let together = admitted.is_empty() || tokens + next.new_tokens() <= most;
            if !together || self.active.len() + admitted.len() == self.most.rows {
                break;
            }
            let needed = self.pages_of(next);
            if needed <= self.pages.available() {
                self.pages.promise(needed);
                tokens += next.new_tokens();
                let next = self.conversations.pop_front();
                admitted.extend(next.map(|next| NextTurn { promised: needed, ..next }));
                continue;
            }
            let is_idle = self.active.is_empty() && admitted.is_empty();
            if !is_idle || !self.conversations.give_up(1, &mut self.pages) {
                break;
            }
        }
        admitted
    }

    /// Pages that a next turn needs beside those that it has.
    fn pages_of(&self, next: &NextTurn) -> usize {
        let prompt = &next.turn.prompt;
        let (length, room) = (prompt.tokens.len(), room(self.decoder, prompt));
        let later = (length + room - 1).div_ceil(PAGE) - length.div_ceil(PAGE);
        next.pages_at_start(&self.pages) + later
    }

    /// One prompt that was computed, or the next ones that were not; pages are promised to them.
    fn admit(&mut self) -> Vec<Admitted> {
        let mut admitted: Vec<Admitted> = Vec::new();
        if !self.active.is_empty() && self.conversations.front().is_some() {
            // A next turn waits for pages.
            return admitted;
        }
        let (mut tokens, mut sequences) = (0, self.active.len());
        let most = most_together(self.decoder);
        while let Some(waiting) = self.waiting.pop_front() {
            let length = waiting.turn.prompt.tokens.len();
            let begun = waiting.begun.is_some();
            let together = tokens + length <= most;
            match self.fitting(waiting, self.most.rows - sequences) {
                Ok(one) if admitted.is_empty() || together => {
                    self.pages.promise(one.shared + one.own * one.count);
                    let all = one.count == one.waiting.left;
                    (tokens, sequences) = (tokens + length, sequences + one.count);
                    admitted.push(one);
                    if begun || !all {
                        break;
                    }
                }
                Ok(Admitted { waiting, .. }) | Err(waiting) => {
                    self.waiting.push_front(waiting);
                    let is_idle = sequences == 0;
                    if !is_idle || !self.conversations.give_up(0, &mut self.pages) {
                        break;
                    }
                }
            }
        }
        admitted
    }

    /// As many samples as there are pages and sequences for; the prompt itself if none fits.
    fn fitting(&self, waiting: Waiting, free: usize) -> Result<Admitted, Waiting> {
        let prompt = &waiting.turn.prompt;
        let (shared, own) = page_counts(prompt.tokens.len(), room(self.decoder, prompt));
        let shared = if waiting.begun.is_some() { 0 } else { shared };
        let Some(pages) = self.pages.available().checked_sub(shared) else { return Err(waiting) };
        let fits = pages.checked_div(own).unwrap_or(usize::MAX);
        let count = waiting.left.min(free).min(fits);
        if count == 0 { Err(waiting) } else { Ok(Admitted { waiting, count, shared, own }) }
    }

    /// Computes what is new of next turns, which are active from now on; a row of logits for each, or `None` if the
    /// work is to end.
    fn go_on(&mut self, mut admitted: Vec<NextTurn>) -> Option<Buffer<f32>> {
        let began = Instant::now();
        self.usage.prefilled += admitted.iter().map(NextTurn::new_tokens).sum::<usize>();
        for next in &mut admitted {
            let taken = next.take_pages(&mut self.pages);
            if let Some(Copied { from, to }) = taken {
                let cache = &mut self.memory.cache;
                whetstone_kernels::paged::copy_page(cache, from as usize, to as usize);
                self.pages.give_back(from);
            }
        }
        let given_up = admitted.iter().filter(|next| next.cached == 0);
        let beginnings: Vec<Prefill<'_>> = given_up
            .map(|next| Prefill {
                tokens: &next.turn.prompt.tokens[..next.packed],
                pages: &next.pages,
            })
            .collect();
        let (watch, headway) = (self.watch, self.headway());
        let stop = || watch.is_some_and(|Watch(look)| look(&|| headway).is_break());
        if !beginnings.is_empty() {
            self.decoder.prefill_unless(&mut self.memory.cache, &beginnings, &stop)?;
        }
        let rest = admitted.iter().map(|next| Extend {
            tokens: &next.turn.prompt.tokens,
            cached: next.cached.max(next.packed),
            pages: &next.pages,
        });
        let rest: Vec<Extend<'_>> = rest.collect();
        let logits = self.decoder.extend_unless(&mut self.memory.cache, &rest, &stop)?;
        self.usage.prefill_time += began.elapsed();
        for NextTurn { prompt, turn, packed, pages, promised, .. } in admitted {
            let id = SampleId { prompt, sample: 0 };
            self.activate(Started { id, turn, packed, pages, promised });
        }
        Some(logits)
    }

    /// A row of logits for each sample, which are active from now on; `None` if the work is to end.
    fn begin(&mut self, mut admitted: Vec<Admitted>) -> Option<Buffer<f32>> {
        let (pages, logits) = match admitted[0].waiting.begun.take() {
            Some(Begun { pages, logits }) => (vec![pages], logits),
            None => self.prefill(&admitted)?,
        };
        let counts: Vec<usize> = admitted.iter().map(|one| one.count).collect();
        for (row, (mut one, pages)) in admitted.into_iter().zip(pages).enumerate() {
            self.sample(&mut one, &pages);
            if one.waiting.left > 0 {
                let logits = self.rows(&logits, &[(row, 1)], counts.len());
                one.waiting.begun = Some(Begun { pages, logits });
                self.waiting.push_front(one.waiting);
            } else {
                for page in pages {
                    self.pages.give_back(page);
                }
            }
        }
        if counts.iter().all(|&count| count == 1) {
            return Some(logits);
        }
        let each: Vec<(usize, usize)> = counts.iter().copied().enumerate().collect();
        Some(self.rows(&logits, &each, counts.len()))
    }

    /// The pages of each prompt, and a row of logits for each; `None` if the work is to end.
    fn prefill(&mut self, admitted: &[Admitted]) -> Option<(Vec<Vec<u32>>, Buffer<f32>)> {
        let began = Instant::now();
        let take =
            |one: &Admitted| (0..one.shared).map(|_| self.pages.take()).collect::<Vec<u32>>();
        let pages: Vec<Vec<u32>> = admitted.iter().map(take).collect();
        let all = admitted
            .iter()
            .zip(&pages)
            .map(|(one, pages)| Prefill { tokens: &one.waiting.turn.prompt.tokens, pages });
        let all: Vec<Prefill<'_>> = all.collect();
        let (watch, headway) = (self.watch, self.headway());
        let stop = || watch.is_some_and(|Watch(look)| look(&|| headway).is_break());
        let logits = self.decoder.prefill_unless(&mut self.memory.cache, &all, &stop)?;
        self.usage.prefilled += all.iter().map(|prompt| prompt.tokens.len()).sum::<usize>();
        self.usage.prefill_time += began.elapsed();
        Some((pages, logits))
    }

    /// What has not started.
    pub(super) fn waiting_samples(&self) -> WaitingSamples {
        let mut all = WaitingSamples::default();
        for waiting in &self.waiting {
            let prompt = &waiting.turn.prompt;
            all.samples += waiting.left;
            all.prompt_tokens += if waiting.begun.is_some() { 0 } else { prompt.tokens.len() };
            all.max_tokens = all.max_tokens.max(room(self.decoder, prompt));
        }
        all
    }

    /// A sample shares the prompt's whole pages and gets a copy of the half-empty one when it first
    /// writes to it.
    fn sample(&mut self, one: &mut Admitted, pages: &[u32]) {
        let Admitted { waiting, count, own, .. } = one;
        for _ in 0..*count {
            for &page in pages {
                self.pages.share(page);
            }
            let prompt = &waiting.turn.prompt;
            let sample = prompt.first_sample + prompt.samples - waiting.left;
            self.activate(Started {
                id: SampleId { prompt: waiting.prompt, sample },
                turn: Arc::clone(&waiting.turn),
                packed: waiting.turn.prompt.tokens.len(),
                pages: pages.to_vec(),
                promised: *own,
            });
            waiting.left -= 1;
        }
    }

    /// A sample is drawn from now on.
    fn activate(&mut self, started: Started) {
        let Started { id, turn, packed, pages, promised } = started;
        self.started += 1;
        let length = turn.prompt.tokens.len();
        self.active.push(Active {
            id,
            serial: self.started,
            packed,
            // The last page of a next turn is its own.
            tail_is_shared: packed == length && !length.is_multiple_of(PAGE),
            pages,
            promised,
            ids: Vec::new(),
            logps: Vec::new(),
            ahead: 0,
            row: 0,
            stream: self.tokenizer.stream(SpecialTokens::Dropped),
            text: StopText::new(&turn.prompt.stop),
            turn,
        });
    }

    /// Repeats rows of logits, each the given number of times.
    fn rows(&self, logits: &Buffer<f32>, each: &[(usize, usize)], of: usize) -> Buffer<f32> {
        let (device, width) = (self.decoder.device(), logits.len() / of);
        let mut rows = device.take(each.iter().map(|(_, count)| count * width).sum());
        let mut view = rows.view_mut();
        let each = each.iter().flat_map(|&(row, count)| std::iter::repeat_n(row, count));
        for (to, from) in each.enumerate() {
            let from = logits.view().part(from * width..(from + 1) * width);
            device.copy(&mut view.part(to * width..(to + 1) * width), from);
        }
        rows
    }
}

/// Samples that have not started.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WaitingSamples {
    pub(super) samples: usize,
    /// Tokens of prompts that are still to be computed.
    pub(super) prompt_tokens: usize,
    /// Tokens of a completion at most.
    pub(super) max_tokens: usize,
}

/// A sample that starts.
struct Started {
    id: SampleId,
    turn: Arc<TurnPrompt>,
    /// Tokens of its prompt that were prefilled as a whole.
    packed: usize,
    pages: Vec<u32>,
    promised: usize,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use whetstone_core::Seed;
    use whetstone_kernels::Device;
    use whetstone_kernels::sample::Rule;
    use whetstone_model::decoder::{Decoder, Most};
    use whetstone_model::{Config, Tokenizer};

    use super::super::{Memory, Model};
    use super::*;
    use crate::generator::{News, Prompt};
    use crate::limits::Limits;

    /// Prompts of these lengths with `samples` samples each; returns which are admitted, with how
    /// many samples, until memory is full.
    fn admitted(lengths: &[usize], samples: usize, limits: Limits) -> Vec<Vec<(usize, usize)>> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden/llama");
        let config = Config { positions: 512, ..Config::from_dir(&dir).unwrap() };
        let decoder = Decoder::new(&Device::cpu(1).unwrap(), &config, 1, 512);
        let words =
            r#"{"version":"1.0","model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}"#;
        let tokenizer = Tokenizer::from_json(words, Path::new("made in a test")).unwrap();
        let prompt = |&length: &usize| Prompt {
            tokens: vec![1; length],
            messages: [].into(),
            samples,
            first_sample: 0,
            rule: Rule::default(),
            seed: Seed::new(1),
            max_tokens: 17,
            stop: Vec::new(),
        };
        let turn = |prompt| TurnPrompt { prompt, follows: None, most_tokens: None };
        let prompts = lengths.iter().map(prompt).map(turn).collect();
        let cache = decoder.cache(limits.cache_bytes / decoder.page_bytes());
        let most = Most { rows: limits.sequences, tokens: 512 };
        let memory = Memory { cache, stepper: decoder.stepper(most) };
        let model = Model { decoder: &decoder, tokenizer: &tokenizer };
        let mut work = Work::new(model, memory, most);
        work.take_in(News { prompts, ..News::default() }).unwrap();
        let mut all = Vec::new();
        loop {
            let together = work.admit();
            if together.is_empty() {
                return all;
            }
            all.push(together.iter().map(|one| (one.waiting.prompt, one.count)).collect());
            // A prompt with samples left is already computed and comes first.
            let last = together.into_iter().next_back().unwrap();
            if last.waiting.left > last.count {
                return all;
            }
        }
    }

    #[test]
    fn short_prompts_go_together_up_to_a_limit_and_a_long_one_goes_alone() {
        let limits = Limits::default();
        let lengths = [100, 100, 56, 1, 300, 250, 5, 5];
        let all = |together: &[usize]| together.iter().map(|&prompt| (prompt, 2)).collect();
        let together: [Vec<_>; 5] = [&[0, 1, 2][..], &[3], &[4], &[5, 6], &[7]].map(all);
        assert_eq!(admitted(&lengths, 2, limits), together);
    }

    #[test]
    fn no_more_samples_start_than_sequences_are_allowed() {
        let limits = Limits { sequences: 4, ..Limits::default() };
        assert_eq!(admitted(&[5, 5, 5], 3, limits), [[(0, 3), (1, 1)]]);
    }
}
