//! Prefill and decode for sampling: the layers of training, with keys and values in pages (the KV cache).
//!
//! Prompts are prefilled as a whole, several in sequence. After that each sequence decodes one
//! token at a time, many sequences in a batch, and every row is computed as if it were alone: a
//! sample does not depend on the others in its batch. Tokens that follow a sequence in the cache, such as what
//! a user says between two turns, are computed together by [`Decoder::extend`], each as a decode step would.

use whetstone_kernels::attention;
use whetstone_kernels::embedding::SAMPLED;
use whetstone_kernels::paged::{self, Cache, PAGE, Stored, Tables};
use whetstone_kernels::{Buffer, Matrix, MatrixMut, Offsets, View, WriteMode, embedding, linear};

use super::Decoder;
use super::layer::{CachePositions, NormInput, RopeInput, normed};
use super::pass::Adapters;

/// The next token of some sequences, and where each finds what came before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecodeStep {
    pub(super) ids: Vec<u32>,
    pub(super) positions: Vec<u32>,
    pub(super) slots: Vec<u32>,
    pub(super) pages: Vec<u32>,
    pub(super) starts: Vec<u32>,
    pub(super) lengths: Vec<u32>,
}

impl DecodeStep {
    /// Adds a sequence: its newest token, that token's position, and its pages up to there.
    ///
    /// # Panics
    ///
    /// If the pages do not reach the position.
    #[expect(clippy::cast_possible_truncation, reason = "positions and pages are below 2^32")]
    pub fn add(&mut self, id: u32, position: usize, pages: &[u32]) {
        let used = &pages[..=position / PAGE];
        self.ids.push(id);
        self.positions.push(position as u32);
        self.slots.push(slot(pages, position));
        self.starts.push(self.pages.len() as u32);
        self.pages.extend_from_slice(used);
        self.lengths.push(position as u32 + 1);
    }

    /// Decode input whose newest token is the one that the previous step chose in this row, so that
    /// the host need not know it: for [`Decoder::step_and_sample`] on a device that runs ahead.
    ///
    /// # Panics
    ///
    /// If the pages do not reach the position.
    #[expect(clippy::cast_possible_truncation, reason = "rows are below 2^31")]
    pub fn add_sampled(&mut self, row: usize, position: usize, pages: &[u32]) {
        self.add(SAMPLED | row as u32, position, pages);
    }

    /// Number of sequences.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// None, with the room that was there.
    pub fn clear(&mut self) {
        let Self { ids, positions, slots, pages, starts, lengths } = self;
        for list in [ids, positions, slots, pages, starts, lengths] {
            list.clear();
        }
    }
}

/// A token's place in the pages of its sequence.
#[expect(clippy::cast_possible_truncation, reason = "a place in a page is below 16")]
fn slot(pages: &[u32], position: usize) -> u32 {
    pages[position / PAGE] * PAGE as u32 + (position % PAGE) as u32
}

/// A prompt from its beginning, and the pages that are to hold its keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefill<'a> {
    /// Its tokens.
    pub tokens: &'a [u32],
    /// As many pages as they need.
    pub pages: &'a [u32],
}

/// A sequence of which the first tokens have their keys and values in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extend<'a> {
    /// All of its tokens.
    pub tokens: &'a [u32],
    /// Tokens at its beginning that are in the cache; fewer than all.
    pub cached: usize,
    /// As many pages as all tokens need. No other sequence sees those that new tokens go to.
    pub pages: &'a [u32],
}

/// Rows of a decode or prefill step, and the keys they attend to.
pub(super) struct DecodeInput<'a> {
    pub(super) ids: View<'a, u32>,
    pub(super) positions: View<'a, u32>,
    pub(super) slots: View<'a, u32>,
    pub(super) attend: Attend<'a>,
}

/// Never stops.
const NEVER: &dyn Fn() -> bool = &|| false;

/// How rows that attend to pages go through the layers.
struct Paged<'a> {
    stored: Stored,
    /// Whether to stop, asked before each layer.
    stop: &'a dyn Fn() -> bool,
}

