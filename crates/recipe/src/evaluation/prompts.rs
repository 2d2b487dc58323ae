//! A model with several prompts, measured greedily on the same tasks: the baselines of an evaluation, `whet prompt
//! compare`, and a check of `whet doctor`.
//!
//! ```text
//! prompt ─► one greedy sample of every task ─► Baseline: pass@1, replies with code, cut off, tokens of a reply
//! ```
//!
//! Each is an evaluation of its own in a folder of its own, `prompts/NAME`, so its samples are kept and an interrupted
//! one resumes. The model is loaded once.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use whetstone_config::Sources;
use whetstone_core::Seed;
use whetstone_core::config::{Config, PromptConfig};
use whetstone_core::task::Task;
use whetstone_data::embedded;
use whetstone_eval::{About, Baseline, EvalError, Evaluated, RESULTS, Results, Times};

use super::{EvalRequest, Measure, local, tasks};
use crate::failure::Failure;
use crate::observer::{Observer, Silent};
use crate::prompting;
use crate::scratch::Scratch;

/// The prompts that are measured unless others are named.
pub const TEMPLATES: &str = "plain,evalplus,unified";

/// The folder of the baselines in that of an evaluation.
const FOLDER: &str = "prompts";

/// Prompts to compare.
#[derive(Debug, Clone)]
pub struct PromptComparison {
    /// The model's name.
    pub model: String,
    /// An adapter for the model.
    pub adapter: Option<PathBuf>,
    /// Built-in names or files of templates.
    pub templates: Vec<String>,
    /// The file of tasks; without one, tasks that ship with whet.
    pub tasks: Option<PathBuf>,
    /// Tasks at most.
    pub max_tasks: usize,
    /// Maximal tokens of a reply, if not those of an evaluation.
    pub max_tokens: Option<usize>,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
    /// Sources of settings.
    pub sources: Sources,
}

