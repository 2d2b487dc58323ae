//! Bytes that a model takes on the CPU, counted before anything is loaded.
//!
//! Buffers come from a pool that hands a buffer out again only for the same size, so what it holds in
//! the end is, of each size, as many as there ever were at a time. Here work is a few [`Moment`]s,
//! each with the buffers that exist then; the list follows `decoder/layer/` and `decoder/step.rs`.
//! With `T` tokens, `R` of them asked about, `n` layers, and per token `x` (a hidden state), `qkv`,
//! `a` (what attention gave), `h` heads and `f` (the network's width):
//!
//! ```text
//! kept, Most    n · T · (2x + qkv + a + h + 2f)        Input    n · T · x, and the rest of one layer
//! back, head    R · 4x and R · 4, and the logits of a chunk of rows
//! back, network T · (3x + f), and two narrow products of an adapter
//! back, heads   T · (x + qkv + a), and once more qkv if queries and keys are normed
//! trained head  R · x and R · 4 while layers go back, then the logits of one sequence
//! sampling      T · (3x + qkv + a + 3f) for a prompt, the same and logits for each row of a step
//! ```
//!
//! Not counted: strips of attention and packed blocks of products (a few megabytes a thread), the
//! tokenizer, and the program itself. Batches of many different lengths hold more than one of each
//! size.

use std::collections::BTreeMap;

use whetstone_core::config::LoraConfig;
use whetstone_kernels::buffer::taken_bytes;
use whetstone_kernels::head::logits_at_a_time;
use whetstone_kernels::linear::UNPACKED_ROWS;

use crate::adapter::{AdapterSettings, path_of};
use crate::config::Config;
use crate::decoder::{Keep, PAGE};
use crate::layout::{Expected, expected_tensors};

/// What is done with a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Purpose<'a> {
    /// Sampling: as many sequences as the batch at a time, each with its keys and values.
    Inference,
    /// Training an adapter beside frozen weights.
    Lora(&'a LoraConfig, Keep),
    /// Training every weight.
    Full(Keep),
}

/// How much at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Sequences.
    pub batch: usize,
    /// Tokens of each, prompt and completion together.
    pub length: usize,
    /// Whether projections are bytes.
    pub eight_bit: bool,
}

/// Bytes, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    /// The model's numbers, an adapter's included.
    pub weights: u64,
    /// One number for each that is trained.
    pub gradients: u64,
    /// The optimizer's two means for each number that is trained.
    pub means: u64,
    /// What layers keep for the way back.
    pub kept: u64,
    /// Whatever exists for a moment only.
    pub temporary: u64,
    /// Logits.
    pub logits: u64,
    /// Keys and values of sequences that are being sampled.
    pub cache: u64,
    /// Sines, cosines and the batch itself.
    pub tables: u64,
}

