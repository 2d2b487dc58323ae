//! `whet model info`: reads a model's headers, and computes its memory needs.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use whetstone_core::config::{LoraConfig, TrainingConfig};
use whetstone_model::config::Scaling;
use whetstone_model::decoder::Keep;
use whetstone_model::memory::{self, Plan, Purpose, Target, Work};
use whetstone_model::{Config, Pretrained, expected_tensors};

use super::find::{self, Around};
use super::{ModelFailure, open, table};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Default length of a sequence in tokens.
const LENGTH: usize = 1024;

/// `whet model info`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct InfoArgs {
    /// The model: a directory, a .gguf file, an adapter or a run that training left, a name of the
    /// hub, or `embedded`
    #[arg(value_name = "MODEL")]
    pub model: String,

    /// Sequences at a time
    #[arg(long, value_name = "N", default_value_t = TrainingConfig::default().per_device_train_batch_size, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: u32,

    /// Tokens of each, prompt and completion together [default: 1024, or all that the model can]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 27))]
    pub length: Option<u32>,

    /// Rank of the adapter, which every projection gets
    #[arg(long, value_name = "N", default_value_t = LoraConfig::default().rank, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub lora_rank: u32,

    /// Count projections as bytes with a scale a row; they cannot be trained then
    #[arg(long = "8bit")]
    pub eight_bit: bool,

    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Memory is what buffers will take; beside it stand the tokenizer and the program (some tens of
megabytes). Sampling counts as many prompts as the batch, each of the given length and with keys and
values of its own; samples of one prompt share its part. Training counts weights, gradients, both
means of AdamW and what layers keep; \"recompute\" keeps only their inputs, for a third more work.

Examples:
  whet model info models/SmolLM2-135M-Instruct --batch 4 --length 256
  whet model info Qwen3-1.7B-Q8_0.gguf --lora-rank 16 --8bit --json

Exit codes: 0 done, 2 wrong usage or model, 3 something broke.";

/// The description of a model.
#[derive(Debug, Serialize)]
pub(super) struct Info {
    v: u32,
    pub(super) model: String,
    pub(super) architecture: Architecture,
    pub(super) file: FileInfo,
    pub(super) parameters: Parameters,
    pub(super) memory: Memory,
}

#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what a family leaves open, each a fact by itself"
)]
pub(super) struct Architecture {
    pub(super) family: &'static str,
    pub(super) layers: usize,
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_size: usize,
    pub(super) ffn: usize,
    pub(super) vocabulary: usize,
    pub(super) tokens: usize,
    pub(super) tied_head: bool,
    pub(super) qkv_bias: bool,
    pub(super) qk_norm: bool,
    pub(super) rope_theta: f64,
    pub(super) rope_scaling: String,
    pub(super) context: usize,
    pub(super) bos: Option<u32>,
    pub(super) eos: Vec<u32>,
    pub(super) chat_template: bool,
}

/// The storage of weights.
#[derive(Debug, Serialize)]
pub(super) struct FileInfo {
    pub(super) bytes: u64,
    /// Tensors of each type.
    pub(super) dtypes: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Serialize)]
pub(super) struct Parameters {
    pub(super) total: usize,
    /// The embedding, and the head if it is another.
    pub(super) embedding: usize,
    pub(super) without_embedding: usize,
}

/// Bytes for each purpose at this batch and length.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    pub(super) batch: usize,
    pub(super) length: usize,
    pub(super) lora_rank: u32,
    pub(super) eight_bit: bool,
    pub(super) purposes: Vec<Bytes>,
}

#[derive(Debug, Serialize)]
pub(super) struct Bytes {
    pub(super) purpose: &'static str,
    pub(super) total: u64,
    pub(super) weights: u64,
    pub(super) gradients: u64,
    pub(super) optimizer: u64,
    pub(super) kept: u64,
    pub(super) temporary: u64,
    pub(super) logits: u64,
    pub(super) keys_values: u64,
    pub(super) tables: u64,
}

/// Prints the description of a model.
pub(super) fn run(args: &InfoArgs, printer: Printer) -> anyhow::Result<Exit> {
    let settings = whetstone_core::config::Config::default();
    let found = find::find(&args.model, &Around::of(&settings, printer))?;
    let model = open(&found.model).map_err(Failure::Model)?;
    let memory = memory(args, &model.config).map_err(Failure::Model)?;
    let info = Info {
        v: 1,
        model: args.model.clone(),
        architecture: architecture(&model),
        file: file(&model),
        parameters: parameters(&model.config),
        memory,
    };
    if args.json {
        printer.json(&info)?;
    } else {
        printer.raw(&table::text(&info))?;
    }
    Ok(Exit::Done)
}

fn architecture(model: &Pretrained) -> Architecture {
    let config = &model.config;
    Architecture {
        family: match config.family {
            whetstone_model::Family::Llama => "Llama",
            whetstone_model::Family::Qwen2 => "Qwen2",
            whetstone_model::Family::Qwen3 => "Qwen3",
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

fn file(model: &Pretrained) -> FileInfo {
    let mut file = FileInfo { bytes: 0, dtypes: BTreeMap::new() };
    for tensor in expected_tensors(&model.config) {
        if let Some(stored) = model.weights.tensor(&tensor.name) {
            file.bytes += stored.bytes();
            *file.dtypes.entry(stored.dtype().name()).or_default() += 1;
        }
    }
    file
}

fn parameters(config: &Config) -> Parameters {
    let numbers = |shape: &[usize]| shape.iter().product::<usize>();
    let total = expected_tensors(config).iter().map(|tensor| numbers(&tensor.shape)).sum();
    let tables = if config.tied_head { 1 } else { 2 };
    let embedding = tables * config.vocab * config.width;
    Parameters { total, embedding, without_embedding: total - embedding }
}

fn memory(args: &InfoArgs, config: &Config) -> Result<Memory, ModelFailure> {
    let (asked, made_for) = (args.length.map(|length| length as usize), config.positions);
    if let Some(asked) = asked.filter(|&asked| asked > made_for) {
        return Err(ModelFailure::Context { asked, made_for });
    }
    let length = asked.unwrap_or(LENGTH.min(made_for));
    let work =
        Work { batch: args.batch as usize, length, eight_bit: args.eight_bit, target: Target::Cpu };
    let lora = LoraConfig { rank: args.lora_rank, ..LoraConfig::default() };
    let mut purposes = vec![
        ("inference", Purpose::Inference),
        ("lora", Purpose::Lora(&lora, Keep::Most)),
        ("lora, recompute", Purpose::Lora(&lora, Keep::Input)),
    ];
    if !args.eight_bit {
        purposes.push(("full", Purpose::Full(Keep::Most)));
        purposes.push(("full, recompute", Purpose::Full(Keep::Input)));
    }
    let planned = |(purpose, of)| bytes(purpose, memory::plan(config, work, of));
    Ok(Memory {
        batch: work.batch,
        length,
        lora_rank: args.lora_rank,
        eight_bit: args.eight_bit,
        purposes: purposes.into_iter().map(planned).collect(),
    })
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
