//! Arguments and help of `whet teach`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whetstone_recipe::teaching::{TeachRequest, TeacherChoice};

use crate::cli::ConfigArgs;

/// `whet teach`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_long_help = AFTER_HELP)]
pub struct TeachArgs {
    /// Tasks, one JSON object per line
    #[arg(long, value_name = "FILE", default_value = "data/train.jsonl")]
    pub tasks: PathBuf,

    /// Output file for the traces
    #[arg(long, value_name = "FILE", default_value = "data/teacher_traces.jsonl")]
    pub out: PathBuf,

    /// Output file for SFT rows of the samples that are kept: `whet train sft --rows FILE`
    #[arg(long, value_name = "FILE")]
    pub rows: Option<PathBuf>,

    /// Source of the traces; given several times, each is asked about every task
    #[arg(long, value_enum, default_values_t = [TeacherArg::Remote], value_name = "WHO")]
    pub teacher: Vec<TeacherArg>,

    /// Only test whether and how the server answers
    #[arg(long, conflicts_with_all = ["max_tasks", "num_samples", "only_missing", "fresh"])]
    pub test_connection: bool,

    /// Use the first N tasks only
    #[arg(long, value_name = "N")]
    pub max_tasks: Option<u32>,

    /// Samples of each task [default: the setting `teacher.num_samples_per_problem`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub num_samples: Option<u32>,

    /// Complete the traces in OUT: request missing ones, and judge those that were not judged
    ///
    /// Resuming an interrupted run needs no flag.
    #[arg(long)]
    pub only_missing: bool,

    /// Replace the traces in OUT, and discard an interrupted run
    #[arg(long, conflicts_with = "only_missing")]
    pub fresh: bool,

    /// Print what would be read, done and written, the memory and an estimated time; write nothing
    ///
    /// The time comes from a probe: one request, which is run and discarded.
    #[arg(long, conflicts_with = "test_connection")]
    pub dry_run: bool,

    /// Run no programs: check the syntax only, without a verdict
    #[arg(long)]
    pub no_judge: bool,

    /// Request nothing if any line of the tasks is invalid; exit with 1 if any task has no trace
    #[arg(long)]
    pub strict: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

/// The source of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TeacherArg {
    /// The OpenAI-compatible server at `teacher.api_url`: `teacher.model_name`, or each of `teacher.models`.
    Remote,
    /// The trace in a task's field `trace`, or else the expert of its environment, one per task; no server.
    Embedded,
    /// The task's reference solution, without thinking, one per task; no server.
    Reference,
}

impl TeachArgs {
    /// The traces to collect.
    pub(super) fn request(&self) -> TeachRequest {
        TeachRequest {
            tasks: self.tasks.clone(),
            out: self.out.clone(),
            rows: self.rows.clone(),
            teachers: self.teacher.iter().map(|who| who.choice()).collect(),
            max_tasks: self.max_tasks,
            num_samples: self.num_samples,
            only_missing: self.only_missing,
            fresh: self.fresh,
            no_judge: self.no_judge,
            strict: self.strict,
            dry_run: self.dry_run,
        }
    }
}

impl TeacherArg {
    fn choice(self) -> TeacherChoice {
        match self {
            Self::Remote => TeacherChoice::Remote,
            Self::Embedded => TeacherChoice::Embedded,
            Self::Reference => TeacherChoice::Reference,
        }
    }
}

const AFTER_HELP: &str = "\
Every line of the output is one reply: the prompt, the extracted thinking and code, the raw text, the
token usage, and the judge's verdict on the code, so that training can use only traces that pass.
Lines are in the order of the tasks, then of the samples.

A task whose environment has several turns is taught as an episode: the teacher is asked turn by turn, with
the whole conversation, until the episode is over or its turns (`env.max_turns`) are used up. Its line has all
turns under `episode`. `--rows` writes one row a kept sample: solved, in at most `teacher.max_kept_turns` turns,
with a reward of at least `teacher.min_kept_reward`, and no reply cut off. The table counts by teacher.

Every answer is stored in OUT.journal as soon as it arrives. To resume a run that was killed, or whose
server went away, run the same command again: no answered request is repeated, and a failed one, which
is counted with its reason, is retried. Settings that influence an answer must be the same. The journal
is removed when nothing is missing.

Examples:
  whet teach --test-connection
  whet teach --dry-run
  whet teach --max-tasks 5 --num-samples 2
  whet teach --tasks data/train.jsonl --out data/teacher_traces.jsonl
  whet teach --set teacher.api_url=http://gpu7:8000/v1 --set teacher.model_name=m
  whet teach --teacher embedded
  whet teach --teacher reference               reference solutions as traces for `whet train sft`
  whet teach --only-missing --num-samples 16
  whet teach --teacher embedded --rows data/sft_rows.jsonl      rows of an environment's expert
  whet teach --set teacher.models='[\"gpt-5.2-chat\",\"o4-mini\"]' --rows data/sft_rows.jsonl

Exit codes: 0 every sample was answered and judged, 1 some sample was not or the server does not
answer `--test-connection`, 2 wrong usage, config or input, 3 the teacher went away or something
broke.";
