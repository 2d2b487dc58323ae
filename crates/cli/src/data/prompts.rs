//! `whet data prompts`: prompt seeds in, two sets of tasks for Phaser out.

use std::path::PathBuf;

use clap::Args;
use whetstone_core::Seed;
use whetstone_data::phaser::{PromptSets, PromptSummary, SplitCounts, write_prompt_sets};
use whetstone_recipe::text::counted;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::next::NextCommand;
use crate::printer::Printer;
use crate::summary::Lines;

/// `whet data prompts`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct PromptsArgs {
    /// Prompt seeds, one JSON object a line [default: those embedded in `whet`]
    #[arg(long, value_name = "FILE")]
    pub prompt_seeds: Option<PathBuf>,

    /// Output file for the tasks to train on
    #[arg(long, value_name = "FILE", default_value = "data/prompts_train.jsonl")]
    pub out_train: PathBuf,

    /// Output file for the tasks to evaluate on
    #[arg(long, value_name = "FILE", default_value = "data/prompts_eval.jsonl")]
    pub out_eval: PathBuf,

    /// Tasks to train on
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub train_count: u32,

    /// Tasks to evaluate on
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub eval_count: u32,

    /// Seed of the draw
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub seed: u64,

    /// Print the report as one JSON document instead of lines
    #[arg(long)]
    pub json: bool,
}

/// Makes both sets.
pub(crate) fn run(args: &PromptsArgs, printer: Printer) -> anyhow::Result<Exit> {
    let sets = PromptSets {
        seeds: args.prompt_seeds.as_deref(),
        out_train: &args.out_train,
        out_eval: &args.out_eval,
        counts: SplitCounts { train: args.train_count as usize, eval: args.eval_count as usize },
        seed: Seed::new(args.seed),
    };
    let summary = write_prompt_sets(&sets).map_err(Failure::Prompts)?;
    if args.json {
        printer.json(&summary)?;
    } else {
        printer.raw(&text(&summary))?;
        let mock = NextCommand::whet("rollout --mock --prompts").path(&args.out_train);
        mock.words("--out rollouts.jsonl").say(printer);
    }
    Ok(Exit::Done)
}

fn text(summary: &PromptSummary) -> String {
    let mut lines: Lines = Vec::new();
    for set in [&summary.train, &summary.eval] {
        let (prompts, checks) = (counted(set.prompts, "prompt"), counted(set.checks, "check"));
        lines.push(format!("{prompts} with {checks} into {}", set.file.display()));
    }
    let unchecked = summary.train.unchecked + summary.eval.unchecked;
    if unchecked > 0 {
        lines.push(format!(
            "{} without checks: nothing is run for them, and their rewards have static terms only",
            counted(unchecked, "prompt")
        ));
    }
    let (seeds, families) = (counted(summary.seeds, "prompt seed"), summary.families);
    lines.push(format!(
        "drawn from {seeds} of {families} families ({}) with seed {}",
        summary.prompt_seeds, summary.seed
    ));
    lines.join("\n") + "\n"
}

const AFTER_HELP: &str = "\
A prompt seed is one line:
  {\"id\":\"seed_000123\",\"prompt\":\"A red square falls and stops at the floor. …\",\"frames\":120,\"input\":[],
   \"checks\":[{\"kind\":\"stops\",\"select\":{\"has_body\":true},\"by\":100,\"below\":560}]}
The prompt is what the model is asked; the checks decide, on the running game, whether it did so. Their format is
described in docs/reference/phaser-checks.md. `frames` and `input` may be left out. A seed without
`checks` is a task too; nothing is run for it, and its rewards have static terms only. Two more fields are optional:
  family     seeds that differ only in numbers share it; a family is never in both files
  reference  a program that passes all checks; `whet rollout --mock` uses it

Without --prompt-seeds, 244 embedded seeds of 61 families are used, each with a reference. Ids and prompts must be
unique: a line that repeats one, or that has no id, is refused by its number.

No seed is in both files, and the same seeds with the same --seed give the same bytes. A line of the output is a task
of kind `phaser`.

Examples:
  whet data prompts
  whet data prompts --out-train train.jsonl --out-eval eval.jsonl --train-count 50 --eval-count 20 --seed 42
  whet data prompts --prompt-seeds seeds.jsonl --train-count 400 --eval-count 100 --json
  whet rollout --mock --prompts data/prompts_train.jsonl --out rollouts.jsonl

Exit codes: 0 both files were written, 2 wrong usage or input, or too few seeds, 3 something broke.";
