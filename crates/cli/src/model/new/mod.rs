//! `whet model new`: trains a tokenizer and creates an untrained model.

mod args;
mod output;

use whetstone_core::Seed;
use whetstone_model::create::{CreateError, corpus, create};
use whetstone_model::{Config, ExportError, Tokenizer};
use whetstone_recipe::device;
use whetstone_recipe::failure::Failure;
use whetstone_recipe::model_failure::ModelFailure;

pub(crate) use self::args::DtypeArg;
pub(super) use self::args::NewArgs;
use self::output::{CorpusInfo, NewModelOutput};
use crate::exit::Exit;
use crate::printer::Printer;

/// Makes a model.
pub(super) fn run(args: &NewArgs, printer: Printer) -> anyhow::Result<Exit> {
    let report = make(args).map_err(Failure::Model)?;
    if args.json {
        printer.json(&report)?;
    } else {
        printer.raw(&report.text())?;
    }
    Ok(Exit::Done)
}

fn make(args: &NewArgs) -> Result<NewModelOutput, ModelFailure> {
    // Before the corpus is read: training a tokenizer for nothing takes a while.
    if args.dir.symlink_metadata().is_ok() {
        return Err(CreateError::from(ExportError::Exists(args.dir.clone())).into());
    }
    let lines = corpus::read(&args.corpus)?;
    let tokenizer = corpus::train(&lines, args.vocab as usize)?;
    let measured = CorpusInfo::new(lines.len(), corpus::measure(&lines, &tokenizer)?);
    let config = write(args, &tokenizer)?;
    Ok(NewModelOutput::new(args, &config, measured))
}

fn write(args: &NewArgs, tokenizer: &Tokenizer) -> Result<Config, ModelFailure> {
    let device = device::cpu(Some(1))?;
    let recipe = args.recipe(Seed::new(args.seed).derive("model", 0).get());
    Ok(create(&device, tokenizer, &recipe, &args.dir)?)
}
