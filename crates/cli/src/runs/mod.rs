//! `whet runs`: lists runs and their state, and exports their metrics.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde::Serialize;
use whetstone_core::metric::{self, Metric};
use whetstone_recipe::find::open_run;
use whetstone_recipe::text::many;
use whetstone_record::error::ViewError;
use whetstone_record::event_file::{EventFile, FOLDER};
use whetstone_record::overview::{Overview, RunState, runs};
use whetstone_record::scalars::csv;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::next::NextCommand;
use crate::printer::Printer;

/// `whet runs`, or `whet runs csv` and `whet runs tensorboard`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = AFTER_HELP)]
pub struct RunsArgs {
    /// A subcommand instead of the list.
    #[command(subcommand)]
    pub command: Option<RunsCommand>,

    /// The folder with one directory for each run [default: runs]
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

/// `whet runs …`.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Write the metrics of a run as CSV, one row per step
    Csv {
        /// The run: its directory, or its name in `runs`
        run: PathBuf,
        /// Output file [default: RUN/metrics.csv]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Write the metrics of a run as an event file for TensorBoard
    Tensorboard {
        /// The run: its directory, or its name in `runs`
        run: PathBuf,
        /// Output folder [default: RUN/tensorboard]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Keep appending new steps until the run ends
        ///
        /// For a run that is training without `run.tensorboard`. It looks once a second.
        #[arg(long)]
        follow: bool,
    },
}

/// The folder of runs, unless another is named.
const RUNS: &str = "runs";

/// Time between two looks at a run that is followed.
const POLL: Duration = Duration::from_secs(1);

const AFTER_HELP: &str = "\
Examples:
  whet runs                                  list runs and their state
  whet runs --json | jq '.runs[] | select(.state == \"killed\") | .name'
  whet runs csv grpo-1                       writes runs/grpo-1/metrics.csv
  whet runs tensorboard grpo-1 && tensorboard --logdir runs/grpo-1/tensorboard
  whet runs tensorboard grpo-1 --follow      the same while it trains, until it ends

A training with `--set run.tensorboard=true` writes that file by itself, a step at a time.

`running`: a process is writing it. `completed`, `failed` and `interrupted`: how it ended. `killed`: its
process died without recording an end; resume it with `--resume`. TensorBoard stores seven digits;
`events.jsonl` and the CSV file have full precision.";

/// All runs, and those that cannot be read.
#[derive(Serialize)]
struct RunsOutput<'a> {
    runs: Vec<&'a Overview>,
    unreadable: Vec<Unreadable<'a>>,
}

#[derive(Serialize)]
struct Unreadable<'a> {
    name: &'a str,
    error: String,
    #[serde(skip)]
    hint: Option<&'static str>,
}

impl<'a> Unreadable<'a> {
    fn new(name: &'a str, err: &ViewError) -> Self {
        Self { name, error: err.to_string(), hint: err.hint() }
    }
}

/// Lists, or writes.
pub(crate) fn run(args: &RunsArgs, printer: Printer) -> anyhow::Result<Exit> {
    match &args.command {
        None => list(args, printer),
        Some(RunsCommand::Csv { run, out }) => {
            let view = open_run(run)?;
            let out = out.clone().unwrap_or_else(|| view.dir().join("metrics.csv"));
            let steps = csv(&view, &out).map_err(Failure::View)?;
            wrote(&out, steps, printer)
        }
        Some(RunsCommand::Tensorboard { run, out, follow }) => {
            let view = open_run(run)?;
            let folder = out.clone().unwrap_or_else(|| view.dir().join(FOLDER));
            let mut file = EventFile::new(&view, &folder).map_err(Failure::View)?;
            loop {
                // Asked first: a run that ends meanwhile has its last step by then.
                let is_over =
                    !follow || !view.is_written().map_err(|err| Failure::View(err.into()))?;
                file.follow(&view).map_err(Failure::View)?;
                if is_over {
                    wrote(file.path(), file.steps(), printer)?;
                    NextCommand::given("tensorboard --logdir").path(&folder).say(printer);
                    return Ok(Exit::Done);
                }
                thread::sleep(POLL);
            }
        }
    }
}

