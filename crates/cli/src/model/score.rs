//! `whet model score`: preference pairs scored by a reward model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use whetstone_core::config::DeviceChoice;
use whetstone_recipe::reward_scoring::{self, ScoreRequest, lines};
use whetstone_train::reward_model::PairFigures;

use crate::exit::Exit;
use crate::printer::Printer;

/// `whet model score`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ScoreArgs {
    /// The reward model: a run of `whet train rm`, or its `outputs/final_model`
    #[arg(value_name = "REWARD_MODEL")]
    pub reward_model: String,

    /// Preference pairs, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub pairs: PathBuf,

    /// Write the scores of every pair here, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Pairs at a time
    #[arg(long, value_name = "N", default_value = "4")]
    pub batch: NonZeroUsize,

    /// Device: `cpu`, `cuda:N`, or `auto`
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Cpu)]
    pub device: DeviceChoice,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  whet model score runs/rm-1 --pairs data/pairs.val.jsonl
  whet model score runs/rm-1 --pairs data/pairs.val.jsonl --out scores.jsonl --json

A line of `--out` is {\"v\":1,\"id\":…,\"chosen\":…,\"rejected\":…}; pairs longer than the model's context are
left out and counted. `docs/guides/reward-models.md` defines the figures.

Exit codes: 0 done, 2 wrong usage, pairs or reward model, 3 something broke.";

#[derive(Serialize)]
struct ScoreOutput<'a> {
    v: u32,
    reward_model: &'a str,
    measured: &'a PairFigures,
}

/// Scores pairs, and prints what the reward model is worth on them.
pub(super) fn run(args: &ScoreArgs, printer: Printer) -> anyhow::Result<Exit> {
    let request = ScoreRequest {
        reward_model: args.reward_model.clone(),
        pairs: args.pairs.clone(),
        out: args.out.clone(),
        batch: args.batch.get(),
        device: args.device,
        threads: args.threads.map(usize::from),
    };
    let measured = reward_scoring::run(&request, &printer)?;
    if args.json {
        let output = ScoreOutput { v: 1, reward_model: &args.reward_model, measured: &measured };
        printer.json(&output)?;
    } else {
        for line in lines(&measured) {
            printer.data(line)?;
        }
    }
    Ok(Exit::Done)
}
