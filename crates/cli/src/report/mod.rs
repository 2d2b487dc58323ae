//! `whet report`: a run as one page that any browser opens.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use whetstone_recipe::find::open_run;
use whetstone_recipe::observer::Progress as _;
use whetstone_recipe::stages::write_stage_pages;
use whetstone_recipe::text::many;
use whetstone_record::error::FileError;
use whetstone_record::report::{self, Contents, PageRequest, evaluation};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Progress;

/// `whet report`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ReportArgs {
    /// The run: its directory, or its name in `runs`; or the directory of an evaluation
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Output file [default: RUN/report.html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// The training tasks, to show statements and failing tests [default: the run's own copy]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,

    /// Print one JSON document instead
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  whet report runs/quickstart                    writes runs/quickstart/report.html, open it in a browser
  whet report grpo-1 --tasks data/train.jsonl    shows what was asked and which test failed
  whet report grpo-1 --out /tmp/page.html --json
  whet report eval/base --tasks data/val.jsonl   an evaluation: its figures and every sample

The page is one file and loads nothing: it can be sent, archived and opened offline. It has the curves of
every step, verdicts, rewards by term, pass@k where it was measured, and every completion with its verdict
and failing test; an episode of several turns is shown turn by turn. The page of a `whet run` has its stages, with a link to the page of each training, which is
written too. A run may be reported on while it trains: the page has what is recorded so far.

The page holds hidden tests. Show it to people, not to a model that is to be measured by them.";

const NO_TASKS: &str = "; name the tasks with `--tasks` to see statements and failing tests";

#[derive(Serialize)]
struct ReportOutput {
    report: String,
    bytes: u64,
    events: u64,
    steps: u64,
    completions: u64,
    completions_shown: u64,
    tasks_shown: u64,
}

/// Writes the page.
pub(crate) fn run(args: &ReportArgs, printer: Printer) -> anyhow::Result<Exit> {
    let progress = Progress::new(printer, "completion");
    let request = PageRequest { tasks: args.tasks.as_deref() };
    let mut told = |passed, all| progress.reach(passed, all);
    let (out, written) = if evaluation::is_evaluation(&args.run) {
        let out = args.out.clone().unwrap_or_else(|| evaluation::default_path(&args.run));
        told(0, 0);
        let written = evaluation::write(&args.run, request, &out, &mut told);
        (out, written)
    } else {
        let view = open_run(&args.run)?;
        let out = args.out.clone().unwrap_or_else(|| report::default_path(&view));
        write_stage_pages(&view)?;
        told(0, 0);
        let written = report::write(&view, request, &out, &mut told);
        (out, written)
    };
    let contents = written.map_err(Failure::View)?;
    progress.finish();
    let bytes = size(&out)?;
    if args.json {
        printer.json(&output(&out, bytes, contents))?;
    } else {
        printer.data(out.display())?;
        printer.note(summary(bytes, contents));
    }
    Ok(Exit::Done)
}

fn size(path: &Path) -> Result<u64, Failure> {
    let failed = |source| FileError { step: "look at", path: path.to_owned(), source };
    let found = fs::metadata(path).map_err(|source| Failure::View(failed(source).into()))?;
    Ok(found.len())
}

fn output(out: &Path, bytes: u64, contents: Contents) -> ReportOutput {
    let Contents { events, steps, completions, shown, tasks } = contents;
    ReportOutput {
        report: out.display().to_string(),
        bytes,
        events,
        steps,
        completions,
        completions_shown: shown,
        tasks_shown: tasks,
    }
}

#[expect(clippy::cast_precision_loss, reason = "megabytes with one digit")]
fn summary(bytes: u64, contents: Contents) -> String {
    let Contents { steps, completions, shown, tasks, .. } = contents;
    let size = bytes as f64 / 1e6;
    let readable = if shown < completions { format!(", {shown} to read") } else { String::new() };
    let hint = if completions > 0 && tasks == 0 { NO_TASKS } else { "" };
    let (completions, steps) = (many(completions, "completion"), many(steps, "step"));
    format!("{size:.1} MB: {completions} of {steps}{readable}{hint}")
}
