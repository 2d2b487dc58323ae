//! Arguments and help of `whet rollout`.

use std::path::PathBuf;

use clap::Args;

/// `whet rollout`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct RolloutArgs {
    /// Write replies of planted quality instead of asking a model
    #[arg(long)]
    pub mock: bool,

    /// The tasks to answer: a file of `whet data prompts`
    #[arg(long, value_name = "FILE", default_value = "data/prompts_train.jsonl")]
    pub prompts: PathBuf,

    /// Output file
    #[arg(long, value_name = "FILE", default_value = "data/rollouts.jsonl")]
    pub out: PathBuf,

    /// The optimizer step that stands in the lines
    #[arg(long, value_name = "STEP", default_value_t = 1)]
    pub step: u64,

    /// Tasks to draw from the file
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub num_prompts: u32,

    /// Replies to each task
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub group_size: u32,

    /// Seed of the draw
    #[arg(long, value_name = "SEED", default_value_t = 2026)]
    pub seed: u64,

    /// Print the report as one JSON document instead of lines
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
A line of the output is one reply:
  {\"step\":1,\"prompt_id\":\"seed_000123\",\"group_id\":0,\"text\":\"[PLAN]…[/PLAN]\\n\\n```javascript …\",
   \"meta\":{\"mock\":\"good\",\"temperature\":0.7,\"top_p\":0.9,\"max_new_tokens\":1800}}

Mock replies have one of these qualities, which stands in meta.mock and which no score reads:
  good           the reference program of the task
  half_good      the reference without its last statement: some checks fail
  idle           a scene that shows nothing
  hallucinating  the reference with a call that Phaser does not have
  broken         a program that does not parse
  no_code        words without a program
  long_plan      the reference behind a plan of about a thousand words
  hostile        tampering with the engine, or an endless loop (meta.mock_trick)
  plain          a valid game that does something else, for good and half_good where a task has no reference
Each of them occurs in every eleven lines. The same prompts and seed give the same bytes.

Replies of a real model are written by `whet generate` and by `whet eval`, which keeps every sample.

Examples:
  whet data prompts
  whet rollout --mock --prompts data/prompts_train.jsonl --out rollouts.jsonl
  whet rollout --mock --prompts data/prompts_train.jsonl --out rollouts.jsonl --step 1 --num-prompts 8 \\
    --group-size 8 --seed 2026 --json
  whet score rollouts.jsonl --prompts data/prompts_train.jsonl --out scored.jsonl

Exit codes: 0 the file was written, 2 wrong usage or input, 3 something broke.";
