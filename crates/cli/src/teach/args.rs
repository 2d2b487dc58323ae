//! Arguments and help of `whet teach`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::ConfigArgs;

/// `whet teach`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_long_help = AFTER_HELP)]
pub struct TeachArgs {
    /// Tasks to ask about, one JSON object a line
    #[arg(long, value_name = "FILE", default_value = "data/train.jsonl")]
    pub tasks: PathBuf,

    /// Output file for the traces
    #[arg(long, value_name = "FILE", default_value = "data/teacher_traces.jsonl")]
    pub out: PathBuf,

    /// Source of the traces
    #[arg(long, value_enum, default_value_t = TeacherArg::Remote, value_name = "WHO")]
    pub teacher: TeacherArg,

    /// Only look whether the server answers, and how
    #[arg(long, conflicts_with_all = ["max_tasks", "num_samples", "only_missing", "fresh"])]
    pub test_connection: bool,

    /// Ask about the first N tasks only
    #[arg(long, value_name = "N")]
    pub max_tasks: Option<u32>,

    /// Samples of each task [default: the setting `teacher.num_samples_per_problem`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub num_samples: Option<u32>,

    /// Complete the traces that are in OUT: ask for those that are missing, and judge those that
    /// were not judged
    ///
    /// Going on with a run that was ended early needs no flag.
    #[arg(long)]
    pub only_missing: bool,

    /// Replace the traces that are in OUT, and forget a run that was ended early
    #[arg(long, conflicts_with = "only_missing")]
    pub fresh: bool,

    /// Say what would be read, done and written, what memory it takes and about how long; write nothing
    ///
    /// The time comes from a probe: one request, done for real and thrown away.
    #[arg(long, conflicts_with = "test_connection")]
    pub dry_run: bool,

    /// Run no program: look at the syntax only, and leave the verdict open
    #[arg(long)]
    pub no_judge: bool,

    /// Ask nothing if any line of the tasks is bad; end with 1 if any task has no trace
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
    /// The server of `teacher.api_url`, which speaks OpenAI's chat completions.
    Remote,
    /// The trace in a task's field `trace`, one per task; no server.
    Embedded,
    /// The task's reference solution, without thinking, one per task; no server.
    Reference,
}

const AFTER_HELP: &str = "\
Every line of the output is one reply: the prompt, the thinking and the code found in it, its text as
it came, what it cost, and the judge's verdict on the code, so that training can take only what passes.
Lines stand in the order of the tasks, then of the samples.

Every answer is kept in OUT.journal as soon as it arrives. A run that was killed, or whose server
went away, goes on when it is started again, and asks for nothing that was answered; a request that
failed is counted with its reason and asked again by the next run. Settings that decide an answer must
be the same then. The journal goes when nothing is missing.

Examples:
  whet teach --test-connection
  whet teach --dry-run
  whet teach --max-tasks 5 --num-samples 2
  whet teach --tasks data/train.jsonl --out data/teacher_traces.jsonl
  whet teach --set teacher.api_url=http://gpu7:8000/v1/chat/completions --set teacher.model_name=m
  whet teach --teacher embedded
  whet teach --teacher reference               to imitate the reference solutions: `whet train sft`
  whet teach --only-missing --num-samples 16

Exit codes: 0 every sample was answered and judged, 1 some sample was not or the server does not
answer `--test-connection`, 2 wrong usage, config or input, 3 the teacher went away or something
broke.";
