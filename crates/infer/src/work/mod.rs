//! One call's work: who is sampled when.

mod start;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Instant;

use whetstone_core::Completion;
use whetstone_core::completion::{Finish, SampledTokens};
use whetstone_kernels::sample::{Request, sample};
use whetstone_kernels::{Buffer, MatrixMut};
use whetstone_model::Tokenizer;
use whetstone_model::decoder::{Cache, Decoder, PAGE, Step};
use whetstone_model::tokenizer::TextStream;

use self::start::Waiting;
use crate::generator::{Drawn, GenerateError, Limits, Prompt, Usage};
use crate::pages::Pages;
use crate::stop::StopText;

/// The most tokens that a sample of a prompt may have.
pub(crate) fn room(decoder: &Decoder, prompt: &Prompt) -> usize {
    prompt.max_tokens.min(decoder.positions() - prompt.tokens.len())
}

/// Pages that samples of a prompt share, and that each needs for itself at most: its own copy of a
/// page that the prompt leaves half empty, and what it adds. The last token needs no place.
pub(crate) fn page_counts(prompt: usize, room: usize) -> (usize, usize) {
    let shared = prompt.div_ceil(PAGE);
    (shared, (prompt + room - 1).div_ceil(PAGE) - prompt / PAGE)
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
pub(crate) struct Work<'a> {
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
    /// Of prompts that were checked.
    pub(crate) fn new(
        (decoder, tokenizer): (&'a Decoder, &'a Tokenizer),
        prompts: &'a [Prompt],
        (cache, limits): (Cache, Limits),
    ) -> Self {
        let waiting = prompts.iter().enumerate().map(|(index, it)| Waiting::new(index, it));
        Self {
            decoder,
            tokenizer,
            prompts,
            pages: Pages::new(cache.pages()),
            cache,
            waiting: waiting.collect(),
            active: Vec::new(),
            sequences: limits.sequences.max(1),
            usage: Usage::default(),
        }
    }

    /// What is left when it is over.
    pub(crate) fn end(self) -> (Cache, Usage) {
        let most_pages = self.pages.most();
        (self.cache, Usage { most_pages, ..self.usage })
    }

    /// Steps until nothing waits and nothing is being drawn.
    pub(crate) fn run(
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

    /// Puts every sequence's newest token into the step, with a page of its own to write to.
    fn extend(&mut self, step: &mut Step) {
        for active in &mut self.active {
            let length = self.prompts[active.prompt].tokens.len();
            let position = length + active.ids.len() - 1;
            let page = position / PAGE;
            if page == active.pages.len() {
                active.pages.push(self.pages.take());
                active.promised -= 1;
            } else if active.ids.len() == 1 && !position.is_multiple_of(PAGE) {
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
        logits: &mut Buffer<f32>,
        first: usize,
        done: &mut dyn FnMut(Drawn) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, GenerateError> {
        let (tokens, logps) = self.draw(logits, first);
        self.decoder.device().check()?;
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
            let room = room(self.decoder, prompt);
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

    fn draw(&self, logits: &mut Buffer<f32>, first: usize) -> (Vec<u32>, Vec<f32>) {
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
        for page in pages {
            self.pages.give_back(page);
        }
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
