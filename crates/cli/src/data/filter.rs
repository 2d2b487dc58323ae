//! `whet data filter`: tasks in, those that the student solves now and then out.

use std::path::PathBuf;

use clap::Args;
use whetstone_core::config::Config;
use whetstone_recipe::filtered::{FEW_SAMPLES, FilterSummary};
use whetstone_recipe::filtering::{self, DEFAULT_MAX, DEFAULT_MIN, FilterRequest};
use whetstone_recipe::text::{many, plain};

use crate::cli::ConfigArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::Printer;

/// `whet data filter`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct FilterArgs {
    /// Pass rates: a directory of `whet eval` or its `evaluation_results.json`, or a file of scored rollouts
    #[arg(long, value_name = "PATH")]
    pub rates: PathBuf,

    /// Tasks, one JSON object per line
    #[arg(long, value_name = "FILE", default_value = "data/proven.jsonl")]
    pub tasks: PathBuf,

    /// Output file
    #[arg(long, value_name = "FILE", default_value = "data/filtered.jsonl")]
    pub out: PathBuf,

    /// Lowest pass rate that is kept
    #[arg(long, value_name = "RATE", default_value_t = DEFAULT_MIN, value_parser = rate)]
    pub min: f64,

    /// Highest pass rate that is kept
    #[arg(long, value_name = "RATE", default_value_t = DEFAULT_MAX, value_parser = rate)]
    pub max: f64,

    /// The model that will be trained, as `whet eval --model` named it [default: the setting `student.model_name`]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Take rates of another model too
    #[arg(long, conflicts_with = "model")]
    pub any_model: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

impl FilterArgs {
    fn request(&self) -> FilterRequest {
        FilterRequest {
            rates: self.rates.clone(),
            tasks: self.tasks.clone(),
            out: self.out.clone(),
            min: self.min,
            max: self.max,
            model: self.model.clone(),
            any_model: self.any_model,
        }
    }
}

/// Filters tasks.
pub(crate) fn run(args: &FilterArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    let summary = filtering::run(&args.request(), &config)?;
    if args.json {
        printer.json(&summary)?;
    } else {
        printer.raw(&text(&summary, args))?;
        NextCommand::whet("train grpo --run grpo-1 --tasks").path(&args.out).say(printer);
    }
    for sentence in doubts(&summary, &config) {
        printer.warning(sentence);
    }
    Ok(Exit::Done)
}

fn text(summary: &FilterSummary, args: &FilterArgs) -> String {
    let FilterArgs { min, max, .. } = args;
    let mut lines = vec![format!(
        "{} of {} kept, into {}",
        summary.kept,
        many(summary.tasks, "task"),
        args.out.display()
    )];
    let rows = [
        (
            format!("below {min}"),
            summary.too_hard,
            format!("{} never solved", summary.never_solved),
        ),
        (
            format!("above {max}"),
            summary.too_easy,
            format!("{} always solved", summary.always_solved),
        ),
        ("without a rate".to_owned(), summary.no_rate, String::new()),
    ];
    for (name, count, note) in rows {
        lines.push(format!("  {name:<16} {count:>8}  {note}").trim_end().to_owned());
    }
    if summary.other_tasks > 0 {
        lines.push(format!("  {:<16} {:>8}", "of other tasks", summary.other_tasks));
    }
    if !summary.models.is_empty() {
        let models: Vec<String> = summary.models.iter().map(|model| plain(model, 200)).collect();
        lines.push(format!("  rates of {}", models.join(", ")));
    }
    lines.join("\n") + "\n"
}

/// What makes the rates doubtful.
fn doubts(summary: &FilterSummary, config: &Config) -> Vec<String> {
    let mut doubts = Vec::new();
    if summary.few_samples > 0 {
        doubts.push(format!(
            "{} of fewer than {FEW_SAMPLES} samples: such a rate says little; `whet eval --num-samples 8` measures better",
            many(summary.few_samples, "rate")
        ));
    }
    if summary.models.is_empty() {
        doubts.push(
            "the rates name no model: whether they are the student's cannot be checked".to_owned(),
        );
    }
    if summary.same_tasks == Some(false) {
        doubts.push(
            "the tasks are not those that were measured: some have the same ids and other statements or tests"
                .to_owned(),
        );
    }
    let trained = config.grpo.temperature;
    // Rollouts keep it as a number of 32 bits.
    let is_other = |measured: &f64| (measured - trained).abs() > 1e-6;
    if let Some(measured) = summary.temperature.filter(is_other) {
        doubts.push(format!(
            "the rates are of samples at temperature {measured}, and `grpo.temperature` is {trained}"
        ));
    }
    doubts
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a rate from 0 to 1, e.g. 0.05".to_owned())
}

const AFTER_HELP: &str = "\
A group of rollouts that all pass, or all fail, has no advantage: time on it is lost. Rates are of the model that
training begins with; a file of another model is refused. The bounds are kept too: with 8 samples a task that was
solved once (0.125) stays, with the defaults, and one that was solved 8 times does not. Tasks without a rate are left out.

Rates say less the fewer samples they have: a task that half of all replies solve is missed by 8 samples once in 256
times, one that a twentieth solve in two of three. Give every task 8 samples or more.

Examples:
  whet eval --tasks data/proven.jsonl --model Qwen/Qwen2.5-Coder-1.5B-Instruct --num-samples 8 --out eval/rates
  whet data filter --rates eval/rates --tasks data/proven.jsonl --set student.model_name=Qwen/Qwen2.5-Coder-1.5B-Instruct
  whet data filter --rates eval/sft-1 --model runs/sft-1/outputs/final_model   a training with `--from runs/sft-1`
  whet data filter --rates rollouts.scored.jsonl --min 0.1 --max 0.8 --json

Exit codes: 0 tasks were kept, 2 wrong usage, config or input, or no task is left, 3 something broke.";