/// The keys that rows attend to.
pub(super) enum Attend<'a> {
    /// Each other: they are whole sequences, packed.
    Packed(Offsets<'a>),
    /// The tokens before them, in pages of the KV cache.
    Paged(Tables<'a>),
}

impl Decoder {
    /// Pages for sequences that are being sampled.
    pub fn cache(&self, pages: usize) -> Cache {
        Cache::new(&self.device, self.layers.len(), pages, self.sizes.shape)
    }

    /// Bytes of a page over all layers.
    pub fn page_bytes(&self) -> usize {
        self.layers.len() * Cache::page_bytes(&self.device, &self.sizes.shape)
    }

    /// The longest sequence.
    pub fn positions(&self) -> usize {
        self.turns.positions()
    }

    /// Takes prompts from their beginnings; gives a row of logits for what comes after each.
    ///
    /// # Panics
    ///
    /// If there is no prompt, or one is empty, has a token outside of the vocabulary, or does not
    /// fit into its pages.
    pub fn prefill(&self, cache: &mut Cache, prompts: &[Prefill<'_>]) -> Buffer<f32> {
        self.prefill_unless(cache, prompts, NEVER).expect("nobody stops it")
    }

    /// Like [`Self::prefill`], but asks before each layer whether to stop; then there are no logits, and the pages
    /// mean nothing.
    ///
    /// # Panics
    ///
    /// As [`Self::prefill`] does.
    #[expect(clippy::cast_possible_truncation, reason = "prompts have fewer than 2^32 tokens")]
    pub fn prefill_unless(
        &self,
        cache: &mut Cache,
        prompts: &[Prefill<'_>],
        stop: &dyn Fn() -> bool,
    ) -> Option<Buffer<f32>> {
        let (mut step, mut offsets, mut last) = (DecodeStep::default(), vec![0], Vec::new());
        for Prefill { tokens, pages } in prompts {
            assert!(!tokens.is_empty() && tokens.len() <= self.positions(), "a prompt");
            step.ids.extend_from_slice(tokens);
            step.positions.extend(0..tokens.len() as u32);
            step.slots.extend((0..tokens.len()).map(|position| slot(pages, position)));
            offsets.push(step.ids.len());
            last.push(step.ids.len() as u32 - 1);
        }
        let device = &self.device;
        let [ids, positions, slots, last] =
            [&step.ids, &step.positions, &step.slots, &last].map(|list| device.upload(list));
        let attend = Attend::Packed(&offsets);
        let input = DecodeInput {
            ids: ids.view(),
            positions: positions.view(),
            slots: slots.view(),
            attend,
        };
        let x = self.decode_rows_unless(cache, &input, stop)?;
        let mut ends = device.take(prompts.len() * self.sizes.width);
        embedding::gather(device, &mut ends.view_mut(), x.view(), last.view());
        drop(x);
        Some(self.logits(ends.view()))
    }

    /// Takes the tokens of sequences that are not in the cache; gives a row of logits for what comes after each
    /// sequence. Every token has the bits of the step that would take it alone.
    ///
    /// # Panics
    ///
    /// If there is no sequence, or one has no new token, a token outside of the vocabulary, or does not fit into
    /// its pages.
    pub fn extend(&self, cache: &mut Cache, sequences: &[Extend<'_>]) -> Buffer<f32> {
        self.extend_unless(cache, sequences, NEVER).expect("nobody stops it")
    }

    /// Like [`Self::extend`], but asks before each layer whether to stop; then there are no logits, and the new slots
    /// mean nothing.
    ///
    /// # Panics
    ///
    /// As [`Self::extend`] does.
    #[expect(clippy::cast_possible_truncation, reason = "sequences have fewer than 2^32 tokens")]
    pub fn extend_unless(
        &self,
        cache: &mut Cache,
        sequences: &[Extend<'_>],
        stop: &dyn Fn() -> bool,
    ) -> Option<Buffer<f32>> {
        let (mut step, mut last) = (DecodeStep::default(), Vec::new());
        for &Extend { tokens, cached, pages } in sequences {
            assert!(cached < tokens.len() && tokens.len() <= self.positions(), "a new token");
            let start = step.pages.len() as u32;
            step.pages.extend_from_slice(&pages[..tokens.len().div_ceil(PAGE)]);
            for (position, &id) in tokens.iter().enumerate().skip(cached) {
                step.ids.push(id);
                step.positions.push(position as u32);
                step.slots.push(slot(pages, position));
                step.starts.push(start);
                step.lengths.push(position as u32 + 1);
            }
            last.push(step.ids.len() as u32 - 1);
        }
        let last = self.device.upload(&last);
        let x = self.paged_rows(cache, &step, &Paged { stored: Stored::Any, stop })?;
        let mut ends = self.device.take(sequences.len() * self.sizes.width);
        embedding::gather(&self.device, &mut ends.view_mut(), x.view(), last.view());
        drop(x);
        Some(self.logits(ends.view()))
    }

    /// Takes one token of each sequence; gives a row of logits for each.
    ///
    /// # Panics
    ///
    /// Never: nobody stops it between layers.
    pub fn step(&self, cache: &mut Cache, step: &DecodeStep) -> Buffer<f32> {
        let x = self.paged_rows(cache, step, &Paged { stored: Stored::Last, stop: NEVER });
        self.logits(x.expect("nobody stops it").view())
    }

    /// Rows that attend to pages, through all layers.
    fn paged_rows(
        &self,
        cache: &mut Cache,
        step: &DecodeStep,
        paged: &Paged<'_>,
    ) -> Option<Buffer> {
        let Paged { stored, stop } = *paged;
        let device = &self.device;
        let [ids, positions, slots] =
            [&step.ids, &step.positions, &step.slots].map(|list| device.upload(list));
        let [pages, starts, lengths] =
            [&step.pages, &step.starts, &step.lengths].map(|list| device.upload(list));
        let tables =
            Tables { pages: pages.view(), starts: starts.view(), lengths: lengths.view(), stored };
        let input = DecodeInput {
            ids: ids.view(),
            positions: positions.view(),
            slots: slots.view(),
            attend: Attend::Paged(tables),
        };
        self.decode_rows_unless(cache, &input, stop)
    }

    /// Through all layers; new keys and values stay in the cache.
    pub(super) fn decode_rows(&self, cache: &mut Cache, input: &DecodeInput<'_>) -> Buffer {
        self.decode_rows_unless(cache, input, NEVER).expect("nobody stops it")
    }

    /// Like [`Self::decode_rows`], but asks before each layer whether to stop.
    fn decode_rows_unless(
        &self,
        cache: &mut Cache,
        input: &DecodeInput<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Option<Buffer> {
        let (pass, sizes) = (self.pass(Adapters::On), &self.sizes);
        let (count, shape) = (input.ids.len(), &sizes.shape);
        let mut x = self.device.take(count * sizes.width);
        let table = self.parameters.activations(self.embedding);
        embedding::gather(&self.device, &mut x.view_mut(), table, input.ids);
        for (index, layer) in self.layers.iter().enumerate() {
            if stop() {
                return None;
            }
            let rope = RopeInput { positions: input.positions, table: &self.turns };
            let to = CachePositions { rope, cache: &mut *cache, layer: index, slots: input.slots };
            let qkv = layer.project_and_store(&pass, x.view(), to);
            let rows = layer.packed_rows(sizes, &qkv);
            let stride = layer.attended_stride(sizes);
            let mut attended = self.device.take(count * stride);
            let to = MatrixMut::strided(attended.view_mut(), count, shape.width(), stride);
            match input.attend {
                Attend::Paged(tables) => {
                    let attend = paged::Attend { out: to, cache, layer: index, qkv: rows, tables };
                    paged::attend(&self.device, attend);
                }
                Attend::Packed(offsets) => {
                    let mut lse = self.device.take(count * shape.heads);
                    let output = attention::Output { out: to, lse: lse.view_mut() };
                    let sequences = attention::Sequences { shape, offsets };
                    attention::forward(&self.device, output, rows, sequences);
                }
            }
            let x1 = layer.after_attention(&pass, &x, &mut attended);
            x = layer.network_output(&pass, &x1);
        }
        Some(x)
    }

    pub(super) fn logits(&self, x: View<'_>) -> Buffer<f32> {
        let pass = self.pass(Adapters::On);
        let (rows, vocab) = (x.len() / self.sizes.width, self.config.vocab);
        let h = normed(&pass, NormInput { x, gain: self.norm });
        let mut logits = self.device.take(rows * vocab);
        let to = MatrixMut::new(logits.view_mut(), rows, vocab);
        let h = Matrix::new(h.view(), rows, self.sizes.width);
        let product =
            linear::Forward { scale: 1.0, x: h, weight: self.parameters.weight(self.head) };
        linear::forward(&self.device, to, WriteMode::Overwrite, product);
        logits
    }
}