fn wrote(out: &Path, steps: u64, printer: Printer) -> anyhow::Result<Exit> {
    printer.data(out.display())?;
    printer.note(many(steps, "step"));
    Ok(Exit::Done)
}

fn list(args: &RunsArgs, printer: Printer) -> anyhow::Result<Exit> {
    let dir = args.dir.as_deref().unwrap_or(Path::new(RUNS));
    let found = if args.dir.is_none() && !dir.exists() {
        // The first training makes it.
        Vec::new()
    } else {
        runs(dir).map_err(|err| Failure::View(err.into()))?
    };
    let unreadable = found.iter().filter_map(|(name, read)| Some((name, read.as_ref().err()?)));
    let unreadable: Vec<Unreadable<'_>> =
        unreadable.map(|(name, err)| Unreadable::new(name, err)).collect();
    let runs: Vec<&Overview> = found.iter().filter_map(|(_, read)| read.as_ref().ok()).collect();
    for Unreadable { name, error, hint } in &unreadable {
        let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
        printer.note(format_args!("{name} cannot be shown: {error}{hint}"));
    }
    if args.json {
        printer.json(&RunsOutput { runs, unreadable })?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        printer.note(format_args!("no runs in `{}`", dir.display()));
        NextCommand::whet("quickstart").say(printer);
        return Ok(Exit::Done);
    }
    let width = runs.iter().map(|run| run.name.len()).max().unwrap_or(0).max("run".len());
    let head = ["state", "stage", "step", "reward", "pass", "alarms", "size", "last event"];
    printer.data(format_args!("{:<width$}  {}", "run", row(head.map(str::to_owned))))?;
    for run in &runs {
        printer.data(format_args!("{:<width$}  {}", run.name, row(cells(run))))?;
    }
    if let Some(newest) = runs.iter().max_by_key(|run| run.last_ms) {
        NextCommand::whet("report").path(&dir.join(&newest.name)).say(printer);
    }
    Ok(Exit::Done)
}

fn row([state, stage, step, reward, pass, alarms, size, last]: [String; 8]) -> String {
    format!(
        "{state:<11}  {stage:<5}  {step:>6}  {reward:>7}  {pass:>7}  {alarms:>6}  {size:>9}  {last}"
    )
}

#[expect(clippy::cast_precision_loss, reason = "megabytes with one digit")]
fn cells(overview: &Overview) -> [String; 8] {
    let measured = |metric: Metric| {
        overview.values.get(metric.name).map_or("-".to_owned(), |value| format!("{value:.3}"))
    };
    [
        state(overview.state).to_owned(),
        overview.stage.clone().unwrap_or_else(|| "-".to_owned()),
        overview.step.map_or("-".to_owned(), |step| step.to_string()),
        measured(metric::GRPO_MEAN_REWARD),
        measured(metric::GRPO_PASS_RATE),
        overview.alarms.to_string(),
        format!("{:.1} MB", overview.bytes as f64 / 1e6),
        overview.last_ms.map_or("-".to_owned(), ago),
    ]
}

fn state(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Completed => "completed",
        RunState::Failed => "failed",
        RunState::Interrupted => "interrupted",
        RunState::Killed => "killed",
    }
}

/// The time since an event.
fn ago(time_ms: u64) -> String {
    let then = UNIX_EPOCH + Duration::from_millis(time_ms);
    let seconds = SystemTime::now().duration_since(then).map_or(0, |ago| ago.as_secs());
    match seconds {
        0..120 => format!("{seconds} s ago"),
        120..7200 => format!("{} min ago", seconds / 60),
        7200..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
