//! Arguments and help of `whet score`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whetstone_core::config::AdvantageBy;
use whetstone_recipe::scoring::ScoreRequest;

use crate::cli::ConfigArgs;

/// `whet score`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_long_help = AFTER_HELP)]
pub struct ScoreArgs {
    /// Rollouts, one JSON object per line: `step`, `prompt_id`, `text`, and any other fields
    ///
    /// Names of other tools are accepted too: `task_id` for `prompt_id`, `completion` or `response`
    /// for `text`. A missing `step` is 0.
    #[arg(value_name = "ROLLOUTS", required_unless_present = "rollouts_file")]
    pub rollouts: Option<PathBuf>,

    /// The rollouts, as an option: the same as ROLLOUTS
    #[arg(long = "rollouts", value_name = "FILE", conflicts_with = "rollouts")]
    pub rollouts_file: Option<PathBuf>,

    /// Tasks of the rollouts, one JSON object per line; `prompt_id` is a task's `id`
    ///
    /// For a task without `tests` nothing is run, and its lines earn their static terms, as with
    /// `--skip-runtime`.
    #[arg(long, alias = "tasks", value_name = "FILE")]
    pub prompts: PathBuf,

    /// Output file [default: ROLLOUTS with the extension `.scored.jsonl`]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Cache verdicts and results in this file, so that no program is judged twice
    ///
    /// A timeout is stored with its limit, and is reused for that limit and lower ones; a program
    /// that slept too long is judged again. Of a Phaser program the static check and the run are
    /// stored apart, so a pass with `--skip-runtime` saves work for a later one without. Only one
    /// process can use the file at a time. It never grows beyond about 2 GB, and can be deleted at
    /// any time. With `--skip-runtime` there are no verdicts of programs with tests to store.
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,

    /// Index of Phaser's API, as `whet env phaser index` writes it [default: an embedded one]
    ///
    /// Phaser programs are checked against it. Where they are run, it must describe the version of
    /// Phaser that is installed.
    #[arg(long, value_name = "FILE")]
    pub api_index: Option<PathBuf>,

    /// Command that checks Phaser programs in place of whet: a program and its arguments
    ///
    /// Started once for each program, with one JSON object on standard input; answers with one on
    /// standard output. A program that ends in `.js` is run by Node.js. It runs as you, without a
    /// sandbox: name only commands that you trust. The guide `docs/guides/phaser.md` has the fields.
    #[arg(long, value_name = "COMMAND")]
    pub validator_cli: Option<String>,

    /// Report file, as JSON [default: beside the scored lines: `X.report.json` of `X.scored.jsonl`,
    /// `X_report.json` of `X_scored.jsonl`]
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Advantage of a reward within its group
    #[arg(long, value_enum, default_value_t = AdvantageArg::Std, value_name = "HOW")]
    pub advantage: AdvantageArg,

    /// Score nothing if any line is invalid, and list those lines
    #[arg(long)]
    pub strict: bool,

    /// Print what would be read, done and written, the memory and an estimated time; write nothing
    ///
    /// The time comes from a probe: the lines of one task, which is run and discarded.
    #[arg(long)]
    pub dry_run: bool,

    /// Run no programs: reward static properties of the replies only
    #[arg(long)]
    pub skip_runtime: bool,

    /// Discard an interrupted run instead of resuming it
    #[arg(long)]
    pub fresh: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the summary
    #[arg(long)]
    pub json: bool,
}

/// The advantage of a reward within its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdvantageArg {
    /// Reward minus the group mean, divided by the standard deviation.
    Std,
    /// Reward minus the group mean.
    Mean,
    /// Reward minus the mean of the others in the group.
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

impl ScoreArgs {
    /// The rollouts to score.
    pub(super) fn request(&self) -> ScoreRequest {
        ScoreRequest {
            rollouts: self.rollouts.clone().or(self.rollouts_file.clone()).unwrap_or_default(),
            tasks: self.prompts.clone(),
            out: self.out.clone(),
            report: self.report.clone(),
            cache: self.cache.clone(),
            api_index: self.api_index.clone(),
            validator: self.validator_cli.clone(),
            advantage: self.advantage.into(),
            strict: self.strict,
            skip_runtime: self.skip_runtime,
            fresh: self.fresh,
            dry_run: self.dry_run,
        }
    }
}

const AFTER_HELP: &str = "\
The output has the same lines in the same order, with three more fields; all others are unchanged:
  validation  the judge's verdict, or {\"error\": …} if it could not judge: then there is no reward
  reward      the total, with its terms, their weights, and gates
  advantage   against the other lines with the same `step` and `prompt_id`
Times differ from run to run, so `cpu_ms` is rounded down to whole seconds; exact times are in the
report. A line that is not a rollout of a known task goes to OUT.rejected.jsonl instead, with its
line number and the reason. To resume a killed run, run the same command again.

A program is found in these replies, in this order, after any `<think>…</think>` or `[PLAN]…[/PLAN]`:
  ```python … ```          the last closed block in the task's language (also py, python3, js, javascript, ~~~); in
                            Python the last one that defines a function or a class, if one does
  ``` … ```                else the last closed block of any kind
  ```python …              else a block that is not closed; it counts as cut off
  def add(a, b): …         else a whole reply that is Python and nothing else
Tags around a block, such as `<answer>`, are ignored. No program is found in prose with code but no fence, in
`inline code`, inside thinking, or in JavaScript without a fence. Tags without a fence are not taken off:
`<code>…</code>` and `<answer>…</answer>` are read as part of the program, or as prose. The summary counts
replies without a program and names the first.

Examples:
  whet score rollouts.jsonl --prompts train.jsonl
  whet score rollouts.jsonl --prompts train.jsonl --dry-run
  whet score rollouts.jsonl --prompts train.jsonl --cache rewards.redb --report report.json
  whet score rollouts.jsonl --prompts train.jsonl --skip-runtime --json
  whet score --prompts prompts_train.jsonl --rollouts mock.jsonl --out mock_scored.jsonl \\
    --cache cache.redb --api-index phaser_api.jsonl --skip-runtime
  whet score rollouts.jsonl --prompts train.jsonl --set reward.composite=pass_times_quality

Exit codes: 0 every line was scored or set aside, 1 some line could not be judged or none was
scored, 2 wrong usage, config or input, 3 something broke.";
