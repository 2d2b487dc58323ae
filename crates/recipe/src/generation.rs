//! Completions of prompts by a model on this machine.
//!
//! Prompts are tokenized before the weights are read, so that problems with them are reported
//! immediately.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use whetstone_core::Seed;
use whetstone_core::config::{Config, DeviceChoice};
use whetstone_infer::{
    GenerateError, Headway, Limits, Local, Prompt, Rule, Sampled, SampledCompletion, SampledModel,
    SamplingJob, Usage, Watch,
};
use whetstone_model::Pretrained;
use whetstone_model::decoder::{LoadOptions, WeightFormat};

use crate::device;
use crate::failure::Failure;
use crate::find::{Around, find};
use crate::model_failure::ModelFailure;
use crate::observer::{Observer, Silent};
use crate::prompts::{Chat, Given, Rendered, render};
use crate::sampling_watch::SamplingWatch;

/// How prompts are to be completed, and by whom.
#[derive(Debug, Clone)]
pub struct GenerateRequest {
    /// The model.
    pub model: String,
    /// An adapter for it.
    pub adapter: Option<PathBuf>,
    /// Applies the model's chat template.
    pub chat: Option<Chat>,
    /// Maximal tokens of a completion.
    pub max_tokens: usize,
    /// The sampling rule.
    pub rule: Rule,
    /// Completions of each prompt.
    pub samples: usize,
    /// The random seed.
    pub seed: u64,
    /// Stop strings.
    pub stop: Vec<String>,
    /// Quantises projections to 8 bits.
    pub eight_bit: bool,
    /// The device.
    pub device: DeviceChoice,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
    /// Tokens of prompt and completion together, at most; the model's context length if absent.
    pub context: Option<usize>,
    /// Bytes of the KV cache; planned from the memory of the device if absent.
    pub cache_bytes: Option<usize>,
    /// What is shown while completions are sampled.
    pub shown: Shown,
    /// Said before sampling if the model has a chat template and gets plain text.
    pub chat_hint: Option<String>,
}

/// What is shown while completions are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// How many of several completions are done.
    Progress,
    /// Their text, by the caller.
    Text,
}

/// Receives completions.
pub struct Sink<'a> {
    /// Takes text as it is sampled, and each completion as soon as it is done; a `Break` ends the work.
    pub take: &'a mut dyn FnMut(Sampled<'_>) -> ControlFlow<()>,
    /// Set to stop.
    pub stop: &'a AtomicBool,
}

/// What was done.
#[derive(Debug)]
pub struct Generated {
    /// The prompts as the model saw them.
    pub prompts: Vec<Rendered>,
    /// The work of the generator.
    pub usage: Usage,
    /// The time until the model was loaded.
    pub loading: Duration,
}

/// Completes prompts; text is handed over as it is sampled, each completion as soon as it is done, and a `Break`
/// ends the work.
///
/// # Errors
///
/// If the model or a prompt cannot be used, or the device fails.
pub fn run(
    request: &GenerateRequest,
    given: Vec<Given>,
    sink: &mut Sink<'_>,
    observer: &dyn Observer,
) -> Result<Generated, Failure> {
    let began = Instant::now();
    let config = Config::default();
    let found = find(&request.model, &Around::of(&config, observer))?;
    let found = found.with_adapter(request.adapter.as_deref())?;
    let model = found.open()?;
    let limit = context(request, &model)?;
    let chat = request.chat.as_ref();
    let prompts = given.into_iter().map(|given| render(&model, chat, limit, given));
    let prompts: Vec<Rendered> = prompts.collect::<Result<_, _>>()?;
    let longest = prompts.iter().map(|prompt| prompt.tokens.len()).max().unwrap_or(0);
    let device = device::choose(request.device, request.threads, observer)?;
    let options = LoadOptions {
        weights: WeightFormat::frozen(request.eight_bit),
        positions: limit.min(longest + request.max_tokens),
    };
    observer.note(&format_args!("loading {}", request.model));
    let decoder = found.load(&model, &device, options)?;
    let loading = began.elapsed();
    observer.note(&format_args!("{} loaded in {:.2} s", request.model, loading.as_secs_f64()));
    let is_plain = chat.is_none() && model.template.is_some();
    if let Some(hint) = request.chat_hint.as_ref().filter(|_| is_plain) {
        observer.note(hint);
    }
    let job = SamplingJob {
        sequences: prompts.len().saturating_mul(request.samples),
        tokens: options.positions,
    };
    let sampled =
        SampledModel { config: &model.config, device: &device, eight_bit: request.eight_bit };
    let planned = sampled.limits(job);
    let cache_bytes = request.cache_bytes.unwrap_or(planned.cache_bytes);
    let limits = Limits { cache_bytes, ..planned };
    let generator = Local::new(&decoder, &model.tokenizer, limits);
    let usage = sample(generator, request, &prompts, &mut Watched { sink, observer });
    let usage = usage.map_err(|source| failure(&prompts, source))?;
    Ok(Generated { prompts, usage, loading })
}

