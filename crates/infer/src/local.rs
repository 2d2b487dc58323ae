//! The generator on this machine.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Instant;

use whetstone_core::Completion;
use whetstone_core::completion::{Finish, SampledTokens};
use whetstone_kernels::sample::{Request, Rule, sample};
use whetstone_kernels::{Buffer, MatrixMut};
use whetstone_model::decoder::{Cache, Decoder, PAGE, Step};
use whetstone_model::tokenizer::{SpecialTokens, TextStream};
use whetstone_model::Tokenizer;

use crate::generator::{Drawn, GenerateError, Generator, Limits, Prompt, Usage};
use crate::pages::Pages;
use crate::stop::StopText;

/// A model on this machine that completes prompts.
#[derive(Debug)]
pub struct Local<'a> {
    decoder: &'a Decoder,
    tokenizer: &'a Tokenizer,
    limits: Limits,
    /// Kept from call to call.
    cache: Option<Cache>,
}

impl<'a> Local<'a> {
    /// Completes with `decoder`, whose tokens are `tokenizer`'s.
    pub fn new(decoder: &'a Decoder, tokenizer: &'a Tokenizer, limits: Limits) -> Self {
        Self { decoder, tokenizer, limits, cache: None }
    }

    fn allowed_pages(&self) -> usize {
        self.limits.cache_bytes / self.decoder.page_bytes()
    }

    /// The most tokens that a sample of a prompt may have.
    fn room(&self, prompt: &Prompt) -> usize {
        prompt.max_tokens.min(self.decoder.positions() - prompt.tokens.len())
    }

    fn check(&self, prompts: &[Prompt]) -> Result<usize, GenerateError> {
        let mut wanted = 0;
        for (index, prompt) in prompts.iter().enumerate() {
            self.check_one(index, prompt)?;
            let (shared, own) = page_counts(prompt.tokens.len(), self.room(prompt));
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
        ("repetition_penalty", repetition_penalty, repetition_penalty > 0.0 && repetition_penalty <= 100.0),
    ];
    let bad = checks.into_iter().find(|(_, _, good)| !good)?;
    Some(format!("{} is {}", bad.0, bad.1))
}

/// Pages that samples of a prompt share, and that each needs for itself at most: its own copy of a
/// page that the prompt leaves half empty, and what it adds. The last token needs no place.
fn page_counts(prompt: usize, room: usize) -> (usize, usize) {
    let shared = prompt.div_ceil(PAGE);
    (shared, (prompt + room - 1).div_ceil(PAGE) - prompt / PAGE)
}

impl Generator for Local<'_> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(Drawn) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        let wanted = self.check(prompts)?.min(self.allowed_pages());
        let cache = match self.cache.take() {
            Some(cache) if cache.pages() >= wanted => cache,
            _ => self.decoder.cache(wanted),
        };
        let mut work = Work {
            decoder: self.decoder,
            tokenizer: self.tokenizer,
            prompts,
            pages: Pages::new(cache.pages()),
            cache,
            waiting: prompts.iter().enumerate().map(|(index, it)| Waiting::new(index, it)).collect(),
            active: Vec::new(),
            sequences: self.limits.sequences.max(1),
            usage: Usage::default(),
        };
        let outcome = work.run(done);
        let Work { cache, pages, mut usage, .. } = work;
        usage.most_pages = pages.most();
        self.cache = Some(cache);
        outcome.map(|_| usage)
    }
}

/// A prompt with samples that have not started.
struct Waiting {
    prompt: usize,
    left: usize,
    /// The pages of the prompt and the logits after it, once it was computed.
    begun: Option<(Vec<u32>, Buffer)>,
}

impl Waiting {
    fn new(prompt: usize, it: &Prompt) -> Self {
        Self { prompt, left: it.samples, begun: None }
    }
}

/// A sample that is being drawn.
struct Active<'a> {
    prompt: usize,
    sample: usize,
    pages: Vec<u32>,
    /// Pages that it may still take.
    promised: usize,
    ids: Vec<u32>,
    logps: Vec<f32>,
    stream: TextStream<'a>,
    text: StopText<'a>,
}

