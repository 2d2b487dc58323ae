//! `whet model new`: trains a tokenizer and creates an untrained model.

mod args;
mod corpus;
mod output;

use whetstone_core::Seed;
use whetstone_model::create::{CreateError, create};
use whetstone_model::tokenizer::Trainer;
use whetstone_model::{Config, ExportError, Tokenizer};

pub(crate) use self::args::DtypeArg;
pub(super) use self::args::NewArgs;
use self::corpus::Line;
use self::output::{CorpusInfo, Report};
use super::ModelFailure;
use crate::device;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Roles of a chat: one token each, if lines are chats.
const ROLES: [&str; 2] = ["user", "assistant"];

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

fn make(args: &NewArgs) -> Result<Report, ModelFailure> {
    // Before the corpus is read: training a tokenizer for nothing takes a while.
    if args.dir.symlink_metadata().is_ok() {
        return Err(CreateError::from(ExportError::Exists(args.dir.clone())).into());
    }
    let lines = corpus::read(&args.corpus)?;
    let tokenizer = train(&lines, args.vocab as usize)?;
    let measured = measure(&lines, &tokenizer)?;
    let config = write(args, &tokenizer)?;
    Ok(Report::new(args, &config, measured))
}

/// Trains on every line, and on the roles of the messages that it will be.
fn train(lines: &[Line], size: usize) -> Result<Tokenizer, ModelFailure> {
    let mut trainer = Trainer::new()?;
    for line in lines {
        for text in line.texts.iter().map(String::as_str).chain(ROLES) {
            trainer.add(text)?;
        }
    }
    Ok(trainer.train(size)?)
}

fn write(args: &NewArgs, tokenizer: &Tokenizer) -> Result<Config, ModelFailure> {
    let device = device::cpu(Some(1))?;
    let recipe = args.recipe(Seed::new(args.seed).derive("model", 0).get());
    Ok(create(&device, tokenizer, &recipe, &args.dir)?)
}

/// Lengths of the corpus lines in tokens.
fn measure(lines: &[Line], tokenizer: &Tokenizer) -> Result<CorpusInfo, ModelFailure> {
    let mut info = CorpusInfo { lines: lines.len(), ..CorpusInfo::default() };
    for line in lines {
        let mut tokens = 0;
        for text in &line.texts {
            info.bytes += text.len();
            tokens += tokenizer.encode(text)?.len();
        }
        info.tokens += tokens;
        info.longest_tokens = info.longest_tokens.max(tokens);
    }
    info.mean_tokens = output::mean(info.tokens, info.lines);
    Ok(info)
}
