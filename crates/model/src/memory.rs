//! Bytes that a model takes on a device, counted before anything is loaded.
//!
//! Buffers come from a pool that reuses a buffer only for the same size, so in the end it holds, of
//! each size, the largest number that was ever in use at a time. Here work is a few [`Moment`]s,
//! each with the buffers that exist then; the list follows `decoder/layer/` and `decoder/step.rs`.
//! With `T` tokens, `R` requested positions, `n` layers, and per token `x` (a hidden state), `qkv`,
//! `a` (the attention output), `h` heads and `f` (the width of the feed-forward network):
//!
//! ```text
//! kept, Most    n · T · (2x + qkv + a + h + 2f)        Input    n · T · x, and the rest of one layer
//!               on CUDA also normed queries and keys
//! back, head    R · 4x and R · 4, and the logits of a chunk of rows
//! back, network T · (3x + f), and two narrow products of an adapter
//! back, heads   T · (x + qkv + a), and once more qkv if queries and keys are normed
//! trained head  R · x and R · 4 while layers go back, then the logits of one sequence
//! sampling      T · (3x + qkv + a + 3f) for a prompt, the same and logits for each row of a step
//! ```
//!
//! On CUDA what flows through layers takes two bytes, a number that is trained six (f32 and what
//! products take) and one that is frozen two. Layers keep the narrow products of adapters. A product that is added to a result exists in f32 for a
//! moment, and logits of up to 1024 rows and the whole vocabulary exist at a time.
//!
//! Not counted: strips of attention and packed blocks of products (a few megabytes a thread), the
//! tokenizer, and the program itself. Batches of many different lengths hold more than one of each
//! size.

// size: the moments of training and of sampling, on both kinds of devices, are one list that follows
// the layers; apart they would drift.

use std::collections::BTreeMap;

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_kernels::buffer::{taken_bytes, taken_bytes_on_cuda};
use whetstone_kernels::head::{logits_at_a_time, logits_at_a_time_on_cuda};
use whetstone_kernels::linear::UNPACKED_ROWS;

use crate::adapter::{AdapterSettings, path_of};
use crate::config::Config;
use crate::decoder::{Keep, PAGE};
use crate::layout::{ExpectedTensor, expected_tensors};

/// The use of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Purpose<'a> {
    /// Sampling: as many sequences as the batch at a time, each with its keys and values.
    Inference,
    /// Training an adapter beside frozen weights.
    Lora(&'a LoraConfig, Keep),
    /// Training every weight.
    Full(Keep),
}

/// For which kind of device it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Target {
    /// Processors.
    #[default]
    Cpu,
    /// A GPU of NVIDIA's.
    Cuda,
}

/// Memory of a GPU besides buffers: the driver's context, kernels, and workspace of products.
pub const CUDA_OVERHEAD_BYTES: u64 = 1 << 30;

impl Target {
    /// The kind of a device.
    pub fn of(device: &Device) -> Self {
        match device {
            Device::Cpu(_) => Self::Cpu,
            Device::Cuda(_) => Self::Cuda,
        }
    }

    fn activation_bytes(self) -> usize {
        match self {
            Self::Cpu => 4,
            Self::Cuda => 2,
        }
    }

    /// The allocated size of a buffer of `bytes` bytes.
    fn taken(self, bytes: usize) -> usize {
        match self {
            Self::Cpu => taken_bytes(bytes),
            Self::Cuda => taken_bytes_on_cuda(bytes),
        }
    }
}

/// The amount of concurrent work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Sequences.
    pub batch: usize,
    /// Tokens of each, prompt and completion together.
    pub length: usize,
    /// Whether projections are bytes.
    pub eight_bit: bool,
    /// The device.
    pub target: Target,
}

/// Bytes by purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    /// The model's numbers, an adapter's included.
    pub weights: u64,
    /// One number for each that is trained.
    pub gradients: u64,
    /// The optimizer's two means for each number that is trained.
    pub means: u64,
    /// Activations saved for the backward pass.
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