/// One call's work.
struct Work<'a> {
    decoder: &'a Decoder,
    tokenizer: &'a Tokenizer,
    prompts: &'a [Prompt],
    cache: Cache,
    pages: Pages,
    waiting: VecDeque<Waiting>,
    active: Vec<Active<'a>>,
    sequences: usize,
    usage: Usage,
}

impl<'a> Work<'a> {
    /// Steps until nothing waits and nothing is being drawn.
    fn run(
        &mut self,
        done: &mut dyn FnMut(Drawn) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, GenerateError> {
        let mut step = Step::default();
        loop {
            if self.start(done)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if self.active.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let began = Instant::now();
            step.clear();
            self.extend(&mut step);
            let mut logits = self.decoder.step(&mut self.cache, &step);
            self.usage.steps += 1;
            self.usage.widest = self.usage.widest.max(self.active.len());
            let first = 0;
            let chosen = self.choose(&mut logits, first, done)?;
            self.usage.decode_time += began.elapsed();
            if chosen.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Starts what there is room for. A sample's first token comes from the prompt's logits.
    fn start(
        &mut self,
        done: &mut dyn FnMut(Drawn) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, GenerateError> {
        while let Some(mut waiting) = self.waiting.pop_front() {
            let prompt = &self.prompts[waiting.prompt];
            let length = prompt.tokens.len();
            let room = prompt.max_tokens.min(self.decoder.positions() - length);
            let (shared, own) = page_counts(length, room);
            let shared = if waiting.begun.is_some() { 0 } else { shared };
            let free = self.sequences - self.active.len();
            let fits = self.pages.available().saturating_sub(shared).checked_div(own);
            let count = waiting.left.min(free).min(fits.unwrap_or(usize::MAX));
            if count == 0 || self.pages.available() < shared {
                self.waiting.push_front(waiting);
                break;
            }
            let (pages, logits) = match waiting.begun.take() {
                Some(begun) => begun,
                None => self.prefill(prompt, shared),
            };
            let first = self.active.len();
            for _ in 0..count {
                self.pages.promise(own);
                let sample = prompt.samples - waiting.left;
                waiting.left -= 1;
                let active = self.begin(waiting.prompt, sample, (&pages, own));
                self.active.push(active);
            }
            let mut rows = repeat(self.decoder, &logits, count);
            if waiting.left > 0 {
                waiting.begun = Some((pages, logits));
                self.waiting.push_front(waiting);
            } else {
                pages.into_iter().for_each(|page| self.pages.give_back(page));
            }
            if self.choose(&mut rows, first, done)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn prefill(&mut self, prompt: &Prompt, shared: usize) -> (Vec<u32>, Buffer) {
        let began = Instant::now();
        self.pages.promise(shared);
        let pages: Vec<u32> = (0..shared).map(|_| self.pages.take()).collect();
        let logits = self.decoder.prefill(&mut self.cache, &prompt.tokens, &pages);
        self.usage.prefilled += prompt.tokens.len();
        self.usage.prefill_time += began.elapsed();
        (pages, logits)
    }

    /// A sample shares the prompt's whole pages and gets a copy of the half-empty one when it first
    /// writes to it.
    fn begin(&mut self, prompt: usize, sample: usize, (pages, own): (&[u32], usize)) -> Active<'a> {
        let prompts: &'a [Prompt] = self.prompts;
        pages.iter().for_each(|&page| self.pages.share(page));
        Active {
            prompt,
            sample,
            pages: pages.to_vec(),
            promised: own,
            ids: Vec::new(),
            logps: Vec::new(),
            stream: self.tokenizer.stream(SpecialTokens::Dropped),
            text: StopText::new(&prompts[prompt].stop),
        }
    }

    /// Puts every sequence's newest token into the step, with a page of its own to write to.
    fn extend(&mut self, step: &mut Step) {
        for active in &mut self.active {
            let length = self.prompts[active.prompt].tokens.len();
            let position = length + active.ids.len() - 1;
            let page = position / PAGE;
            if page == active.pages.len() {
                active.pages.push(self.pages.take());
                active.promised -= 1;
            } else if active.ids.len() == 1 && position % PAGE != 0 {
                let own = self.pages.take();
                active.promised -= 1;
                let shared = std::mem::replace(&mut active.pages[page], own);
                whetstone_kernels::paged::copy_page(&mut self.cache, shared as usize, own as usize);
                self.pages.give_back(shared);
            }
            let newest = *active.ids.last().expect("a started sample has a token");
            step.add(newest, position, &active.pages);
        }
    }

    /// A token for every row; rows belong to the sequences from `first` on.
    fn choose(
        &mut self,
        logits: &mut Buffer,
        first: usize,
        done: &mut dyn FnMut(Drawn) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, GenerateError> {
        let (tokens, logps) = self.draw(logits, first);
        let eos = &self.decoder.config().eos;
        let mut finished = Vec::new();
        for (at, (&token, &logp)) in tokens.iter().zip(&logps).enumerate() {
            let active = &mut self.active[first + at];
            let prompt = &self.prompts[active.prompt];
            if !logp.is_finite() {
                let (prompt, sample) = (active.prompt, active.sample);
                let position = active.ids.len();
                return Err(GenerateError::NotFinite { prompt, sample, position, logp });
            }
            active.ids.push(token);
            active.logps.push(logp.min(0.0));
            let ended = eos.binary_search(&token).is_ok();
            let stopped = !ended && active.text.push(&active.stream.push(token)?);
            let room = prompt.max_tokens.min(self.decoder.positions() - prompt.tokens.len());
            if ended || stopped {
                finished.push((first + at, Finish::Stop, stopped));
            } else if active.ids.len() == room {
                finished.push((first + at, Finish::Length, false));
            }
        }
        self.usage.sampled += tokens.len();
        for (at, finish, cut) in finished.into_iter().rev() {
            let active = self.active.remove(at);
            if done(self.finish(active, finish, cut)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn draw(&self, logits: &mut Buffer, first: usize) -> (Vec<u32>, Vec<f32>) {
        let device = self.decoder.device();
        let active = &self.active[first..];
        let requests: Vec<Request<'_>> = active
            .iter()
            .map(|active| Request {
                rule: self.prompts[active.prompt].rule,
                seed: self.prompts[active.prompt].seed.get(),
                sequence: active.sample as u64,
                position: active.ids.len() as u64,
                prompt: &self.prompts[active.prompt].tokens,
                sampled: &active.ids,
            })
            .collect();
        let vocab = logits.len() / requests.len();
        let (mut tokens, mut logps) = (device.take(requests.len()), device.take(requests.len()));
        let rows = MatrixMut::new(logits.view_mut(), requests.len(), vocab);
        sample(device, (&mut tokens.view_mut(), &mut logps.view_mut()), rows, &requests);
        (device.read(tokens.view()), device.read(logps.view()))
    }

    fn finish(
        &mut self,
        active: Active<'a>,
        finish: Finish,
        cut: bool,
    ) -> Result<Drawn, GenerateError> {
        let Active { prompt, sample, pages, promised, ids, logps, stream, mut text } = active;
        self.pages.release(promised);
        pages.into_iter().for_each(|page| self.pages.give_back(page));
        let mut finish = finish;
        if !cut && text.push(&stream.finish()?) {
            finish = Finish::Stop;
        }
        let tokens = SampledTokens::new(ids, logps).expect("as many, finite and at most 0");
        let text = text.into_text();
        let completion = Completion { text, reasoning: None, finish, tokens: Some(tokens) };
        Ok(Drawn { prompt, sample, completion })
    }
}

/// The same row of logits for several samples.
fn repeat(decoder: &Decoder, logits: &Buffer, count: usize) -> Buffer {
    let device = decoder.device();
    let mut rows = device.take(count * logits.len());
    let mut view = rows.view_mut();
    for row in 0..count {
        let range = row * logits.len()..(row + 1) * logits.len();
        device.copy(&mut view.part(range), logits.view());
    }
    rows
}
