//! `whet prompt show`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use whetstone_core::message::Role;
use whetstone_core::prompt::BUILT_IN;
use whetstone_recipe::prompt_shown::{PromptRequest, ShownPrompt, run as show, source};

use crate::cli::ConfigArgs;
use crate::exit::Exit;
use crate::printer::Printer;

/// `whet prompt show`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ShowArgs {
    /// The task's id [default: the first of the file]
    #[arg(value_name = "TASK")]
    pub task: Option<String>,

    /// The model that reads it: a directory, a .gguf file, an adapter, a run, a name on the hub, or `embedded`
    ///
    /// Without one, only the messages are shown.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// LoRA adapter for the model: a directory in PEFT format
    #[arg(long, value_name = "DIR", requires = "model")]
    pub adapter: Option<PathBuf>,

    /// Tasks, one JSON object per line [default: a small task that ships with whet]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,

    /// The template, a built-in name or a file; same as `--set prompt.template=NAME`
    #[arg(long, value_name = "NAME|FILE")]
    pub template: Option<String>,

    /// Print the text of the template itself, to begin one of your own
    #[arg(long, conflicts_with_all = ["task", "model", "adapter", "tasks", "json"])]
    pub source: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print one JSON document: messages, text, and each token
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
A template is a minijinja file that writes the user's message of a task. It has `statement`, `entry_point` (or none),
`tests` (the visible ones, a list of lines), `examples` (visible runs, each with `input` and `output`), `language` and
`language_name`, and `prompt_language`; hidden tests and the reference solution are not among them. It may set `system`,
`prefill` (the beginning of the answer), `chat` (false: no chat template) and `stop` (a list of strings).

Examples:
  whet prompt show --model Qwen/Qwen2.5-Coder-1.5B-Instruct --tasks data/val.jsonl mbpp/11
  whet prompt show --template plain --source > mine.jinja
  whet prompt show --template mine.jinja --model models/student --json

Exit codes: 0 done, 2 wrong usage, template, task or model, 3 something broke.";

/// Runs `whet prompt show`.
pub(super) fn run(args: &ShowArgs, printer: Printer) -> anyhow::Result<Exit> {
    let mut sources = args.config.sources();
    if let Some(template) = &args.template {
        sources.set.push(format!("prompt.template={}", serde_json::to_string(template)?));
    }
    if args.source {
        printer.data(source(&sources)?.trim_end())?;
        return Ok(Exit::Done);
    }
    let request = PromptRequest {
        task: args.task.clone(),
        tasks: args.tasks.clone(),
        model: args.model.clone(),
        adapter: args.adapter.clone(),
        sources,
    };
    let shown = show(&request, &printer)?;
    if args.json {
        printer.json(&shown)?;
    } else {
        printer.data(text(&shown))?;
        let known = BUILT_IN.map(|(name, _)| name).join(", ");
        printer.note(format_args!("templates: {known}, or a file of yours"));
    }
    Ok(Exit::Done)
}

/// A role as chat templates name it.
fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// The prompt as text, then its tokens.
fn text(shown: &ShownPrompt) -> String {
    let mut out = String::new();
    let Some(text) = &shown.text else {
        let _ = write!(out, "{} for {}, no model named", shown.prompt, shown.task);
        for message in &shown.messages {
            let _ = write!(out, "\n\n[{}]\n{}", role(message.role), message.content);
        }
        return out;
    };
    let thinking = shown.settings.thinking;
    let _ = writeln!(out, "{} for {}, thinking {thinking}\n", shown.prompt, shown.task);
    let _ = writeln!(out, "{text}\n");
    let _ = writeln!(out, "{} tokens:", shown.tokens.len());
    for token in &shown.tokens {
        let _ = write!(out, "\n{:>8}  {:?}", token.id, token.text);
    }
    out
}
