//! The scheduler of one call.
//!
//! A GPU runs ahead: the host queues a step before it knows the tokens of the previous one, and
//! reads these while the device computes. A sample that ends is therefore in one more step, whose
//! token is dropped. The device works in queue order, so pages of an ended sample can be reused at
//! once: the surplus step writes to them before any later work does. The samples are the same: they
//! depend on seed, sample and position alone.
//!
//! Prompts may come while others are sampled: they are taken in between two steps. Pages of a conversation stay
//! until its next turn (`kept`), and a next turn starts before prompts that wait (`start`).

// size: the state of the scheduler and all that changes it.

mod kept;
mod look;
mod start;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use whetstone_core::Completion;
use whetstone_core::completion::{Finish, SampledTokens};
use whetstone_core::prompt::begun_answer;
use whetstone_kernels::sample::Request;
use whetstone_kernels::{Buffer, Device};
use whetstone_model::Tokenizer;
use whetstone_model::decoder::{Cache, Chosen, DecodeStep, Decoder, Most, PAGE, Stepper};
use whetstone_model::tokenizer::TextStream;

use self::kept::Kept;
use self::start::Waiting;
use crate::check::check_prompt;
use crate::generator::{
    Conversations, GenerateError, News, Prompt, SampleId, SampledCompletion, TurnPrompt, Until,
    Usage,
};
use crate::headway::Watch;
use crate::pages::{Pages, page_counts};
use crate::stop::StopText;

/// The most tokens that a sample of a prompt may have.
pub(crate) fn room(decoder: &Decoder, prompt: &Prompt) -> usize {
    prompt.max_tokens.min(decoder.positions() - prompt.tokens.len())
}

/// A sample that is being drawn.
struct Active<'a> {
    id: SampleId,
    turn: Arc<TurnPrompt>,
    /// Those that start later have higher ones.
    serial: u64,
    /// Tokens of its prompt that were prefilled as a whole.
    packed: usize,
    pages: Vec<u32>,
    /// Whether its first token goes to a page that other samples see.
    tail_is_shared: bool,
    /// Pages that it may still take.
    promised: usize,
    ids: Vec<u32>,
    logps: Vec<f32>,
    /// Tokens that are being chosen and not known yet.
    ahead: usize,
    /// The row of the newest of them.
    row: usize,
    stream: TextStream<'a>,
    text: StopText,
}

impl Active<'_> {
    /// Tokens that are known or being chosen.
    fn queued(&self) -> usize {
        self.ids.len() + self.ahead
    }

    /// The sampling request of its next row.
    fn request(&self) -> Request<'_> {
        let prompt = &self.turn.prompt;
        Request {
            rule: prompt.rule,
            seed: prompt.seed.get(),
            sequence: self.id.sample as u64,
            position: self.queued() as u64,
            prompt: &prompt.tokens,
            sampled: &self.ids,
        }
    }
}

/// A step that was queued: the samples of its rows, and their tokens.
struct Flight {
    serials: Vec<u64>,
    chosen: Chosen,
}

/// Memory that is kept from call to call: pages, and buffers of steps on them.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) cache: Cache,
    pub(crate) stepper: Stepper,
}

/// The model that samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model<'a> {
    pub(crate) decoder: &'a Decoder,
    pub(crate) tokenizer: &'a Tokenizer,
}

/// One call's work.
pub(crate) struct Work<'a> {
    decoder: &'a Decoder,
    tokenizer: &'a Tokenizer,
    memory: Memory,
    most: Most,
    pages: Pages,
    /// Prompts that have come.
    prompts: usize,
    waiting: VecDeque<Waiting>,
    /// Between two turns.
    conversations: kept::Conversations,
    active: Vec<Active<'a>>,
    started: u64,
    /// Completions that were handed over.
    done: usize,
    usage: Usage,
    watch: Option<Watch<'a>>,
}

impl<'a> Work<'a> {
    /// In memory for steps of at most so much.
    pub(crate) fn new(model: Model<'a>, memory: Memory, most: Most) -> Self {
        Self {
            decoder: model.decoder,
            tokenizer: model.tokenizer,
            pages: Pages::new(memory.cache.pages()),
            memory,
            most,
            prompts: 0,
            waiting: VecDeque::new(),
            conversations: kept::Conversations::default(),
            active: Vec::new(),
            started: 0,
            done: 0,
            usage: Usage::default(),
            watch: None,
        }
    }

