//! `whet model`: what a model is, and opening one for the commands that use it.

mod failure;
mod info;
mod table;

use std::path::Path;

use clap::Subcommand;
use whetstone_model::Pretrained;

pub(crate) use self::failure::ModelFailure;
use self::info::InfoArgs;
use crate::exit::Exit;
use crate::printer::Printer;

/// `whet model …`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Say what a model is, and what memory it takes to sample from it and to train it
    ///
    /// Reads headers and the tokenizer, no weights. Memory is counted for the CPU, where everything
    /// is computed in f32: so that a machine that is too small is known before it is tried.
    Info(InfoArgs),
}

/// Runs one of them.
pub(crate) fn run(command: &ModelCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        ModelCommand::Info(args) => info::run(args, printer),
    }
}

/// Opens a model on this machine.
pub(crate) fn open(path: &Path) -> Result<Pretrained, ModelFailure> {
    if !path.exists() {
        return Err(ModelFailure::NotHere { path: path.to_owned() });
    }
    Ok(whetstone_model::open(path)?)
}