/// Who takes what is sampled, and who sees how far it is.
struct Watched<'a, 's> {
    sink: &'a mut Sink<'s>,
    observer: &'a dyn Observer,
}

fn sample(
    generator: Local<'_>,
    request: &GenerateRequest,
    prompts: &[Rendered],
    watched: &mut Watched<'_, '_>,
) -> Result<Usage, GenerateError> {
    let samples = prompts.len() * request.samples;
    // One that is waited for alone is handed over as soon as it is there; text that is shown would be in the
    // line of the progress.
    let has_progress = samples > 1 && request.shown == Shown::Progress;
    let observer: &dyn Observer = if has_progress { watched.observer } else { &Silent };
    let progress = observer.progress("completion");
    progress.reach(0, samples as u64);
    let asked = (0..).zip(prompts).map(|(at, rendered)| prompt(request, at, rendered));
    let watch = SamplingWatch::new(&*progress, watched.sink.stop);
    let look = |headway: &dyn Fn() -> Headway| watch.look(headway);
    let mut generator = generator.watched(Watch(&look));
    let take = &mut *watched.sink.take;
    let usage = generator.generate_with_text(&asked.collect::<Vec<_>>(), &mut |sampled| {
        let done = match sampled {
            Sampled::Text { id, text } => {
                let whole = format!("{}{text}", prompts[id.prompt].begun);
                return take(Sampled::Text { id, text: &whole });
            }
            Sampled::Done(done) => whole_reply(done, prompts),
        };
        progress.add_one();
        let (mut done, mut flow) = (Some(done), ControlFlow::Continue(()));
        progress.suspend(&mut || {
            flow = done.take().map_or(flow, |done| take(Sampled::Done(done)));
        });
        flow
    });
    progress.finish();
    usage
}

/// A completion whose text begins with what the prompt said of it.
fn whole_reply(mut sampled: SampledCompletion, prompts: &[Rendered]) -> SampledCompletion {
    sampled.completion.text.insert_str(0, &prompts[sampled.prompt].begun);
    sampled
}

/// The tokens that a sequence may have.
fn context(request: &GenerateRequest, model: &Pretrained) -> Result<usize, ModelFailure> {
    let made_for = model.config.positions;
    match request.context {
        Some(asked) if asked > made_for => Err(ModelFailure::Context { asked, made_for }),
        asked => Ok(asked.unwrap_or(made_for)),
    }
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

fn prompt(request: &GenerateRequest, at: u64, rendered: &Rendered) -> Prompt {
    Prompt {
        tokens: rendered.tokens.clone(),
        messages: [].into(),
        samples: request.samples,
        first_sample: 0,
        rule: request.rule,
        seed: Seed::new(request.seed).derive("generate", at),
        max_tokens: request.max_tokens,
        stop: request.stop.clone(),
    }
}
