//! From prompts that wait to samples with their first tokens.
//!
//! Prompts are prefilled together in batches of some hundred tokens, so that short prompts do not
//! read all weights for a few rows each. The limit keeps the memory of a batch below that of one
//! long prompt.

use std::ops::ControlFlow;
use std::time::Instant;

use whetstone_kernels::{Buffer, Device};
use whetstone_model::decoder::{Decoder, Prefill};
use whetstone_model::memory::TOGETHER_ON_CUDA;
use whetstone_model::tokenizer::SpecialTokens;

use super::{Active, Work, page_counts, room};
use crate::generator::{GenerateError, Prompt, SampledCompletion};
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
    left: usize,
    /// The pages of the prompt and the logits after it, once it was computed.
    begun: Option<(Vec<u32>, Buffer<f32>)>,
}

impl Waiting {
    pub(super) fn new(prompt: usize, it: &Prompt) -> Self {
        Self { prompt, left: it.samples, begun: None }
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

impl<'a> Work<'a> {
    /// Starts as many samples as fit. A sample's first token comes from the prompt's logits.
    pub(super) fn start(
        &mut self,
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, GenerateError> {
        loop {
            let admitted = self.admit();
            if admitted.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let first = self.active.len();
            let mut rows = self.begin(admitted);
            if self.choose(&mut rows, first, done)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// One prompt that was computed, or the next ones that were not; pages are promised to them.
    fn admit(&mut self) -> Vec<Admitted> {
        let mut admitted: Vec<Admitted> = Vec::new();
        let (mut tokens, mut sequences) = (0, self.active.len());
        let most = most_together(self.decoder);
        while let Some(waiting) = self.waiting.pop_front() {
            let length = self.prompts[waiting.prompt].tokens.len();
            let begun = waiting.begun.is_some();
            let together = tokens + length <= most;
            match self.fitting(waiting, self.sequences - sequences) {
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
                    break;
                }
            }
        }
        admitted
    }

    /// As many samples as there are pages and sequences for; the prompt itself if none fits.
    fn fitting(&self, waiting: Waiting, free: usize) -> Result<Admitted, Waiting> {
        let prompt = &self.prompts[waiting.prompt];
        let (shared, own) = page_counts(prompt.tokens.len(), room(self.decoder, prompt));
        let shared = if waiting.begun.is_some() { 0 } else { shared };
        let Some(pages) = self.pages.available().checked_sub(shared) else { return Err(waiting) };
        let fits = pages.checked_div(own).unwrap_or(usize::MAX);
        let count = waiting.left.min(free).min(fits);
        if count == 0 { Err(waiting) } else { Ok(Admitted { waiting, count, shared, own }) }
    }

    /// A row of logits for each sample, which are active from now on.
    fn begin(&mut self, mut admitted: Vec<Admitted>) -> Buffer<f32> {
        let (pages, logits) = match admitted[0].waiting.begun.take() {
            Some((pages, logits)) => (vec![pages], logits),
            None => self.prefill(&admitted),
        };
        let counts: Vec<usize> = admitted.iter().map(|it| it.count).collect();
        for (row, (mut one, pages)) in admitted.into_iter().zip(pages).enumerate() {
            self.sample(&mut one, &pages);
            if one.waiting.left > 0 {
                let alone = self.rows(&logits, &[(row, 1)], counts.len());
                one.waiting.begun = Some((pages, alone));
                self.waiting.push_front(one.waiting);
            } else {
                for page in pages {
                    self.pages.give_back(page);
                }
            }
        }
        if counts.iter().all(|&count| count == 1) {
            return logits;
        }
        let each: Vec<(usize, usize)> = counts.iter().copied().enumerate().collect();
        self.rows(&logits, &each, counts.len())
    }

    /// The pages of each prompt, and a row of logits for each.
    fn prefill(&mut self, admitted: &[Admitted]) -> (Vec<Vec<u32>>, Buffer<f32>) {
        let began = Instant::now();
        let pages: Vec<Vec<u32>> =
            admitted.iter().map(|it| (0..it.shared).map(|_| self.pages.take()).collect()).collect();
        let prompts: &'a [Prompt] = self.prompts;
        let all = admitted
            .iter()
            .zip(&pages)
            .map(|(it, pages)| Prefill { tokens: &prompts[it.waiting.prompt].tokens, pages });
        let all: Vec<Prefill<'_>> = all.collect();
        let logits = self.decoder.prefill(&mut self.memory.cache, &all);
        self.usage.prefilled += all.iter().map(|it| it.tokens.len()).sum::<usize>();
        self.usage.prefill_time += began.elapsed();
        (pages, logits)
    }

    /// A sample shares the prompt's whole pages and gets a copy of the half-empty one when it first
    /// writes to it.
    fn sample(&mut self, one: &mut Admitted, pages: &[u32]) {
        let prompts: &'a [Prompt] = self.prompts;
        let Admitted { waiting, count, own, .. } = one;
        let prompt = &prompts[waiting.prompt];
        for _ in 0..*count {
            for &page in pages {
                self.pages.share(page);
            }
            self.started += 1;
            self.active.push(Active {
                prompt: waiting.prompt,
                sample: prompt.samples - waiting.left,
                serial: self.started,
                pages: pages.to_vec(),
                promised: *own,
                ids: Vec::new(),
                logps: Vec::new(),
                ahead: 0,
                row: 0,
                stream: self.tokenizer.stream(SpecialTokens::Dropped),
                text: StopText::new(&prompt.stop),
            });
            waiting.left -= 1;
        }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use whetstone_core::Seed;
    use whetstone_kernels::Device;
    use whetstone_kernels::sample::Rule;
    use whetstone_model::decoder::{Decoder, Most};
    use whetstone_model::{Config, Tokenizer};

    use super::super::Memory;
    use super::*;
    use crate::generator::Limits;

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
            samples,
            rule: Rule::default(),
            seed: Seed::new(1),
            max_tokens: 17,
            stop: Vec::new(),
        };
        let prompts: Vec<Prompt> = lengths.iter().map(prompt).collect();
        let cache = decoder.cache(limits.cache_bytes / decoder.page_bytes());
        let stepper = decoder.stepper(Most { rows: limits.sequences, tokens: 512 });
        let memory = Memory { cache, stepper };
        let mut work = Work::new((&decoder, &tokenizer), &prompts, (memory, limits));
        let mut all = Vec::new();
        loop {
            let together = work.admit();
            if together.is_empty() {
                return all;
            }
            all.push(together.iter().map(|it| (it.waiting.prompt, it.count)).collect());
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
