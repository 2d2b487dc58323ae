//! What can be asked of `whet score`, and what its help teaches.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whetstone_core::config::AdvantageBy;

use crate::cli::ConfigArgs;

/// `whet score`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_long_help = AFTER_HELP)]
pub struct ScoreArgs {
    /// Rollouts, one JSON object a line: `step`, `prompt_id`, `text`, and whatever else
    ///
    /// Names that other tools use are read too: `task_id` for `prompt_id`, `completion` or `response`
    /// for `text`. Without `step` a line is of step 0.
    #[arg(value_name = "ROLLOUTS")]
    pub rollouts: PathBuf,

    /// Tasks that the rollouts answer, one JSON object a line; `prompt_id` is a task's `id`
    ///
    /// A task without `tests` is a prompt alone: nothing is run, and its lines are worth their static
    /// terms, as with `--skip-runtime`.
    #[arg(long, value_name = "FILE")]
    pub prompts: PathBuf,

    /// Where the scored lines go [default: ROLLOUTS with `.scored.jsonl` as its ending]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Remember verdicts in this file, so that no program is judged twice
    ///
    /// A timeout is kept with the limit it was measured at, and answers that limit and lower ones; a
    /// program that slept too long is judged anew. One process at a time. It never grows beyond about 1.4 GB; it can be removed at any time.
    /// With `--skip-runtime` it is not opened: there are no verdicts.
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,

    /// Where the report goes, as JSON [default: beside the scored lines, ending in `.report.json`]
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// How rewards become advantages within a group
    #[arg(long, value_enum, default_value_t = AdvantageArg::Std, value_name = "HOW")]
    pub advantage: AdvantageArg,

    /// Score nothing if any line is bad, and name those that are
    #[arg(long)]
    pub strict: bool,

    /// Say what would be read, done and written, what memory it takes and about how long; write nothing
    ///
    /// The time comes from a probe: the lines of one task, done for real and thrown away.
    #[arg(long)]
    pub dry_run: bool,

    /// Run no program: reward what can be read off the reply alone
    #[arg(long)]
    pub skip_runtime: bool,

    /// Forget an earlier run that was ended before its end, instead of going on with it
    #[arg(long)]
    pub fresh: bool,

    /// Where settings come from.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the summary
    #[arg(long)]
    pub json: bool,
}

/// How rewards become advantages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdvantageArg {
    /// Less the mean, divided by the standard deviation.
    Std,
    /// Less the mean.
    Mean,
    /// Less the mean of the others.
    LeaveOneOut,
}

impl From<AdvantageArg> for AdvantageBy {
    fn from(how: AdvantageArg) -> Self {
        match how {
            AdvantageArg::Std => Self::StandardScore,
            AdvantageArg::Mean => Self::Mean,
            AdvantageArg::LeaveOneOut => Self::LeaveOneOut,
        }
    }
}

const AFTER_HELP: &str = "\
Every line comes out in its place with three fields more, its own fields untouched:
  validation  what the judge saw, or {\"error\": …} if it could not judge: then there is no reward
  reward      the total, with its terms, their weights, and gates
  advantage   against the other lines with the same `step` and `prompt_id`
Times differ from run to run, so `cpu_ms` there is in whole seconds, rounded down; exact times are
in the report. A line that is no rollout of a known task goes to OUT.rejected.jsonl instead, with its
number and the reason. A run that was killed goes on where it was, when it is started again.

Examples:
  whet score rollouts.jsonl --prompts train.jsonl
  whet score rollouts.jsonl --prompts train.jsonl --dry-run
  whet score rollouts.jsonl --prompts train.jsonl --cache rewards.redb --report report.json
  whet score rollouts.jsonl --prompts train.jsonl --skip-runtime --json
  whet score rollouts.jsonl --prompts train.jsonl --set reward.composite=pass_times_quality

Exit codes: 0 every line was scored or set aside, 1 some line could not be judged or none was
scored, 2 wrong usage, config or input, 3 something broke.";
