//! `whet generate`: prompts in, text of a model on this machine out.
//!
//! The only output is standard output, and a completion is written in one piece, so the command can be
//! interrupted at any time. Answers to JSON Lines are in `lines`. Where text is streamed, a completion is written as it is sampled: the pieces are
//! the same bytes.

mod args;
mod lines;
mod output;
mod screen;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_core::completion::Finish;
use whetstone_infer::Sampled;
use whetstone_recipe::failure::Failure;
use whetstone_recipe::generation::{Shown, Sink};
use whetstone_recipe::{generation, prompts};

pub use self::args::GenerateArgs;
pub(crate) use self::args::{count, within};
use self::output::{Completions, GenerateOutput, Seconds};
use self::screen::Screen;
use crate::exit::Exit;
use crate::printer::{Printer, Tone};

/// Completes prompts.
pub(crate) fn run(args: &GenerateArgs, printer: Printer) -> anyhow::Result<Exit> {
    let given = match &args.prompt {
        Some(text) => vec![prompts::typed(text)],
        None => prompts::of_file(args.file.as_deref().unwrap_or(Path::new("-")))
            .map_err(Failure::Model)?,
    };
    if given.iter().any(|given| given.fields.is_some()) {
        return lines::run(args, given, printer);
    }
    let screen = Screen::new(printer);
    let shown = shown(args, &screen);
    if shown == Shown::Text {
        screen.end_line_on_signal();
    }
    let mut completions = Completions::new(given.len(), args.samples as usize);
    let mut trouble = None;
    let take = &mut |sampled: Sampled<'_>| {
        let pieces = match sampled {
            Sampled::Text { id, text } if shown == Shown::Text => completions.grow(id, text),
            Sampled::Text { .. } => Vec::new(),
            Sampled::Done(sampled) => completions.take(sampled),
        };
        // One call for each, so that an interrupted command has printed only complete completions, unless
        // they are streamed.
        let written =
            pieces.iter().filter(|_| !args.json).try_for_each(|piece| screen.write(piece));
        trouble = written.err();
        if trouble.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let request = args.request(shown, chat_hint(args, printer));
    // A signal ends the program at once: what was written is whole, or was streamed.
    let never = AtomicBool::new(false);
    let mut sink = Sink { take, stop: &never };
    let generated =
        generation::run(&request, given, &mut sink, &printer).inspect_err(|_| screen.end_line())?;
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    let (usage, completions) = (generated.usage, completions.finish());
    if args.json {
        printer.json(&GenerateOutput {
            v: 1,
            model: args.model.clone(),
            prompts: output::prompt_reports(&generated.prompts, completions),
            usage: (&usage).into(),
            seconds: Seconds {
                load: generated.loading.as_secs_f64(),
                prefill: usage.prefill_time.as_secs_f64(),
                decode: usage.decode_time.as_secs_f64(),
            },
        })?;
    } else {
        let all = completions.iter().flatten();
        let finished: Vec<Finish> = all.map(|completion| completion.finish).collect();
        output::talk(&usage, &finished, printer);
    }
    Ok(Exit::Done)
}

/// Text is streamed to a terminal and on request, and never into JSON.
fn shown(args: &GenerateArgs, screen: &Screen) -> Shown {
    let is_streamed = args.stream || (screen.is_terminal() && !args.no_stream && !args.json);
    if is_streamed { Shown::Text } else { Shown::Progress }
}

/// For a model with a chat template that gets plain text.
fn chat_hint(args: &GenerateArgs, printer: Printer) -> Option<String> {
    let hint = printer.toned_talk("hint", Tone::Hint);
    let said = "the model has a chat template, and this prompt is completed as plain text: `--chat` applies it \
                (`--chat --json` has the rendered prompt)";
    (!args.json).then(|| format!("{hint}: {said}"))
}