    /// Takes in prompts and the ends of conversations.
    pub(crate) fn take_in(&mut self, news: News) -> Result<(), GenerateError> {
        for id in news.over {
            self.conversations.end(id, &mut self.pages);
        }
        for turn in news.prompts {
            let (index, turn) = (self.prompts, Arc::new(turn));
            self.check_room(index, &turn.prompt)?;
            self.prompts += 1;
            if !self.conversations.go_on(index, &turn, &mut self.pages) {
                self.waiting.push_back(Waiting::new(index, turn));
            }
        }
        Ok(())
    }

    /// Whether a prompt fits into the memory, if it were alone there.
    fn check_room(&self, index: usize, prompt: &Prompt) -> Result<(), GenerateError> {
        check_prompt(self.decoder, index, prompt)?;
        let (length, room) = (prompt.tokens.len(), room(self.decoder, prompt));
        let (shared, own) = page_counts(length, room);
        if shared + own <= self.memory.cache.pages() && length + room <= self.most.tokens {
            return Ok(());
        }
        let needed = (shared + own) * self.decoder.page_bytes();
        let allowed = self.memory.cache.pages() * self.decoder.page_bytes();
        Err(GenerateError::TooLarge { prompt: index, needed, allowed })
    }

    /// The memory and the usage, after the last step.
    pub(crate) fn end(self) -> (Memory, Usage) {
        let most_pages = self.pages.most();
        (self.memory, Usage { most_pages, ..self.usage })
    }

    /// Steps until there are no more prompts, or no more completions are wanted.
    pub(crate) fn run(&mut self, source: &mut dyn Conversations) -> Result<(), GenerateError> {
        let mut flying: Option<Flight> = None;
        loop {
            self.take_in(source.news())?;
            if self.look().is_break() || self.start(source)?.is_break() {
                return Ok(());
            }
            if self.active.is_empty() {
                // Whatever could start has started and ended.
                let news = source.wait(Until::Any);
                if news.prompts.is_empty() {
                    return Ok(());
                }
                self.take_in(news)?;
                continue;
            }
            let began = Instant::now();
            let over = self.advance(&mut flying, source)?;
            self.usage.decode_time += began.elapsed();
            if over.is_break() {
                return Ok(());
            }
        }
    }

    /// Queues a step and looks at the one before, or at the same one where nothing runs ahead.
    fn advance(
        &mut self,
        flying: &mut Option<Flight>,
        source: &mut dyn Conversations,
    ) -> Result<ControlFlow<()>, GenerateError> {
        let runs_ahead = self.runs_ahead();
        if !runs_ahead && let Some(before) = flying.take() {
            return self.land(before, source);
        }
        let next = self.launch();
        let before = std::mem::replace(flying, next);
        let over =
            before.map_or(Ok(ControlFlow::Continue(())), |before| self.land(before, source))?;
        match flying.take_if(|_| !runs_ahead) {
            Some(now) if over.is_continue() => self.land(now, source),
            _ => Ok(over),
        }
    }

    /// Whether the next step can be queued before the tokens of the last are known.
    fn runs_ahead(&self) -> bool {
        matches!(self.decoder.device(), Device::Cuda(_))
            && !self.active.iter().any(|active| active.turn.prompt.rule.has_penalties())
    }

    /// Queues a step of every sequence that has room for a token more; none if no one has.
    fn launch(&mut self) -> Option<Flight> {
        let mut step = DecodeStep::default();
        let mut serials = Vec::new();
        for at in 0..self.active.len() {
            let active = &self.active[at];
            let prompt = &active.turn.prompt;
            if active.queued() == room(self.decoder, prompt) {
                continue;
            }
            let position = prompt.tokens.len() + active.queued() - 1;
            self.own_page(at, position);
            let active = &mut self.active[at];
            let row = step.rows();
            match active.ids.last() {
                Some(&newest) if active.ahead == 0 => step.add(newest, position, &active.pages),
                _ => step.add_sampled(active.row, position, &active.pages),
            }
            serials.push(active.serial);
            active.row = row;
        }
        if serials.is_empty() {
            return None;
        }
        let in_step = |active: &&Active<'_>| serials.binary_search(&active.serial).is_ok();
        let requests: Vec<Request<'_>> =
            self.active.iter().filter(in_step).map(Active::request).collect();
        let Memory { cache, stepper } = &mut self.memory;
        let chosen = self.decoder.step_and_sample(cache, stepper, &step, &requests);
        for active in &mut self.active {
            active.ahead += usize::from(serials.binary_search(&active.serial).is_ok());
        }
        self.usage.steps += 1;
        self.usage.widest = self.usage.widest.max(serials.len());
        Some(Flight { serials, chosen })
    }

