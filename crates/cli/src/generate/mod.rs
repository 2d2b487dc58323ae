//! `whet generate`: prompts in, text of a model on this machine out.
//!
//! Prompts are tokenized before the weights are read, so that problems with them are reported
//! immediately. The only output is standard output, and a completion is written in one piece, so
//! the command can be interrupted at any time.

mod args;
mod output;
mod prompts;

use std::path::Path;
use std::time::Instant;

use whetstone_core::config::Config;
use whetstone_core::{Completion, Seed};
use whetstone_infer::{GenerateError, Generator, Limits, Local, Prompt, Usage};
use whetstone_model::Pretrained;
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};

pub use self::args::GenerateArgs;
use self::output::{Completions, Report, Seconds};
use self::prompts::Rendered;
use crate::device;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::model::find::{self, Around, Found};
use crate::model::{ModelFailure, open};
use crate::printer::Printer;
use crate::progress::Progress;

/// Completes prompts.
pub(crate) fn run(args: &GenerateArgs, printer: Printer) -> anyhow::Result<Exit> {
    let given = prompts::gather(args).map_err(Failure::Model)?;
    let began = Instant::now();
    let found = find_model(args, printer)?;
    let model = open(&found.model).map_err(Failure::Model)?;
    let limit = context(args, &model).map_err(Failure::Model)?;
    let rendered = given.into_iter().map(|given| prompts::render(args, &model, limit, given));
    let rendered: Vec<Rendered> = rendered.collect::<Result<_, _>>().map_err(Failure::Model)?;
    let positions = positions(args, &rendered, limit);
    let adapter = found.adapter.as_deref();
    let decoder = load(args, &model, adapter, positions, printer).map_err(Failure::Model)?;
    let load = began.elapsed().as_secs_f64();
    printer.note(format_args!("{} loaded in {load:.2} s", args.model));
    let limits = Limits { cache_bytes: cache_bytes(args), ..Limits::default() };
    let generator = Local::new(&decoder, &model.tokenizer, limits);
    let (usage, completions) = complete(args, generator, &rendered, printer)?;
    if args.json {
        let (prefill, decode) = (usage.prefill_time.as_secs_f64(), usage.decode_time.as_secs_f64());
        let seconds = Seconds { load, prefill, decode };
        printer.json(&Report {
            v: 1,
            model: args.model.clone(),
            prompts: output::prompt_reports(&rendered, completions),
            usage: (&usage).into(),
            seconds,
        })?;
    } else {
        output::talk(&usage, &completions, printer);
    }
    Ok(Exit::Done)
}

fn find_model(args: &GenerateArgs, printer: Printer) -> Result<Found, Failure> {
    let around = Around::of(&Config::default(), printer);
    find::find(&args.model, &around)?.with_adapter(args.adapter.as_deref())
}

/// The tokens that a sequence may have.
fn context(args: &GenerateArgs, model: &Pretrained) -> Result<usize, ModelFailure> {
    let made_for = model.config.positions;
    match args.context.map(|asked| asked as usize) {
        Some(asked) if asked > made_for => Err(ModelFailure::Context { asked, made_for }),
        asked => Ok(asked.unwrap_or(made_for)),
    }
}

/// The tokens that the longest sequence will have.
fn positions(args: &GenerateArgs, prompts: &[Rendered], limit: usize) -> usize {
    let longest = prompts.iter().map(|prompt| prompt.tokens.len()).max().unwrap_or(0);
    limit.min(longest + args.max_tokens as usize)
}

fn load(
    args: &GenerateArgs,
    model: &Pretrained,
    adapter: Option<&Path>,
    positions: usize,
    printer: Printer,
) -> Result<Decoder, ModelFailure> {
    let device = device::choose(args.device, args.threads.map(usize::from), printer)?;
    let options = LoadOptions { weights: WeightFormat::frozen(args.eight_bit), positions };
    let mut decoder = Decoder::load(&device, &model.config, model.weights.as_ref(), options)?;
    if let Some(dir) = adapter {
        decoder.load_adapter(dir)?;
    }
    device.check()?;
    Ok(decoder)
}

fn complete(
    args: &GenerateArgs,
    mut generator: Local<'_>,
    rendered: &[Rendered],
    printer: Printer,
) -> anyhow::Result<(Usage, Vec<Vec<Completion>>)> {
    let prompts: Vec<Prompt> =
        (0..).zip(rendered).map(|(at, rendered)| prompt(args, at, rendered)).collect();
    let all = prompts.len() as u64 * u64::from(args.samples);
    // One that is waited for alone is printed as soon as it is there.
    let watched = if all > 1 { printer } else { Printer::new(true) };
    let progress = Progress::new(watched, "completion");
    progress.reach(0, all);
    let shown_by = (!args.json).then_some(printer);
    let mut completions = Completions::new(prompts.len(), args.samples as usize, shown_by);
    let usage = generator.generate(&prompts, &mut |drawn| {
        progress.add_one();
        progress.suspend(|| completions.take(drawn))
    });
    progress.finish();
    let usage = usage.map_err(|source| Failure::Model(failure(rendered, source)))?;
    Ok((usage, completions.finish()?))
}

/// A failure with the place of its prompt.
fn failure(rendered: &[Rendered], source: GenerateError) -> ModelFailure {
    let at = match source {
        GenerateError::Empty { prompt }
        | GenerateError::Nothing { prompt, .. }
        | GenerateError::Token { prompt, .. }
        | GenerateError::TooLong { prompt, .. }
        | GenerateError::TooLarge { prompt, .. }
        | GenerateError::Rule { prompt, .. }
        | GenerateError::NotFinite { prompt, .. } => Some(prompt),
        GenerateError::Text(_) | GenerateError::Device(_) => None,
    };
    let place = at.and_then(|at| rendered.get(at)).map(|prompt| prompt.place.clone());
    ModelFailure::Generate { place: place.unwrap_or_else(|| "the prompts".to_owned()), source }
}

fn prompt(args: &GenerateArgs, at: u64, rendered: &Rendered) -> Prompt {
    Prompt {
        tokens: rendered.tokens.clone(),
        samples: args.samples as usize,
        rule: args.rule.into(),
        seed: Seed::new(args.seed).derive("generate", at),
        max_tokens: args.max_tokens as usize,
        stop: args.stop.clone(),
    }
}

fn cache_bytes(args: &GenerateArgs) -> usize {
    (args.cache_mb as usize).saturating_mul(1 << 20)
}
