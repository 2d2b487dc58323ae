//! `whet generate`: prompts in, text of a model on this machine out.
//!
//! The only output is standard output, and a completion is written in one piece, so the command can be
//! interrupted at any time.

mod args;
mod output;

use std::path::Path;

use whetstone_recipe::failure::Failure;
use whetstone_recipe::{generation, prompts};

pub use self::args::GenerateArgs;
pub(crate) use self::args::{count, within};
use self::output::{Completions, GenerateOutput, Seconds};
use crate::exit::Exit;
use crate::printer::Printer;

/// Completes prompts.
pub(crate) fn run(args: &GenerateArgs, printer: Printer) -> anyhow::Result<Exit> {
    let given = match &args.prompt {
        Some(text) => vec![prompts::typed(text)],
        None => prompts::of_file(args.file.as_deref().unwrap_or(Path::new("-")))
            .map_err(Failure::Model)?,
    };
    let shown_by = (!args.json).then_some(printer);
    let mut completions = Completions::new(given.len(), args.samples as usize, shown_by);
    let done = &mut |sampled| completions.take(sampled);
    let generated = generation::run(&args.request(), given, done, &printer)?;
    let (usage, completions) = (generated.usage, completions.finish()?);
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
        output::talk(&usage, &completions, printer);
    }
    Ok(Exit::Done)
}