    /// A page of its own for the token at a position.
    fn own_page(&mut self, at: usize, position: usize) {
        let active = &mut self.active[at];
        let page = position / PAGE;
        if page == active.pages.len() {
            active.pages.push(self.pages.take());
            active.promised -= 1;
        } else if active.tail_is_shared {
            active.tail_is_shared = false;
            let own = self.pages.take();
            active.promised -= 1;
            let shared = std::mem::replace(&mut active.pages[page], own);
            let cache = &mut self.memory.cache;
            whetstone_kernels::paged::copy_page(cache, shared as usize, own as usize);
            self.pages.give_back(shared);
        }
    }

    /// Takes the tokens of a step; those of samples that have ended are dropped.
    fn land(
        &mut self,
        flight: Flight,
        source: &mut dyn Conversations,
    ) -> Result<ControlFlow<()>, GenerateError> {
        let Flight { serials, chosen } = flight;
        let (tokens, logps) = chosen.wait();
        self.decoder.device().failure()?;
        let mut rows = Vec::with_capacity(serials.len());
        for ((serial, token), logp) in serials.into_iter().zip(tokens).zip(logps) {
            if let Ok(at) = self.active.binary_search_by_key(&serial, |active| active.serial) {
                self.active[at].ahead -= 1;
                rows.push(Row { at, token, logp });
            }
        }
        self.accept(&rows, source)
    }

    /// A first token for every row of logits; rows belong to the sequences from `first` on.
    fn choose(
        &mut self,
        logits: &mut Buffer<f32>,
        first: usize,
        source: &mut dyn Conversations,
    ) -> Result<ControlFlow<()>, GenerateError> {
        let requests: Vec<Request<'_>> = self.active[first..].iter().map(Active::request).collect();
        let (tokens, logps) = self.decoder.choose(logits, &requests).wait();
        self.decoder.device().failure()?;
        let both = tokens.into_iter().zip(logps).enumerate();
        let rows: Vec<Row> =
            both.map(|(at, (token, logp))| Row { at: first + at, token, logp }).collect();
        self.accept(&rows, source)
    }

    /// Adds a token to each of some sequences, and hands over those that end with it.
    fn accept(
        &mut self,
        rows: &[Row],
        source: &mut dyn Conversations,
    ) -> Result<ControlFlow<()>, GenerateError> {
        let eos = &self.decoder.config().eos;
        let mut finished = Vec::new();
        for &Row { at, token, logp } in rows {
            let active = &mut self.active[at];
            if !logp.is_finite() {
                let SampleId { prompt, sample } = active.id;
                let position = active.ids.len();
                return Err(GenerateError::NotFinite { prompt, sample, position, logp });
            }
            active.ids.push(token);
            active.logps.push(logp.min(0.0));
            let ended = eos.binary_search(&token).is_ok();
            let stopped = !ended && active.text.push(&active.stream.push(token)?);
            let room = room(self.decoder, &active.turn.prompt);
            if ended || stopped {
                finished.push((at, Finish::Stop, stopped));
            } else if active.ids.len() == room {
                finished.push((at, Finish::Length, false));
            } else if source.text(active.id, active.text.certain()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.usage.sampled += rows.len();
        for (at, finish, cut) in finished.into_iter().rev() {
            let active = self.active.remove(at);
            if source.done(self.finish(active, finish, cut)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(
        &mut self,
        active: Active<'a>,
        finish: Finish,
        cut: bool,
    ) -> Result<SampledCompletion, GenerateError> {
        let Active { id, turn, packed, pages, promised, ids, logps, stream, mut text, .. } = active;
        self.pages.release(promised);
        if turn.most_tokens.is_some() {
            let tokens = [turn.prompt.tokens.as_slice(), &ids].concat();
            // The last token was sampled, and nothing was computed of it.
            let kept = Kept { cached: tokens.len() - 1, tokens, packed, pages };
            self.conversations.keep(id, kept, &mut self.pages);
        } else {
            for page in pages {
                self.pages.give_back(page);
            }
        }
        let mut finish = finish;
        if !cut && text.push(&stream.finish()?) {
            finish = Finish::Stop;
        }
        let tokens = SampledTokens::new(ids, logps).expect("as many, finite and at most 0");
        let begun = begun_answer(&turn.prompt.messages).unwrap_or_default();
        let text = format!("{begun}{}", text.into_text());
        let completion = Completion { text, reasoning: None, finish, tokens: Some(tokens) };
        let SampleId { prompt, sample } = id;
        self.done += 1;
        Ok(SampledCompletion { prompt, sample, completion })
    }
}

/// A token of the sequence at a place among the active ones.
#[derive(Debug, Clone, Copy)]
struct Row {
    at: usize,
    token: u32,
    logp: f32,
}
