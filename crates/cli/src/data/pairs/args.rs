//! Arguments and help of `whet data pairs`.

use std::path::PathBuf;

use clap::Args;
use whetstone_data::pairs::GivenFile;
use whetstone_recipe::pairs::PairsRequest;

use crate::cli::ConfigArgs;

/// `whet data pairs`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct PairsArgs {
    /// Scored rollouts: files of `whet score`, runs, or directories of `whet eval`
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub rollouts: Vec<PathBuf>,

    /// Judged traces of a teacher
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub traces: Vec<PathBuf>,

    /// Pairs that others made: .jsonl, .json or .parquet, each also with .gz
    ///
    /// NAME stands in the origin of the pairs, `hub:NAME`; without it, the file's name.
    #[arg(long, value_name = "[NAME=]FILE", num_args = 1.., value_parser = given)]
    pub pairs: Vec<GivenFile>,

    /// The tasks that the rollouts answer, for their prompts [default: data/train.jsonl]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub tasks: Vec<PathBuf>,

    /// Output file
    #[arg(long, value_name = "FILE", default_value = "data/pairs.jsonl")]
    pub out: PathBuf,

    /// Output file for the pairs of held-out tasks
    #[arg(long, value_name = "FILE")]
    pub out_val: Option<PathBuf>,

    /// The part of the tasks that is held out
    #[arg(long, value_name = "PART", default_value_t = 0.1, value_parser = fraction, requires = "out_val")]
    pub val_fraction: f64,

    /// Least difference of rewards where both replies, or neither, solved the task
    #[arg(long, value_name = "GAP", default_value_t = 0.1, value_parser = amount)]
    pub min_gap: f64,

    /// Least distance of two programs, from 0 (the same) to 1 (nothing in common)
    #[arg(long, value_name = "DISTANCE", default_value_t = 0.02, value_parser = amount)]
    pub min_distance: f64,

    /// Maximal number of pairs per task, from each kind of source
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub per_task: u32,

    /// Seed of the choice and the split; takes precedence over the config
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,

    /// Write nothing if a line is not a reply or a pair
    #[arg(long)]
    pub strict: bool,

    /// Print what would be read and written; write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

impl PairsArgs {
    /// The pairs to make.
    pub(super) fn request(&self) -> PairsRequest {
        PairsRequest {
            rollouts: self.rollouts.clone(),
            traces: self.traces.clone(),
            pairs: self.pairs.clone(),
            tasks: self.tasks.clone(),
            out: self.out.clone(),
            out_val: self.out_val.clone(),
            val_fraction: self.val_fraction,
            min_gap: self.min_gap,
            min_distance: self.min_distance,
            per_task: self.per_task as usize,
            strict: self.strict,
            dry_run: self.dry_run,
        }
    }
}

fn given(text: &str) -> Result<GivenFile, String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) => (name.to_owned(), path),
        None => (name_of(text), text),
    };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err("expected NAME=FILE with a name of letters, digits and `_-./`".to_owned());
    }
    Ok(GivenFile { name, path: PathBuf::from(path) })
}

/// The name of a file without its endings, with other letters replaced.
fn name_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.split('.').find(|part| !part.is_empty()).unwrap_or("pairs");
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    name.chars().take(64).map(plain).collect()
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("expected a number of at least 0".to_owned()),
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(part) if part > 0.0 && part < 1.0 => Ok(part),
        _ => Err("expected a number between 0 and 1".to_owned()),
    }
}

const AFTER_HELP: &str = "\
A pair is two replies to the same task under the same prompt. The preferred one
  solved the task, and the other did not            origin rollouts:pass_over_fail, traces:pass_over_fail
  has a reward higher by --min-gap or more, where
  both solved the task or neither did               origin rollouts:reward
Its margin is the difference of the rewards; a trace that passed has 1, another 0.

Pairs that are left out, counted by reason:
  small_gap           the rewards differ by less than --min-gap (0.1: half of what form alone can pay with the
                      weights of `reward.composite = \"weighted_sum\"`)
  near_equal          the programs are the same, or nearer than --min-distance, once names, comments and layout
                      are normalised (0.02: one token of a program of about 400)
  length_alone        one reply is the other with text before or behind it
  over_limit          past --per-task: pairs of replies that are in few pairs are preferred, then by the seed
  reward_contradicts  the reply that solved the task has the lower reward
Replies that are left out: not_scored, not_judged, empty, too_long (256 KiB), several_turns, no_prompt (no such
task in --tasks, and no `prompt` in the line), duplicate, over_limit (past 128 of a task).

Files of --pairs have `chosen` and `rejected` as texts, with `prompt` beside them, or as lists of messages, of
which the common beginning is the prompt; also transcripts of the form `Human: … Assistant: …`, and files that
this command wrote. Rows with equal texts, an empty side or different prompts are bad: they are named by line,
left out and counted, or refused with --strict.

The table shows how long both sides are. If the chosen reply is the longer one, or the shorter one, in more than
65 % of the pairs, a warning says so: a reward model would learn length.

With --out-val, whole tasks are held out: no task is in both files. The same inputs and seed give the same bytes.

Examples:
  whet score samples.jsonl --prompts data/train.jsonl --out scored.jsonl
  whet data pairs --rollouts scored.jsonl --tasks data/train.jsonl
  whet data pairs --rollouts runs/grpo-1 --traces data/teacher_traces.jsonl --out data/pairs.jsonl
  whet data pairs --rollouts runs/grpo-1 --out-val data/pairs_val.jsonl --val-fraction 0.2 --per-task 4
  whet data pairs --pairs ultra=ultrafeedback/train.parquet --strict --json

Exit codes: 0 pairs were written, 2 wrong usage, config or input, or there is no pair, 3 something broke.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_pairs_has_a_name() {
        let of = |text: &str| given(text).map(|file| (file.name, file.path.display().to_string()));
        let named = |name: &str, path: &str| Ok((name.to_owned(), path.to_owned()));
        assert_eq!(of("a/b-c.jsonl.gz"), named("b_c", "a/b-c.jsonl.gz"));
        assert_eq!(of("ultra=x.parquet"), named("ultra", "x.parquet"));
        assert!(of("=x.parquet").is_err() && of("a b=x").is_err());
    }
}