/// The memory of `purpose`. Full training of an int8 model is counted as that of an unquantised
/// one.
pub fn plan(config: &Config, work: Work, purpose: Purpose<'_>) -> Plan {
    let target = work.target;
    let rows = BufferSizes::new(config, work.batch.saturating_mul(work.length), target);
    let tables = Moment::new(target).exact(work.length * config.head_dim / 2, 2);
    let frozen = if work.eight_bit { TensorStorage::Int8 } else { TensorStorage::Frozen };
    match purpose {
        Purpose::Inference => {
            let weights = weights(&expected_tensors(config), frozen, target);
            inference(config, work, Plan { weights, tables: tables.bytes(), ..Plan::default() })
        }
        Purpose::Lora(lora, keep) => {
            let adapter = adapter_tensors(config, lora);
            let base = weights(&expected_tensors(config), frozen, target);
            let trained = weights(&adapter, TensorStorage::Exact, target);
            let rows = rows.with_narrow(lora.rank as usize);
            let rows = if work.eight_bit { rows.with_bytes(config) } else { rows };
            let weights = base.saturating_add(weights(&adapter, TensorStorage::Trained, target));
            let tables = rows.batch_tables(tables).bytes();
            let training = TrainingPass { rows: &rows, config, keep, trained_head: None };
            training.plan(trained, Plan { weights, tables, ..Plan::default() })
        }
        Purpose::Full(keep) => {
            let all = expected_tensors(config);
            let trained = weights(&all, TensorStorage::Exact, target);
            let weights = weights(&all, TensorStorage::Trained, target);
            let tables = rows.batch_tables(tables).bytes();
            let trained_head = Some(work.length);
            let training = TrainingPass { rows: &rows, config, keep, trained_head };
            training.plan(trained, Plan { weights, tables, ..Plan::default() })
        }
    }
}

/// Buffers that exist at a moment: how many of each size that the pool has.
#[derive(Debug, Clone, Default)]
struct Moment {
    target: Target,
    sizes: BTreeMap<usize, u64>,
}

impl Moment {
    fn new(target: Target) -> Self {
        Self { target, sizes: BTreeMap::new() }
    }

    /// Adds `count` buffers of activations.
    fn with(self, numbers: usize, count: usize) -> Self {
        let bytes = self.target.activation_bytes();
        self.of_bytes(numbers.saturating_mul(bytes), count)
    }

    /// Adds `count` buffers of four-byte values, on any device.
    fn exact(self, numbers: usize, count: usize) -> Self {
        self.of_bytes(numbers.saturating_mul(4), count)
    }

    fn of_bytes(mut self, bytes: usize, count: usize) -> Self {
        if bytes > 0 && count > 0 {
            *self.sizes.entry(self.target.taken(bytes)).or_default() += count as u64;
        }
        self
    }

    fn and(mut self, other: &Self) -> Self {
        for (&size, count) in &other.sizes {
            *self.sizes.entry(size).or_default() += count;
        }
        self
    }

    /// Of each size the larger number.
    fn or(mut self, other: &Self) -> Self {
        for (&size, &count) in &other.sizes {
            let here = self.sizes.entry(size).or_default();
            *here = count.max(*here);
        }
        self
    }

    fn bytes(&self) -> u64 {
        let sizes = self.sizes.iter().map(|(&size, &count)| (size as u64).saturating_mul(count));
        sizes.fold(0, u64::saturating_add)
    }
}

/// Bytes that a pool holds after all of these moments.
fn held(moments: impl IntoIterator<Item = Moment>) -> u64 {
    moments.into_iter().reduce(|all, moment| all.or(&moment)).unwrap_or_default().bytes()
}

/// The storage of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TensorStorage {
    /// As f32: gradients and means.
    Exact,
    /// To be trained.
    Trained,
    /// As products take them.
    Frozen,
    /// Projections as int8 with a scale per row, the rest as `Frozen`.
    Int8,
}

fn weights(tensors: &[ExpectedTensor], stored: TensorStorage, target: Target) -> u64 {
    let of = |tensor: &ExpectedTensor| {
        let numbers: usize = tensor.shape.iter().product();
        let exact = target.taken(numbers * 4);
        let copy = target.taken(numbers * target.activation_bytes());
        match (stored, target) {
            (TensorStorage::Int8, _) if tensor.name.ends_with("_proj.weight") => {
                target.taken(numbers) + target.taken(tensor.shape[0] * 4)
            }
            (TensorStorage::Trained, Target::Cuda) => exact + copy,
            (TensorStorage::Exact | TensorStorage::Trained, _) => exact,
            (TensorStorage::Frozen | TensorStorage::Int8, _) => copy,
        }
    };
    tensors.iter().map(of).fold(0, |sum, bytes| sum.saturating_add(bytes as u64))
}

