//! `whet model info`: reads a model's headers, and computes its memory needs.

use clap::Args;
use serde::Serialize;
use whetstone_core::config::{LoraConfig, TrainingConfig};
use whetstone_model::Config;
use whetstone_model::describe::{self, Architecture, AskedMemory, FileInfo, Memory, Parameters};
use whetstone_recipe::failure::Failure;
use whetstone_recipe::find::{Around, find};
use whetstone_recipe::model_failure::ModelFailure;

use super::table;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::Printer;

/// Default length of a sequence in tokens.
const LENGTH: usize = 1024;

/// `whet model info`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct InfoArgs {
    /// The model: a directory, a .gguf file, an adapter, a run, a name on the hub, or `embedded`
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

/// Prints the description of a model.
pub(super) fn run(args: &InfoArgs, printer: Printer) -> anyhow::Result<Exit> {
    let settings = whetstone_core::config::Config::default();
    let found = find(&args.model, &Around::of(&settings, &printer))?;
    let model = found.open().map_err(Failure::Model)?;
    let memory = memory(args, &model.config).map_err(Failure::Model)?;
    let info = Info {
        v: 1,
        model: args.model.clone(),
        architecture: describe::architecture(&model),
        file: describe::file(&model),
        parameters: describe::parameters(&model.config),
        memory,
    };
    if args.json {
        printer.json(&info)?;
    } else {
        printer.raw(&table::text(&info))?;
        NextCommand::whet("bench").word(&args.model).say(printer);
    }
    Ok(Exit::Done)
}

fn memory(args: &InfoArgs, config: &Config) -> Result<Memory, ModelFailure> {
    let (asked, made_for) = (args.length.map(|length| length as usize), config.positions);
    if let Some(asked) = asked.filter(|&asked| asked > made_for) {
        return Err(ModelFailure::Context { asked, made_for });
    }
    let asked = AskedMemory {
        batch: args.batch as usize,
        length: asked.unwrap_or(LENGTH.min(made_for)),
        lora_rank: args.lora_rank,
        eight_bit: args.eight_bit,
    };
    Ok(describe::memory(config, asked))
}
