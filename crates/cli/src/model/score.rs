//! `whet model score`: preference pairs scored by a reward model, or transitions by a process reward model.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use whetstone_core::config::DeviceChoice;
use whetstone_recipe::process_scoring::{self, ProcessScoreRequest};
use whetstone_recipe::reward_scoring::{self, ScoreRequest, lines};
use whetstone_train::process_reward::TransitionFigures;
use whetstone_train::reward_model::PairFigures;

use crate::exit::Exit;
use crate::printer::Printer;

/// `whet model score`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ScoreArgs {
    /// The reward model: a run of `whet train rm` or `whet train prm`, or its `outputs/final_model`
    #[arg(value_name = "REWARD_MODEL")]
    pub reward_model: String,

    /// Preference pairs, one JSON object per line, for a model of `whet train rm`
    #[arg(long, value_name = "FILE", required_unless_present = "transitions")]
    pub pairs: Option<PathBuf>,

    /// Scored episodes with transitions, one JSON object per line, for a model of `whet train prm`
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "pairs")]
    pub transitions: Vec<PathBuf>,

    /// Write the scores of every pair, or of every episode, here, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Pairs, or transitions, at a time
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
  whet model score runs/prm-1 --transitions runs/grpo-1/rollouts/rollouts.jsonl

A line of `--out` is {\"v\":1,\"id\":…,\"chosen\":…,\"rejected\":…} of a pair, and {\"v\":1,\"task_id\":…,
\"solved\":…,\"probabilities\":[…],\"labels\":[…]} of an episode. Pairs longer than the model's context are
left out and counted. `docs/guides/reward-models.md` and `docs/guides/process-rewards.md` define the figures.

Exit codes: 0 done, 2 wrong usage, pairs or reward model, 3 something broke.";

#[derive(Serialize)]
struct ScoreOutput<'a> {
    v: u32,
    reward_model: &'a str,
    measured: &'a PairFigures,
}

#[derive(Serialize)]
struct ProcessScoreOutput<'a> {
    v: u32,
    process_model: &'a str,
    measured: &'a TransitionFigures,
}

/// Scores pairs or transitions, and prints what the reward model is worth on them.
pub(super) fn run(args: &ScoreArgs, printer: Printer) -> anyhow::Result<Exit> {
    match &args.pairs {
        Some(pairs) => score_pairs(args, pairs, printer),
        None => score_transitions(args, printer),
    }
}

fn score_pairs(args: &ScoreArgs, pairs: &Path, printer: Printer) -> anyhow::Result<Exit> {
    let request = ScoreRequest {
        reward_model: args.reward_model.clone(),
        pairs: pairs.to_owned(),
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

fn score_transitions(args: &ScoreArgs, printer: Printer) -> anyhow::Result<Exit> {
    let request = ProcessScoreRequest {
        process_model: args.reward_model.clone(),
        episodes: args.transitions.clone(),
        out: args.out.clone(),
        batch: args.batch.get(),
        device: args.device,
        threads: args.threads.map(usize::from),
    };
    let measured = process_scoring::run(&request, &printer)?;
    if args.json {
        let (v, process_model) = (1, args.reward_model.as_str());
        printer.json(&ProcessScoreOutput { v, process_model, measured: &measured })?;
    } else {
        for line in process_scoring::lines(&measured) {
            printer.data(line)?;
        }
    }
    Ok(Exit::Done)
}
