//! `whet prompt compare`: a model with several prompts, side by side.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use whetstone_config::Sources;
use whetstone_core::config::DeviceChoice;
use whetstone_eval::Baseline;
use whetstone_recipe::evaluation::prompts::{PromptComparison, TEMPLATES, compare};
use whetstone_recipe::shell::quoted;
use whetstone_recipe::text::{counted, estimate, percent, plain};

use crate::cli::ConfigArgs;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::train::stop;

/// `whet prompt compare`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ComparePromptsArgs {
    /// The model: a directory, a .gguf file, an adapter, a run, a name on the hub, or `embedded`
    #[arg(long, value_name = "MODEL")]
    pub model: String,

    /// LoRA adapter for the model: a directory in PEFT format
    #[arg(long, value_name = "DIR")]
    pub adapter: Option<PathBuf>,

    /// Prompts: built-in names, or template files
    #[arg(long, value_name = "NAME|FILE,…", value_delimiter = ',', default_value = TEMPLATES)]
    pub templates: Vec<String>,

    /// Tasks, one JSON object per line [default: small tasks that ship with whet]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,

    /// Measure the first N tasks
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tasks: u32,

    /// Maximal tokens of a reply [default: as `whet eval`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_tokens: Option<u32>,

    /// Device: `cpu`, `cuda:N`, or `auto`; same as `--set run.device=DEVICE`
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

impl ComparePromptsArgs {
    fn sources(&self) -> Sources {
        let mut sources = self.config.sources();
        sources.set.extend(self.device.map(|device| format!("run.device={device}")));
        sources
    }
}

const AFTER_HELP: &str = "\
Each prompt asks for every task once, with greedy decoding. A prompt that the model does not know shows itself by replies
without code; one whose replies are cut off needs more `--max-tokens`.

Examples:
  whet prompt compare --model Qwen/Qwen2.5-Coder-1.5B-Instruct --tasks data/val.jsonl --max-tasks 100
  whet prompt compare --model models/student --templates plain,mine.jinja --json

Exit codes: 0 done, 2 wrong usage, template or model, 3 something broke, 130 stopped by Ctrl-C.";

#[derive(Serialize)]
struct ComparedPrompts<'a> {
    v: u64,
    model: &'a str,
    best: &'a str,
    prompts: &'a [Baseline],
}

/// Runs `whet prompt compare`.
pub(super) fn run(args: &ComparePromptsArgs, printer: Printer) -> anyhow::Result<Exit> {
    let asked = PromptComparison {
        model: args.model.clone(),
        adapter: args.adapter.clone(),
        templates: args.templates.clone(),
        tasks: args.tasks.clone(),
        max_tasks: args.max_tasks as usize,
        max_tokens: args.max_tokens.map(|most| most as usize),
        threads: args.threads.map(usize::from),
        sources: args.sources(),
    };
    let stop = stop::on_signal(printer);
    let Some(found) = compare(&asked, &stop, &printer)? else {
        printer.note("stopped; nothing is kept");
        return Ok(Exit::Stopped);
    };
    let named = |found: &'_ Baseline| found.file.clone().unwrap_or_else(|| found.template.clone());
    let best = Baseline::best(&found).map(named).unwrap_or_default();
    if args.json {
        printer.json(&ComparedPrompts {
            v: 1,
            model: &args.model,
            best: &best,
            prompts: &found,
        })?;
    } else {
        printer.raw(&table(&args.model, &found))?;
        printer.note(format_args!("the best: --set prompt.template={}", quoted(&best)));
    }
    Ok(Exit::Done)
}

fn table(model: &str, found: &[Baseline]) -> String {
    let tasks = found.iter().map(|prompt| prompt.by_task.len()).max().unwrap_or(0);
    let (model, tasks) = (plain(model, 100), counted(tasks, "task"));
    let mut text = format!("{model}: {tasks}, greedy; 95 % intervals\n");
    rows(&mut text, "prompt", found);
    text
}

/// A line for each prompt.
pub(crate) fn rows(text: &mut String, title: &str, found: &[Baseline]) {
    let _ = writeln!(
        text,
        "\n  {title:<28} {:<22} {:<22} {:>8} {:>7}",
        "with code", "pass@1", "cut off", "tokens"
    );
    for baseline in found {
        let Baseline { greedy, code, cut_off, mean_tokens, by_task, .. } = baseline;
        let code = code.as_ref().map_or_else(|| "-".to_owned(), |code| estimate(&code.code_rate));
        let cut_off = format!("{:.1} %", percent(*cut_off, by_task.len() as u64));
        let tokens = mean_tokens.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:.0}"));
        let (prompt, greedy) = (plain(baseline.name(), 28), estimate(greedy));
        let _ = writeln!(text, "  {prompt:<28} {code:<22} {greedy:<22} {cut_off:>8} {tokens:>7}");
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::task::TaskId;
    use whetstone_eval::{CodeFigures, Estimate, TaskCount};

    use super::*;

    #[test]
    fn a_prompt_is_a_line_with_what_became_of_its_replies() {
        let at =
            |value: f64| Estimate { value, low: value / 2.0, high: 1.0, tasks: 4, left_out: 0 };
        let count = |name: &str| TaskCount::none(&TaskId::try_from(name.to_owned()).unwrap());
        let plain = Baseline {
            template: "plain".to_owned(),
            file: None,
            prompt: "plain-3f2a91c04d5e6f70".to_owned(),
            greedy: at(0.5),
            code: Some(CodeFigures { code_rate: at(0.75), pass_given_code: None }),
            cut_off: 1,
            mean_tokens: Some(120.4),
            by_task: ["a", "b", "c", "d"].map(count).to_vec(),
        };
        let file = Some("prompts/mine.jinja".to_owned());
        let other = Baseline { code: None, mean_tokens: None, cut_off: 0, file, ..plain.clone() };
        let expected = "m: 4 tasks, greedy; 95 % intervals\n\n  \
            prompt                       with code              pass@1                  cut off  tokens\n  \
            plain-3f2a91c04d5e6f70       75.0 % [37.5, 100.0]   50.0 % [25.0, 100.0]     25.0 %     120\n  \
            prompts/mine.jinja           -                      50.0 % [25.0, 100.0]      0.0 %       -\n";
        assert_eq!(table("m", &[plain, other]), expected);
    }
}
