//! `whet data tests`: tasks in, the same tasks with generated tests out.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whetstone_data::generated_tests::GeneratedSummary;
use whetstone_recipe::test_generation::{
    self, AnswersFrom, DEFAULT_MIN_PROGRAMS, DEFAULT_PER_TASK, DEFAULT_SHARE, GenerateTestsRequest,
};
use whetstone_recipe::text::many;

use crate::cli::ConfigArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::Printer;

/// `whet data tests`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct TestsArgs {
    /// Tasks, one JSON object per line
    #[arg(long, value_name = "FILE", default_value = "data/train.jsonl")]
    pub tasks: PathBuf,

    /// Whose answers are expected
    #[arg(long, value_enum, default_value_t = FromArg::Reference, value_name = "WHOSE")]
    pub from: FromArg,

    /// The traces with the teacher's programs
    #[arg(long, value_name = "FILE", default_value = "data/teacher_traces.jsonl")]
    pub traces: PathBuf,

    /// Output file
    #[arg(long, value_name = "FILE", default_value = "data/tested.jsonl")]
    pub out: PathBuf,

    /// Maximal number of new tests per task
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PER_TASK, value_parser = count)]
    pub per_task: usize,

    /// Programs of a teacher that must pass the known tests of a task
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MIN_PROGRAMS, value_parser = count)]
    pub min_programs: usize,

    /// Share of these programs that must answer alike
    #[arg(long, value_name = "PART", default_value_t = DEFAULT_SHARE, value_parser = share)]
    pub agreement: f64,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

/// Whose answers are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FromArg {
    /// Those of the task's reference.
    Reference,
    /// Those that a teacher's programs agree on.
    Teacher,
}

impl TestsArgs {
    fn request(&self) -> GenerateTestsRequest {
        GenerateTestsRequest {
            tasks: self.tasks.clone(),
            from: match self.from {
                FromArg::Reference => AnswersFrom::Reference,
                FromArg::Teacher => AnswersFrom::Teacher(self.traces.clone()),
            },
            out: self.out.clone(),
            per_task: self.per_task,
            min_programs: self.min_programs,
            share: self.agreement,
        }
    }
}

/// Generates tests.
pub(crate) fn run(args: &TestsArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    let summary = test_generation::run(&args.request(), &config, &printer)?;
    if args.json {
        printer.json(&summary)?;
    } else {
        printer.raw(&text(&summary, args))?;
        let validate = NextCommand::whet("data validate").path(&args.out);
        validate.words("--out data/proven.jsonl").say(printer);
    }
    Ok(if summary.tests > 0 { Exit::Done } else { Exit::No })
}

fn text(summary: &GeneratedSummary, args: &TestsArgs) -> String {
    let mut lines = vec![format!(
        "{} for {} of {}, into {}",
        many(summary.tests, "new test"),
        summary.tasks_with_tests,
        many(summary.tasks, "task"),
        args.out.display()
    )];
    lines.push(format!("  {:<22} {:>8}", "inputs without answer", summary.inputs_without_answer));
    let left = summary.left.iter();
    lines.extend(left.map(|(reason, count)| format!("  {reason:<22} {count:>8}")));
    lines.join("\n") + "\n"
}

fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=1000).contains(count));
    count.ok_or_else(|| "expected a number from 1 to 1000".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.5 && *share <= 1.0);
    share.ok_or_else(|| "expected a share above 0.5, up to 1: a majority".to_owned())
}

const AFTER_HELP: &str = "\
For Python functions: tasks whose tests are asserts, or that have no tests and an example of a call in their statement
(`>>> f(2)` with the answer below, `f(2) == 4`). One argument of a known call is changed a little: numbers, texts, lists,
tuples, dicts, nested ones too. What the known inputs have in common is kept (no negative number, no empty text, a list
in order); other conditions that only the statement says are not known, so an expected value may be one that the
statement leaves open. Read some.

A program counts if it passes the known tests and examples and uses no clock or thread. Each is asked twice, in the
sandbox and within `sandbox.cpu_seconds`, with other seeds of hashes and of chance; an answer that changes, an
exception and a value without a literal make no test. A task without a reference gets a program that gave every agreed answer. Tasks with new tests have the field
`\"generated\": {\"tests\": 8, \"from\": \"reference\"}`; all others pass through unchanged.

Tasks that are left as they are, counted by reason:
  other_kind     not Python, or other tests than asserts
  no_calls       no test and no example calls a function with plain data
  few_programs   no reference, or too few programs, count
  no_answers     no input had an answer that enough programs give

Examples:
  whet data tests --tasks data/train.jsonl --per-task 12
  whet data tests --tasks prompts.jsonl --from teacher --traces data/teacher_traces.jsonl --agreement 0.75
  whet data validate data/tested.jsonl --out data/proven.jsonl

Exit codes: 0 tests were generated, 1 none was, 2 wrong usage, config or input, 3 something broke.";