/// Measures a model with each prompt; `None` if it was stopped. No sample is kept.
///
/// # Errors
///
/// If settings, tasks, a template or the model cannot be used, or measuring fails.
pub fn compare(
    asked: &PromptComparison,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Option<Vec<Baseline>>, Failure> {
    let scratch = Scratch::new()?;
    let PromptComparison { model, adapter, sources, .. } = asked;
    let request = EvalRequest {
        tasks: asked.tasks.clone().unwrap_or_default(),
        model: Some(model.clone()),
        adapter: adapter.clone(),
        out: scratch.path().join("out"),
        max_tokens: asked.max_tokens,
        max_tasks: Some(asked.max_tasks),
        threads: asked.threads,
        sources: sources.clone(),
        ..EvalRequest::default()
    };
    let config = sources.load(&[]).map_err(Failure::Config)?.config;
    let tasks = match &asked.tasks {
        Some(_) => tasks(&request, &config, observer)?,
        None => shipped(asked.max_tasks),
    };
    let (began, is_variant) = (Instant::now(), false);
    let whole = Measure {
        request: &request,
        config: &config,
        tasks: &tasks,
        stop,
        began,
        observer,
        is_variant,
    };
    measured(&whole, prompts_of(sources, &asked.templates)?)
}

/// Measures a model with the prompt of the settings on small tasks; `None` if it was stopped.
///
/// # Errors
///
/// As of [`compare`].
pub fn try_out(
    config: &Config,
    model: &str,
    limits: TryOut,
    observer: &dyn Observer,
) -> Result<Option<Baseline>, Failure> {
    let scratch = Scratch::new()?;
    let request = EvalRequest {
        model: Some(model.to_owned()),
        out: scratch.path().join("out"),
        max_tokens: Some(limits.max_tokens),
        ..EvalRequest::default()
    };
    let (tasks, stop) = (shipped(limits.tasks), AtomicBool::new(false));
    let (began, is_variant) = (Instant::now(), false);
    let whole = Measure {
        request: &request,
        config,
        tasks: &tasks,
        stop: &stop,
        began,
        observer,
        is_variant,
    };
    let own = AskedPrompt { prompt: config.prompt.clone(), file: None };
    let measured = measured(&whole, vec![own])?;
    Ok(measured.and_then(|measured| measured.into_iter().next()))
}

/// The size of a small measurement.
#[derive(Debug, Clone, Copy)]
pub struct TryOut {
    /// Tasks.
    pub tasks: usize,
    /// Maximal tokens of a reply.
    pub max_tokens: usize,
}

/// Makes evaluations that differ in their settings, one after the other; `None` if they were stopped. A local model is
/// loaded once.
pub(super) fn measure_each(measures: &[Measure<'_>]) -> Result<Option<Vec<Evaluated>>, Failure> {
    let is_local = |measure: &Measure<'_>| {
        let request = measure.request;
        request.samples.is_none() && request.server.is_none() && request.policy.is_none()
    };
    if measures.iter().all(is_local) {
        return local::measure_each(measures);
    }
    measures.iter().map(Measure::measure_alone).collect()
}

/// The settings of each prompt: a template's name, or the text of its file.
fn prompts_of(sources: &Sources, templates: &[String]) -> Result<Vec<AskedPrompt>, Failure> {
    let of = |template: &String| {
        let mut sources = sources.clone();
        sources.set.push(format!("prompt.template={}", serde_json::Value::from(template.as_str())));
        let prompt = sources.load(&[]).map_err(Failure::Config)?.config.prompt;
        let file = (prompt.template != *template).then(|| template.clone());
        Ok(AskedPrompt { prompt, file })
    };
    templates.iter().map(of).collect()
}

/// A prompt to measure.
struct AskedPrompt {
    prompt: PromptConfig,
    /// The file of its template, if it has one.
    file: Option<String>,
}

fn measured(
    whole: &Measure<'_>,
    prompts: Vec<AskedPrompt>,
) -> Result<Option<Vec<Baseline>>, Failure> {
    let variants = Variant::all(whole, prompts)?;
    let measures: Vec<Measure<'_>> =
        variants.iter().map(|variant| variant.measure(whole)).collect();
    let Some(evaluated) = measure_each(&measures)? else { return Ok(None) };
    let results = evaluated.into_iter().map(|evaluated| evaluated.results);
    Ok(Some(baselines(&variants, results)))
}

/// Small tasks that ship with whet.
fn shipped(count: usize) -> Vec<Task> {
    embedded::generate(Seed::new(0), count).into_iter().map(|made| made.task).collect()
}

/// An evaluation with one of several prompts.
struct Variant {
    request: EvalRequest,
    config: Config,
    /// The template as the settings name it.
    template: String,
    file: Option<String>,
}

impl Variant {
    /// The evaluations to make with these prompts, each settled for the model.
    fn all(whole: &Measure<'_>, prompts: Vec<AskedPrompt>) -> Result<Vec<Self>, Failure> {
        prompts.into_iter().map(|prompt| Self::of(whole, prompt)).collect()
    }

    fn of(whole: &Measure<'_>, asked: AskedPrompt) -> Result<Self, Failure> {
        let AskedPrompt { prompt, file } = asked;
        let template = prompt.template.clone();
        let mut config = Config { prompt, ..whole.config.clone() };
        config.eval.num_samples = 1;
        config.eval.temperature = 0.0;
        config.eval.more_temperatures.clear();
        config.eval.k = vec![1];
        config.prompt =
            Measure { config: &config, observer: &Silent, ..*whole }.settled_prompt()?;
        let out = whole.request.out.join(FOLDER).join(prompting::identity(&config.prompt));
        let request = EvalRequest {
            out,
            skip_greedy: true,
            keep_tokens: false,
            best_of: None,
            ..whole.request.clone()
        };
        Ok(Self { request, config, template, file })
    }

    fn measure<'v>(&'v self, whole: &Measure<'v>) -> Measure<'v> {
        let Self { request, config, .. } = self;
        Measure { request, config, is_variant: true, began: Instant::now(), ..*whole }
    }
}

impl Measure<'_> {
    /// Evaluates the model with the prompts of its baselines, and then with its own.
    pub(super) fn with_baselines(&self) -> Result<Option<Results>, Failure> {
        let EvalRequest { baseline_prompts, sources, out, .. } = self.request;
        let variants = Variant::all(self, prompts_of(sources, baseline_prompts)?)?;
        let measures = variants.iter().map(|variant| variant.measure(self));
        let measures: Vec<Measure<'_>> = measures.chain([*self]).collect();
        let Some(mut evaluated) = measure_each(&measures)? else { return Ok(None) };
        let Some(Evaluated { mut results, .. }) = evaluated.pop() else { return Ok(None) };
        if !variants.is_empty() {
            let found = evaluated.into_iter().map(|evaluated| evaluated.results);
            results.baseline_prompts = baselines(&variants, found);
            results.write(&out.join(RESULTS))?;
        }
        Ok(Some(results))
    }

    /// The results of a variant that were made before.
    pub(super) fn made_before(&self, about: &About) -> Result<Option<Evaluated>, Failure> {
        let path = self.request.out.join(RESULTS);
        if !self.is_variant || self.request.fresh || !path.exists() {
            return Ok(None);
        }
        let results = Results::read(&path)?;
        if results.settings != about.settings {
            return Err(EvalError::Exists { path }.into());
        }
        Ok((results.errors == 0).then(|| Evaluated { results, times: Times::default() }))
    }
}

/// What the evaluations with several prompts came to.
fn baselines(variants: &[Variant], results: impl Iterator<Item = Results>) -> Vec<Baseline> {
    let of = |(variant, results): (&Variant, Results)| {
        let found = Baseline::of(results, &variant.template)?;
        Some(Baseline { file: variant.file.clone(), ..found })
    };
    variants.iter().zip(results).filter_map(of).collect()
}