impl Plan {
    /// All together.
    pub fn total(&self) -> u64 {
        let Self { weights, gradients, means, kept, temporary, logits, cache, tables } = *self;
        let parts = [weights, gradients, means, kept, temporary, logits, cache, tables];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// What `purpose` takes. Full training of a model of bytes is counted as of one of numbers.
pub fn plan(config: &Config, work: Work, purpose: Purpose<'_>) -> Plan {
    let rows = Rows::new(config, work.batch.saturating_mul(work.length));
    let tables = Moment::default().with(work.length * config.head_dim / 2, 2);
    match purpose {
        Purpose::Inference => {
            let weights = weights(&expected_tensors(config), work.eight_bit);
            inference(config, work, Plan { weights, tables: tables.bytes(), ..Plan::default() })
        }
        Purpose::Lora(lora, keep) => {
            let adapter = adapter_tensors(config, lora);
            let base = weights(&expected_tensors(config), work.eight_bit);
            let trained = weights(&adapter, false);
            let rows = rows.with_narrow(lora.rank as usize);
            let rows = if work.eight_bit { rows.with_bytes(config) } else { rows };
            let weights = base.saturating_add(trained);
            let tables = rows.batch_tables(tables).bytes();
            training(
                (&rows, config),
                (keep, None),
                trained,
                Plan { weights, tables, ..Plan::default() },
            )
        }
        Purpose::Full(keep) => {
            let weights = weights(&expected_tensors(config), false);
            let tables = rows.batch_tables(tables).bytes();
            training(
                (&rows, config),
                (keep, Some(work.length)),
                weights,
                Plan { weights, tables, ..Plan::default() },
            )
        }
    }
}

/// Buffers that exist at a moment: how many of each size that the pool has.
#[derive(Debug, Clone, Default)]
struct Moment(BTreeMap<usize, u64>);

impl Moment {
    /// And so many of four bytes times `numbers`.
    fn with(mut self, numbers: usize, count: usize) -> Self {
        if numbers > 0 && count > 0 {
            *self.0.entry(taken_bytes(numbers.saturating_mul(4))).or_default() += count as u64;
        }
        self
    }

    fn and(mut self, other: &Self) -> Self {
        for (&size, count) in &other.0 {
            *self.0.entry(size).or_default() += count;
        }
        self
    }

    /// Of each size the larger number.
    fn or(mut self, other: &Self) -> Self {
        for (&size, &count) in &other.0 {
            let here = self.0.entry(size).or_default();
            *here = count.max(*here);
        }
        self
    }

    fn bytes(&self) -> u64 {
        let sizes = self.0.iter().map(|(&size, &count)| (size as u64).saturating_mul(count));
        sizes.fold(0, u64::saturating_add)
    }
}

/// Bytes that a pool holds after all of these moments.
fn held(moments: impl IntoIterator<Item = Moment>) -> u64 {
    moments.into_iter().reduce(|all, moment| all.or(&moment)).unwrap_or_default().bytes()
}

fn weights(tensors: &[Expected], eight_bit: bool) -> u64 {
    let of = |tensor: &Expected| {
        let numbers: usize = tensor.shape.iter().product();
        if eight_bit && tensor.name.ends_with("_proj.weight") {
            taken_bytes(numbers) + taken_bytes(tensor.shape[0] * 4)
        } else {
            taken_bytes(numbers * 4)
        }
    };
    tensors.iter().map(of).fold(0, |sum, bytes| sum.saturating_add(bytes as u64))
}

/// The two halves for each module of each layer.
fn adapter_tensors(config: &Config, lora: &LoraConfig) -> Vec<Expected> {
    let AdapterSettings { rank, modules, .. } = AdapterSettings::new(lora);
    let adapted = |name: &str| {
        modules.iter().any(|&module| name.ends_with(&format!(".{}.weight", path_of(module))))
    };
    let bases = expected_tensors(config).into_iter().filter(|tensor| adapted(&tensor.name));
    let halves = bases.flat_map(|Expected { name, shape }| {
        let a = Expected { name: name.clone(), shape: vec![rank, shape[1]] };
        [a, Expected { name, shape: vec![shape[0], rank] }]
    });
    halves.collect()
}

/// Numbers of each kind of buffer for some tokens.
#[derive(Debug, Clone)]
struct Rows {
    tokens: usize,
    x: usize,
    qkv: usize,
    attended: usize,
    lse: usize,
    wide: usize,
    /// Between the halves of an adapter; 0 without one.
    narrow: usize,
    /// A second buffer for normed queries and keys.
    normed: usize,
    /// Weights of bytes as numbers, a piece at a time.
    unpacked: Moment,
}

impl Rows {
    fn new(config: &Config, tokens: usize) -> Self {
        let of = |width: usize| tokens.saturating_mul(width);
        Self {
            tokens,
            x: of(config.width),
            qkv: of(config.query_width() + 2 * config.kv_width()),
            attended: of(config.query_width()),
            lse: of(config.heads),
            wide: of(config.ffn),
            narrow: 0,
            normed: usize::from(config.qk_norm),
            unpacked: Moment::default(),
        }
    }

    fn with_narrow(self, rank: usize) -> Self {
        Self { narrow: self.tokens.saturating_mul(rank), ..self }
    }

    /// Pieces are taken one after another, so of each size there is one.
    fn with_bytes(self, config: &Config) -> Self {
        let (width, ffn) = (config.width, config.ffn);
        let (query, kv) = (config.query_width(), config.kv_width());
        let shapes = [(query, width), (kv, width), (width, query), (ffn, width), (width, ffn)];
        let one = |(outputs, inputs): (usize, usize)| {
            Moment::default().with(outputs.min(UNPACKED_ROWS) * inputs, 1)
        };
        let unpacked = shapes.map(one).iter().fold(Moment::default(), Moment::or);
        Self { unpacked, ..self }
    }

    /// Tokens, positions, rows and targets.
    fn batch_tables(&self, tables: Moment) -> Moment {
        tables.with(self.tokens, 4)
    }

    /// What a layer keeps beside its input.
    fn rest(&self, layers: usize) -> Moment {
        let Self { x, qkv, attended, lse, wide, .. } = *self;
        let one = [(qkv, 1), (attended, 1), (lse, 1), (x, 1), (wide, 2)];
        one.into_iter()
            .fold(Moment::default(), |all, (numbers, count)| all.with(numbers, count * layers))
    }

    /// The moments of a layer's way back, beside the inputs of all layers and the rest of those
    /// before it.
    fn backward(&self, before: &Moment) -> [Moment; 3] {
        let Self { x, qkv, attended, lse, wide, narrow, normed, .. } = *self;
        let whole = before.clone().and(&self.rest(1)).and(&self.unpacked);
        [
            whole.clone().with(x, 2).with(wide, 1).with(narrow, 2),
            whole.with(x, 3).with(narrow, 2),
            before
                .clone()
                .and(&self.unpacked)
                .with(x, 1)
                .with(qkv, 2 + normed)
                .with(attended, 2)
                .with(lse, 1)
                .with(narrow, 2),
        ]
    }

    /// The moments of a layer's way in sampling: nothing is kept but keys and values.
    fn sampling(&self) -> [Moment; 2] {
        let Self { x, qkv, attended, lse, wide, normed, .. } = *self;
        let attention = self.unpacked.clone().with(x, 1).with(qkv, 1 + normed);
        let network = self.unpacked.clone().with(x, 3).with(qkv, 1);
        [attention.with(attended, 1).with(lse, 1), network.with(attended, 1).with(wide, 3)]
    }
}

/// A forward and a backward, every token asked about. A trained head waits for the layers, and then
/// takes a sequence of this length at a time.
fn training(
    (rows, config): (&Rows, &Config),
    (keep, trained_head): (Keep, Option<usize>),
    trained: u64,
    plan: Plan,
) -> Plan {
    let inputs = Moment::default().with(rows.x, config.layers);
    let (kept, before) = match keep {
        Keep::Most => {
            let all = inputs.clone().and(&rows.rest(config.layers));
            (all, inputs.and(&rows.rest(config.layers.saturating_sub(1))))
        }
        Keep::Input => (inputs.clone(), inputs),
    };
    let chunk = |tokens: usize| logits_at_a_time(tokens, config.vocab);
    let head = kept.clone().with(rows.x, 4).with(rows.tokens, 4);
    let waits = usize::from(trained_head.is_some());
    let before = before.with(rows.x, waits).with(rows.tokens, 4 * waits);
    let moments = || rows.backward(&before).into_iter().chain([head.clone()]);
    let total = held(moments());
    let forward = kept.clone().with(rows.x, 3).with(chunk(rows.tokens), 1);
    let one = Moment::default().with(rows.x, 3).with(chunk(trained_head.unwrap_or(0)), 1);
    let logits = held(moments().chain([forward, one])).saturating_sub(total);
    let kept = kept.bytes();
    let (gradients, means) = (trained, trained.saturating_mul(2));
    Plan { gradients, means, kept, temporary: total.saturating_sub(kept), logits, ..plan }
}

/// Prompts, together no longer than one of these, then all sequences side by side. They end one by one, so that there is a
/// step of every number of rows.
fn inference(config: &Config, work: Work, plan: Plan) -> Plan {
    let prompt = Rows::new(config, work.length);
    let prompt = if work.eight_bit { prompt.with_bytes(config) } else { prompt };
    let steps = (1..=work.batch).map(|rows| Rows::new(config, rows));
    let moments = std::iter::once(prompt).chain(steps).flat_map(|rows| rows.sampling());
    let logits = (1..=work.batch).map(|rows| Moment::default().with(rows * config.vocab, 1));
    // The page that a prompt leaves half empty is there twice.
    let pages = work.batch.saturating_mul(work.length.div_ceil(PAGE) + 1);
    let half = pages.saturating_mul(PAGE * config.kv_width() * config.layers);
    let own = Moment::default().with(config.vocab, 1);
    Plan {
        temporary: held(moments),
        logits: held(logits.map(|moment| moment.and(&own))),
        cache: Moment::default().with(half, 2).bytes(),
        ..plan
    }
}