/// The two halves for each module of each layer.
fn adapter_tensors(config: &Config, lora: &LoraConfig) -> Vec<ExpectedTensor> {
    let AdapterSettings { rank, modules, .. } = AdapterSettings::new(lora);
    let adapted = |name: &str| {
        modules.iter().any(|&module| name.ends_with(&format!(".{}.weight", path_of(module))))
    };
    let bases = expected_tensors(config).into_iter().filter(|tensor| adapted(&tensor.name));
    let halves = bases.flat_map(|ExpectedTensor { name, shape }| {
        let a = ExpectedTensor { name: name.clone(), shape: vec![rank, shape[1]] };
        [a, ExpectedTensor { name, shape: vec![shape[0], rank] }]
    });
    halves.collect()
}

/// Numbers of each kind of buffer for some tokens.
#[derive(Debug, Clone)]
struct BufferSizes {
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
    /// Numbers of normed and rotated queries and keys that a layer saves; 0 where they are recomputed.
    rotated: usize,
    /// Weights of bytes as numbers, a piece at a time.
    unpacked: Moment,
    /// Results in f32 of products that are added to others.
    added: Moment,
    target: Target,
}

impl BufferSizes {
    fn new(config: &Config, tokens: usize, target: Target) -> Self {
        let of = |width: usize| tokens.saturating_mul(width);
        let added = match target {
            Target::Cpu => Moment::new(target),
            // Of an adapter's second halves, and of what goes beside a residual.
            Target::Cuda => [config.width, config.query_width(), config.kv_width(), config.ffn]
                .into_iter()
                .fold(Moment::new(target), |all, width| {
                    all.or(&Moment::new(target).exact(of(width), 1))
                }),
        };
        Self {
            tokens,
            x: of(config.width),
            qkv: of(config.query_width() + 2 * config.kv_width()),
            attended: of(config.query_width()),
            lse: of(config.heads),
            wide: of(config.ffn),
            narrow: 0,
            normed: usize::from(config.qk_norm),
            rotated: match target {
                Target::Cuda if config.qk_norm => of(config.query_width() + config.kv_width()),
                _ => 0,
            },
            unpacked: Moment::new(target),
            added,
            target,
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
        let target = self.target;
        let one = |(outputs, inputs): (usize, usize)| {
            // A GPU unpacks a weight at once.
            let rows = if target == Target::Cpu { outputs.min(UNPACKED_ROWS) } else { outputs };
            Moment::new(target).with(rows * inputs, 1)
        };
        let unpacked = shapes.map(one).iter().fold(Moment::new(target), Moment::or);
        Self { unpacked, ..self }
    }

    /// Tokens, positions, rows and targets.
    fn batch_tables(&self, tables: Moment) -> Moment {
        tables.exact(self.tokens, 4)
    }

    /// The activations that a layer saves besides its input.
    fn rest(&self, layers: usize) -> Moment {
        let Self { x, qkv, attended, lse, wide, narrow, rotated, .. } = *self;
        // The narrow products of three, two and one adapters, with fused projections.
        let fused = usize::from(self.target == Target::Cuda && narrow > 0);
        let of = |adapters: usize| (narrow.saturating_mul(adapters), fused);
        let one = [(qkv, 1), (rotated, 1), (attended, 1), (x, 1), (wide, 2), of(3), of(2), of(1)];
        let start = Moment::new(self.target).exact(lse, layers);
        one.into_iter().fold(start, |all, (numbers, count)| all.with(numbers, count * layers))
    }

    /// The moments of a layer's way back, beside the inputs of all layers and the rest of those
    /// before it.
    fn backward(&self, before: &Moment) -> [Moment; 3] {
        let Self { x, qkv, attended, lse, wide, narrow, normed, rotated, .. } = *self;
        // Normed queries and keys with the values, where they are recomputed.
        let again = if rotated == 0 { normed } else { 0 };
        let before = before.clone().and(&self.added);
        let whole = before.clone().and(&self.rest(1)).and(&self.unpacked);
        [
            whole.clone().with(x, 2).with(wide, 1).with(narrow, 2),
            whole.with(x, 3).with(narrow, 2),
            before
                .and(&self.unpacked)
                .with(x, 1)
                .with(qkv, 2 + again)
                .with(rotated, 1)
                .with(attended, 2)
                .exact(lse, 1)
                .with(narrow, 2),
        ]
    }

    /// The moments of a layer's way in sampling: nothing is kept but keys and values.
    fn sampling(&self) -> [Moment; 2] {
        let Self { x, qkv, attended, lse, wide, normed, .. } = *self;
        let start = self.unpacked.clone().and(&self.added);
        let attention = start.clone().with(x, 1).with(qkv, 1 + normed);
        let network = start.with(x, 3).with(qkv, 1);
        [attention.with(attended, 1).exact(lse, 1), network.with(attended, 1).with(wide, 3)]
    }
}

/// A forward and a backward, every token asked about.
#[derive(Debug, Clone, Copy)]
struct TrainingPass<'a> {
    rows: &'a BufferSizes,
    config: &'a Config,
    keep: Keep,
    /// A trained head waits for the layers, and then takes a sequence of this length at a time.
    trained_head: Option<usize>,
}

