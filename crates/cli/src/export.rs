//! `whet export`: a model with its adapter worked into it, as a directory that other tools load.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use whetstone_core::config::Config;
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_model::weights::Dtype;
use whetstone_model::{ExportOptions, Pretrained};

use crate::device;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::model::find::{self, Around};
use crate::model::{DtypeArg, ModelFailure, open};
use crate::printer::Printer;

/// `whet export`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ExportArgs {
    /// The model: a directory, a .gguf file, an adapter or a run that training left, a name of the
    /// hub, or `embedded`
    #[arg(value_name = "MODEL")]
    pub model: String,

    /// The adapter that is worked into it, e.g. `runs/grpo-1/outputs/final_model`
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

The adapter itself is already a directory that PEFT loads; this is for tools that want one model.";

#[derive(Serialize)]
struct Report {
    model: String,
    parameters: usize,
}

/// Writes the model.
pub(crate) fn run(args: &ExportArgs, printer: Printer) -> anyhow::Result<Exit> {
    let around = Around::of(&Config::default(), printer);
    let found = find::find(&args.model, &around)?.with_adapter(args.adapter.as_deref())?;
    let model = open(&found.model).map_err(Failure::Model)?;
    if let Some(base) = &args.base_model {
        let (decoder, settings) = load(&model, found.adapter.as_deref()).map_err(Failure::Model)?;
        let settings = settings.map(|known| AdapterSettings { base: Some(base.clone()), ..known });
        return adapter(args, &decoder, settings.as_ref(), printer);
    }
    let decoder = load(&model, found.adapter.as_deref()).map_err(Failure::Model)?.0;
    let options = ExportOptions { dtype: args.dtype.into(), ..ExportOptions::default() };
    decoder
        .export_merged(&model, &args.out, options)
        .map_err(|err| Failure::Model(ModelFailure::Export(err)))?;
    let (parameters, _) = decoder.parameters().count();
    if args.json {
        printer.json(&Report { model: args.out.display().to_string(), parameters })?;
    } else {
        printer.data(args.out.display())?;
    }
    Ok(Exit::Done)
}

/// Writes the adapter itself.
fn adapter(
    args: &ExportArgs,
    decoder: &Decoder,
    settings: Option<&AdapterSettings>,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let Some(settings) = settings else {
        return Err(Failure::Usage {
            problem: "`--base-model` names the base of an adapter, and this model has no adapter",
            hint: "name an adapter or a run, or leave `--base-model` out",
        }
        .into());
    };
    decoder
        .export_adapter(settings, &args.out, Dtype::F32)
        .map_err(|err| Failure::Model(ModelFailure::Export(err)))?;
    let (_, parameters) = decoder.parameters().count();
    if args.json {
        printer.json(&Report { model: args.out.display().to_string(), parameters })?;
    } else {
        printer.data(args.out.display())?;
    }
    Ok(Exit::Done)
}

fn load(
    model: &Pretrained,
    adapter: Option<&Path>,
) -> Result<(Decoder, Option<AdapterSettings>), ModelFailure> {
    let device = device::cpu(Some(1))?;
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 1 };
    let mut decoder = Decoder::load(&device, &model.config, model.weights.as_ref(), options)?;
    let settings = adapter.map(|dir| decoder.load_adapter(dir)).transpose()?;
    Ok((decoder, settings))
}
