//! `whet data traces`: scored rollouts in, traces of what solved its task out.

use std::path::PathBuf;

use clap::Args;
use whetstone_data::sampled_traces::SampledTraces;
use whetstone_recipe::sampled_traces::{self, SampledTracesRequest};
use whetstone_recipe::text::many;

use crate::cli::ConfigArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::Printer;

/// `whet data traces`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct TracesArgs {
    /// Scored rollouts: files of `whet score`, runs, or directories of `whet eval`
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    pub rollouts: Vec<PathBuf>,

    /// The tasks that the rollouts answer, for their prompts [default: data/train.jsonl]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub tasks: Vec<PathBuf>,

    /// Output file
    #[arg(long, value_name = "FILE", default_value = "data/sampled_traces.jsonl")]
    pub out: PathBuf,

    /// Maximal number of traces per task
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub per_task: u32,

    /// Maximal number of traces; the tasks that are solved most rarely come first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,

    /// Sources of settings; the prompt of the traces is that of `[prompt]`.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

impl TracesArgs {
    fn request(&self) -> SampledTracesRequest {
        SampledTracesRequest {
            rollouts: self.rollouts.clone(),
            tasks: self.tasks.clone(),
            out: self.out.clone(),
            per_task: self.per_task as usize,
            limit: self.limit.map(|most| most as usize),
        }
    }
}

/// Makes traces.
pub(crate) fn run(args: &TracesArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    let summary = sampled_traces::run(&args.request(), &config)?;
    if args.json {
        printer.json(&summary)?;
    } else {
        printer.raw(&text(&summary, args))?;
        NextCommand::whet("train sft --run sft-1 --traces").path(&args.out).say(printer);
    }
    Ok(Exit::Done)
}

fn text(summary: &SampledTraces, args: &TracesArgs) -> String {
    let mut lines = vec![format!(
        "{} of {} of {}, into {}",
        many(summary.traces, "trace"),
        summary.tasks_with_traces,
        many(summary.tasks, "task"),
        args.out.display()
    )];
    lines.push(format!("  {:<16} {:>8}", "rollouts", summary.rollouts));
    let left_out = summary.left_out.iter();
    lines.extend(left_out.map(|(reason, count)| format!("  {reason:<16} {count:>8}")));
    lines.join("\n") + "\n"
}

const AFTER_HELP: &str = "\
Rejection sampling: a model is fine-tuned on what it solved itself (`whet train sft --traces OUT`). A rollout becomes a
trace if it solved its task and was not cut off by the limit on tokens, at most --per-task of a task, the first of the
file; programs that differ in names, comments and layout alone are one. Tasks with the lowest share of passing rollouts come
first, and every task has one trace before any has a second, so that --limit keeps rare successes.

Rollouts that are left out, counted by reason:
  not_passing, not_judged, not_scored   score a file first, with `whet score`
  cut_off                               the limit on tokens ended the reply
  same_program                          the task has a trace of this program
  over_per_task, over_limit             there are enough
  several_turns, no_program, no_task    an episode; a reply without a program; no such task in --tasks

Examples:
  whet rollout --model models/student --prompts data/train.jsonl --out rollouts.jsonl --group-size 16
  whet score rollouts.jsonl --prompts data/train.jsonl
  whet data traces --rollouts rollouts.scored.jsonl --tasks data/train.jsonl
  whet data traces --rollouts runs/grpo-1 --per-task 2 --limit 1000 --json

Exit codes: 0 traces were written, 2 wrong usage, config or input, or no rollout becomes a trace, 3 something broke.";