impl TrainingPass<'_> {
    /// Adds the memory of training to `plan`; `trained` is the size of the trained parameters in
    /// bytes.
    fn plan(self, trained: u64, plan: Plan) -> Plan {
        let Self { rows, config, keep, trained_head } = self;
        let target = rows.target;
        let inputs = Moment::new(target).with(rows.x, config.layers);
        let (kept, before) = match keep {
            Keep::Most => {
                let all = inputs.clone().and(&rows.rest(config.layers));
                (all, inputs.and(&rows.rest(config.layers.saturating_sub(1))))
            }
            Keep::Input => (inputs.clone(), inputs),
        };
        let chunk = |moment: Moment, tokens: usize| match target {
            Target::Cpu => moment.exact(logits_at_a_time(tokens, config.vocab), 1),
            Target::Cuda => {
                let logits = logits_at_a_time_on_cuda(tokens, config.vocab);
                moment.exact(logits, 1).with(logits, 1)
            }
        };
        let head = kept.clone().with(rows.x, 4).exact(rows.tokens, 4);
        let waits = usize::from(trained_head.is_some());
        let before = before.with(rows.x, waits).exact(rows.tokens, 4 * waits);
        let moments = || rows.backward(&before).into_iter().chain([head.clone()]);
        let total = held(moments());
        let forward = chunk(kept.clone().with(rows.x, 3), rows.tokens);
        let one = chunk(Moment::new(target).with(rows.x, 3), trained_head.unwrap_or(0));
        let logits = held(moments().chain([forward, one])).saturating_sub(total);
        let kept = kept.bytes();
        let (gradients, means) = (trained, trained.saturating_mul(2));
        Plan { gradients, means, kept, temporary: total.saturating_sub(kept), logits, ..plan }
    }
}

/// Bytes of a page of the KV cache over all layers, keys and values together.
pub fn page_bytes(config: &Config, target: Target) -> u64 {
    (2 * PAGE * config.kv_width() * config.layers * target.activation_bytes()) as u64
}

/// Tokens of prompts that go through a GPU together, at most.
pub const TOGETHER_ON_CUDA: usize = 8192;

/// Prompts, together no longer than one of these, then all sequences side by side. They end one by one, so that there is a
/// step of every number of rows.
fn inference(config: &Config, work: Work, plan: Plan) -> Plan {
    let target = work.target;
    let together = match target {
        Target::Cpu => work.length,
        Target::Cuda => {
            work.length.max(TOGETHER_ON_CUDA.min(work.batch.saturating_mul(work.length)))
        }
    };
    let prompt = BufferSizes::new(config, together, target);
    let prompt = if work.eight_bit { prompt.with_bytes(config) } else { prompt };
    let steps = (1..=work.batch).map(|rows| BufferSizes::new(config, rows, target));
    let moments = std::iter::once(prompt).chain(steps).flat_map(|rows| rows.sampling());
    let logits = (1..=work.batch).map(|rows| Moment::new(target).exact(rows * config.vocab, 1));
    // The page that a prompt leaves half empty is there twice.
    let pages = work.batch.saturating_mul(work.length.div_ceil(PAGE) + 1);
    let half = pages.saturating_mul(PAGE * config.kv_width() * config.layers);
    let own = Moment::new(target).exact(config.vocab, 1);
    Plan {
        temporary: held(moments),
        logits: held(logits.map(|moment| moment.and(&own))),
        cache: Moment::new(target).with(half, 2).bytes(),
        ..plan
    }
}
