//! A model described from its headers: sizes, parameters, and the memory that it takes.

use std::collections::BTreeMap;

use serde::Serialize;
use whetstone_core::config::LoraConfig;

use crate::config::{Config, Family, Scaling};
use crate::decoder::Keep;
use crate::layout::expected_tensors;
use crate::memory::{self, Plan, Purpose, Target, Work};
use crate::open::Pretrained;

/// The sizes and the parts of a model.
#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what a family leaves open, each a fact by itself"
)]
pub struct Architecture {
    /// Name of the family.
    pub family: &'static str,
    /// Decoder layers.
    pub layers: usize,
    /// Numbers in a hidden state.
    pub width: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Numbers in a head.
    pub head_size: usize,
    /// Numbers inside the network of a layer.
    pub ffn: usize,
    /// Rows of the embedding.
    pub vocabulary: usize,
    /// Tokens that the tokenizer has.
    pub tokens: usize,
    /// Whether the head is the embedding.
    pub tied_head: bool,
    /// Whether queries, keys and values have biases.
    pub qkv_bias: bool,
    /// Whether queries and keys are normed.
    pub qk_norm: bool,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// The scaling of the rotary frequencies, in words.
    pub rope_scaling: String,
    /// Positions of a sequence at most.
    pub context: usize,
    /// The token that begins a text.
    pub bos: Option<u32>,
    /// Tokens that end one.
    pub eos: Vec<u32>,
    /// Whether there is a chat template.
    pub chat_template: bool,
}

/// The storage of weights.
#[derive(Debug, Serialize)]
pub struct FileInfo {
    /// Bytes of the tensors.
    pub bytes: u64,
    /// Tensors of each type.
    pub dtypes: BTreeMap<&'static str, usize>,
}

/// Counts of parameters.
#[derive(Debug, Serialize)]
pub struct Parameters {
    /// All of them.
    pub total: usize,
    /// The embedding, and the head if it is another.
    pub embedding: usize,
    /// Those beside the embedding and the head.
    pub without_embedding: usize,
}

/// Bytes for each purpose at this batch and length.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// Sequences at a time.
    pub batch: usize,
    /// Tokens of each.
    pub length: usize,
    /// Rank of the adapter.
    pub lora_rank: u32,
    /// Whether projections are bytes with a scale a row.
    pub eight_bit: bool,
    /// A plan for each purpose.
    pub purposes: Vec<Bytes>,
}

/// Bytes that one purpose takes, by what they hold.
#[derive(Debug, Serialize)]
pub struct Bytes {
    /// Name of the purpose.
    pub purpose: &'static str,
    /// All of them.
    pub total: u64,
    /// Weights.
    pub weights: u64,
    /// Gradients.
    pub gradients: u64,
    /// Means of the optimizer.
    pub optimizer: u64,
    /// Activations that layers keep for the backward pass.
    pub kept: u64,
    /// Temporary buffers.
    pub temporary: u64,
    /// Logits.
    pub logits: u64,
    /// KV cache.
    pub keys_values: u64,
    /// Tables of rotary positions.
    pub tables: u64,
}

/// The work that memory is planned for.
#[derive(Debug, Clone, Copy)]
pub struct AskedMemory {
    /// Sequences at a time.
    pub batch: usize,
    /// Tokens of each.
    pub length: usize,
    /// Rank of the adapter.
    pub lora_rank: u32,
    /// Whether projections are bytes with a scale a row; they cannot be trained then.
    pub eight_bit: bool,
}

/// Describes the sizes and the parts of a model.
pub fn architecture(model: &Pretrained) -> Architecture {
    let config = &model.config;
    Architecture {
        family: match config.family {
            Family::Llama => "Llama",
            Family::Qwen2 => "Qwen2",
            Family::Qwen3 => "Qwen3",
        },
        layers: config.layers,
        width: config.width,
        heads: config.heads,
        kv_heads: config.kv_heads,
        head_size: config.head_dim,
        ffn: config.ffn,
        vocabulary: config.vocab,
        tokens: model.tokenizer.size(),
        tied_head: config.tied_head,
        qkv_bias: config.qkv_bias,
        qk_norm: config.qk_norm,
        rope_theta: config.rope.theta,
        rope_scaling: scaling(&config.rope.scaling),
        context: config.positions,
        bos: config.bos,
        eos: config.eos.clone(),
        chat_template: model.template.is_some(),
    }
}

fn scaling(scaling: &Scaling) -> String {
    match scaling {
        Scaling::None => "none".to_owned(),
        Scaling::Linear { factor } => format!("linear by {factor}"),
        Scaling::Llama3 { factor, original, .. } => format!("llama3 by {factor} from {original}"),
        Scaling::Yarn { factor, original, .. } => format!("yarn by {factor} from {original}"),
        Scaling::Factors(_) => "a factor for each pair".to_owned(),
    }
}

/// Counts the tensors of a model in its files.
pub fn file(model: &Pretrained) -> FileInfo {
    let mut file = FileInfo { bytes: 0, dtypes: BTreeMap::new() };
    for tensor in expected_tensors(&model.config) {
        if let Some(stored) = model.weights.tensor(&tensor.name) {
            file.bytes += stored.bytes();
            *file.dtypes.entry(stored.dtype().name()).or_default() += 1;
        }
    }
    file
}

/// Counts the parameters of a model.
pub fn parameters(config: &Config) -> Parameters {
    let numbers = |shape: &[usize]| shape.iter().product::<usize>();
    let total = expected_tensors(config).iter().map(|tensor| numbers(&tensor.shape)).sum();
    let tables = if config.tied_head { 1 } else { 2 };
    let embedding = tables * config.vocab * config.width;
    Parameters { total, embedding, without_embedding: total - embedding }
}

/// Plans the memory of inference and of each way to train, on the CPU.
pub fn memory(config: &Config, asked: AskedMemory) -> Memory {
    let AskedMemory { batch, length, lora_rank, eight_bit } = asked;
    let work = Work { batch, length, eight_bit, target: Target::Cpu };
    let lora = LoraConfig { rank: lora_rank, ..LoraConfig::default() };
    let mut purposes = vec![
        ("inference", Purpose::Inference),
        ("lora", Purpose::Lora(&lora, Keep::Most)),
        ("lora, recompute", Purpose::Lora(&lora, Keep::Input)),
    ];
    if !eight_bit {
        purposes.push(("full", Purpose::Full(Keep::Most)));
        purposes.push(("full, recompute", Purpose::Full(Keep::Input)));
    }
    let planned = |(purpose, of)| bytes(purpose, memory::plan(config, work, of));
    let purposes = purposes.into_iter().map(planned).collect();
    Memory { batch, length, lora_rank, eight_bit, purposes }
}

fn bytes(purpose: &'static str, plan: Plan) -> Bytes {
    let total = plan.total();
    let Plan { weights, gradients, means, kept, temporary, logits, cache, tables } = plan;
    Bytes {
        purpose,
        total,
        weights,
        gradients,
        optimizer: means,
        kept,
        temporary,
        logits,
        keys_values: cache,
        tables,
    }
}
