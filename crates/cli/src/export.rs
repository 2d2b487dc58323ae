//! `whet export`: a model with its adapter merged, as a directory that other tools load.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use whetstone_recipe::export::{self, ExportRequest};

use crate::exit::Exit;
use crate::model::DtypeArg;
use crate::next::NextCommand;
use crate::printer::Printer;

/// `whet export`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ExportArgs {
    /// The model: a directory, a .gguf file, an adapter or a run that training left, a name of the
    /// hub, or `embedded`
    #[arg(value_name = "MODEL")]
    pub model: String,

    /// The adapter to merge, e.g. `runs/grpo-1/outputs/final_model`
    #[arg(long, value_name = "DIR")]
    pub adapter: Option<PathBuf>,

    /// Output: a directory that does not exist yet
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Write the adapter itself instead, for PEFT on this base: a name of the hub, or a directory
    ///
    /// For an adapter that was trained on a GGUF file, which PEFT cannot load: it belongs on the
    /// safetensors that the file was made from.
    #[arg(long, value_name = "NAME", conflicts_with = "dtype")]
    pub base_model: Option<String>,

    /// Type of the stored weights
    #[arg(long, value_enum, value_name = "TYPE", default_value_t = DtypeArg::Bf16)]
    pub dtype: DtypeArg,

    /// An evaluation whose figures go into the model card, e.g. `eval/grpo-1`; can be given several times
    #[arg(long = "eval", value_name = "DIR")]
    pub evaluations: Vec<PathBuf>,

    /// Print one JSON document instead
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  whet export grpo-1 --out models/sharper
  whet export models/student --adapter runs/grpo-1/outputs/final_model --out models/sharper
  whet export runs/sft-1/outputs/final_model --out models/small --dtype bf16
  whet export grpo-1 --base-model Qwen/Qwen3-1.7B --out adapters/sharper
  whet export grpo-1 --eval eval/grpo-1 --out models/sharper    with pass@k in its README.md

The adapter itself is already a directory that PEFT loads; this is for tools that want one model.
Every exported directory has a model card, README.md.";

#[derive(Serialize)]
struct ExportOutput {
    model: String,
    parameters: usize,
}

/// Writes the model.
pub(crate) fn run(args: &ExportArgs, printer: Printer) -> anyhow::Result<Exit> {
    let request = ExportRequest {
        model: &args.model,
        adapter: args.adapter.as_deref(),
        out: &args.out,
        base_model: args.base_model.as_deref(),
        dtype: args.dtype.into(),
        evaluations: &args.evaluations,
    };
    let parameters = export::run(&request, &printer)?;
    if args.json {
        printer.json(&ExportOutput { model: args.out.display().to_string(), parameters })?;
    } else {
        printer.data(args.out.display())?;
        // An adapter for another base is for PEFT.
        if args.base_model.is_none() {
            NextCommand::whet("model info").path(&args.out).say(printer);
        }
    }
    Ok(Exit::Done)
}
