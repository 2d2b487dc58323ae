//! Arguments and help of `whet data validate`.

use std::path::PathBuf;

use clap::Args;
use whetstone_recipe::validation::{DEFAULT_MAX_CPU_SHARE, DEFAULT_REPEATS, ValidateRequest};

use crate::cli::ConfigArgs;

/// `whet data validate`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_long_help = AFTER_HELP)]
pub struct ValidateArgs {
    /// Tasks, one JSON object per line
    #[arg(value_name = "FILE", required = true)]
    pub tasks: Vec<PathBuf>,

    /// Output file for proven tasks, lines unchanged
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Output file for the other tasks, each line with the reason in a field `dropped`
    #[arg(long, value_name = "FILE")]
    pub dropped: Option<PathBuf>,

    /// Runs of each reference, each with another `PYTHONHASHSEED`
    #[arg(long, value_name = "N", default_value_t = DEFAULT_REPEATS, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub repeats: u32,

    /// A reference that needs more than this share of `sandbox.cpu_seconds` is too slow
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_MAX_CPU_SHARE, value_parser = share)]
    pub max_cpu_share: f64,

    /// Validate only the first N tasks
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// Exit with 1 if any task was dropped
    #[arg(long)]
    pub strict: bool,

    /// Discard an interrupted run instead of resuming it
    #[arg(long)]
    pub fresh: bool,

    /// Print what would be read, done and written, the memory and an estimated time; write nothing
    ///
    /// The time comes from a probe: one task, which is run and discarded.
    #[arg(long)]
    pub dry_run: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

impl ValidateArgs {
    /// The tasks to prove.
    pub(super) fn request(&self) -> ValidateRequest {
        ValidateRequest {
            tasks: self.tasks.clone(),
            out: self.out.clone(),
            dropped: self.dropped.clone(),
            repeats: self.repeats,
            max_cpu_share: self.max_cpu_share,
            limit: self.limit,
            fresh: self.fresh,
            dry_run: self.dry_run,
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a number above 0 and at most 1".to_owned()),
    }
}

const AFTER_HELP: &str = "\
A task is proven when its reference passes every hidden test, each time, in time, and every trivial
answer fails. Otherwise it is dropped, for one of these reasons:
  not_a_task       the line cannot be read as a task
  duplicate_id     an earlier line has the same id
  no_reference     the task has no reference solution
  broken_tests     a test or the setup is not valid code, or fails whatever the program answers
  reference_fails  the reference fails its own tests
  flaky            the reference gets another verdict with other hashes, or when run again
  too_slow         the reference needs too much of the time a program has
  trivial_passes   a constant, the first argument, the empty program, an answer that knows only the
                   first test, or wrong answers that the program itself calls right
A task whose tests all expect the same value belongs to the last reason. If there is only one distinct
test, no answer that knows it is tried: it would pass by definition.

An infrastructure failure is not a reason to drop a task: such tasks are counted separately and are in
neither file; run the same command again to retry them. With `--out` or `--dropped`, a killed run
resumes in the same way.

Examples:
  whet data validate data/train.jsonl data/val.jsonl
  whet data validate data/train.jsonl --out data/proven.jsonl --dropped data/dropped.jsonl
  whet data validate data/train.jsonl --repeats 4 --set sandbox.cpu_seconds=10 --json
  whet data validate data/train.jsonl --limit 20 --strict
  whet data validate data/train.jsonl --dry-run

Exit codes: 0 every task was judged, 1 none was proven or, with `--strict`, one was dropped, 2
wrong usage, config or input, 3 something broke: some task could not be judged.";
