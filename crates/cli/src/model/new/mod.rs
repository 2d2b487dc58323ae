//! `whet model new`: trains a tokenizer and creates an untrained model.

mod args;
mod output;

use whetstone_model::ExportError;
use whetstone_model::create::{CreateError, corpus};
use whetstone_recipe::failure::Failure;
use whetstone_recipe::model_failure::ModelFailure;
use whetstone_recipe::new_model;

pub(crate) use self::args::DtypeArg;
pub(super) use self::args::NewArgs;
use self::output::{CorpusInfo, NewModelOutput};
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::Printer;

/// Makes a model.
pub(super) fn run(args: &NewArgs, printer: Printer) -> anyhow::Result<Exit> {
    let report = make(args).map_err(Failure::Model)?;
    if args.json {
        printer.json(&report)?;
    } else {
        printer.raw(&report.text())?;
        let setting = format!("student.model_name={}", args.dir.display());
        NextCommand::whet("train sft --run sft-1 --set").word(&setting).say(printer);
    }
    Ok(Exit::Done)
}

fn make(args: &NewArgs) -> Result<NewModelOutput, ModelFailure> {
    // Before the corpus is read: training a tokenizer for nothing takes a while.
    if args.dir.symlink_metadata().is_ok() {
        return Err(CreateError::from(ExportError::Exists(args.dir.clone())).into());
    }
    let made = new_model::make(&args.request())?;
    let lengths = corpus::measure(&made.lines, &made.tokenizer)?;
    Ok(NewModelOutput::new(args, &made.config, CorpusInfo::new(made.lines.len(), lengths)))
}
