//! A model on this machine, measured.

use std::path::PathBuf;
use std::time::Instant;

use whetstone_core::Task;
use whetstone_core::config::PromptConfig;
use whetstone_core::prompt::PromptTemplate;
use whetstone_env::environment::Environment as _;
use whetstone_env::registry::Environments;
use whetstone_eval::{Evaluated, make_room};
use whetstone_infer::{Headway, Limits, Local, SampledModel, SamplingJob, Watch};
use whetstone_kernels::Device;
use whetstone_model::Pretrained;
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_model::memory::Plan;
use whetstone_model::template::ChatTemplate;
use whetstone_rollout::collect::RenderError;

use super::{AT_A_TIME, EvalRequest, Measure, Source, max_turns};
use crate::failure::Failure;
use crate::find::{self, Around, Found};
use crate::local_model::tokens;
use crate::observer::Silent;
use crate::sampling_watch::SamplingWatch;
use crate::scratch::Scratch;
use crate::{device, environment, local_model, prompting};

/// Makes evaluations of one model that differ in their prompts; `None` if they were stopped.
pub(super) fn measure_each(measures: &[Measure<'_>]) -> Result<Option<Vec<Evaluated>>, Failure> {
    // Before anything large is loaded: the judge's processes are children of this one.
    let environments = measures
        .iter()
        .map(|measure| environment::for_evaluation(measure.config, measure.tasks))
        .collect::<Result<Vec<Environments>, Failure>>()?;
    let Some(last) = measures.last() else { return Ok(Some(Vec::new())) };
    for measure in measures.iter().filter(|measure| !measure.is_variant) {
        make_room(&measure.request.out, measure.earlier())?;
    }
    let place = find(last)?;
    let asked = measures.iter().zip(&environments);
    let asked: Vec<AskedModel<'_>> = asked
        .map(|(measure, environment)| AskedModel::open(measure, environment, &place))
        .collect::<Result<_, Failure>>()?;
    let device = device::open(last.config, last.request.threads, last.observer)?;
    let weights = WeightFormat::frozen(last.request.eight_bit);
    let positions = asked.iter().map(|asked| asked.longest + asked.max_tokens).max().unwrap_or(1);
    let options = LoadOptions { weights, positions };
    let Some(first) = asked.first() else { return Ok(Some(Vec::new())) };
    let decoder = place.load(&first.model, &device, options)?;
    // The first waited for the model.
    let began = |at: usize| if at == 0 { last.began } else { Instant::now() };
    let measured = asked.iter().enumerate();
    measured.map(|(at, asked)| asked.measure(&place, &device, &decoder, began(at))).collect()
}

/// A model that is asked with one prompt.
struct AskedModel<'a> {
    measure: &'a Measure<'a>,
    environment: &'a Environments,
    model: Pretrained,
    max_tokens: usize,
    /// Tokens of the longest prompt.
    longest: usize,
}

impl<'a> AskedModel<'a> {
    fn open(
        measure: &'a Measure<'a>,
        environment: &'a Environments,
        place: &Found,
    ) -> Result<Self, Failure> {
        let model = open(measure, place)?;
        let max_tokens = measure.max_tokens(model.config.positions);
        let room = room(&model, max_tokens)?;
        let has_turns = !max_turns(environment, measure.tasks).is_empty();
        let longest = if has_turns { room } else { longest(measure, &model)?.min(room) };
        Ok(Self { measure, environment, model, max_tokens, longest })
    }

    fn measure(
        &self,
        place: &Found,
        device: &Device,
        decoder: &Decoder,
        began: Instant,
    ) -> Result<Option<Evaluated>, Failure> {
        let Self { measure, environment, model, max_tokens, longest } = self;
        let measure = &Measure { began, ..**measure };
        let (max_tokens, longest) = (*max_tokens, *longest);
        let about =
            measure.about_sampling(place.name.clone(), max_tokens, settings(place, measure));
        let job = SamplingJob { sequences: sequences(measure), tokens: longest + max_tokens };
        let eight_bit = measure.request.eight_bit;
        let sampled = SampledModel { config: &model.config, device, eight_bit };
        let progress = measure.observer.progress("sample");
        let watch = SamplingWatch::new(&*progress, measure.stop);
        let look = |headway: &dyn Fn() -> Headway| watch.look(headway);
        let local = Local::new(decoder, &model.tokenizer, sampled.limits(job));
        let mut local = local.watched(Watch(&look));
        let mut source = Source {
            generator: &mut local,
            tokenizer: Some(model.tokenizer.digest()),
            render: &|messages| {
                tokens(model, messages).map_err(|err| RenderError::from(err.to_string()))
            },
            thinking_opened: model.template.as_ref().is_some_and(ChatTemplate::opens_thinking),
            max_tokens,
            max_prompt_tokens: longest,
            progress: &*progress,
        };
        measure.evaluate(&about, environment, &mut source)
    }
}

/// The settings of the prompt with nothing left open.
pub(super) fn settled_prompt(measure: &Measure<'_>) -> Result<PromptConfig, Failure> {
    // A dry run writes nothing, not even a student that is unpacked.
    let scratch = measure.request.dry_run.then(Scratch::new).transpose()?;
    let out = scratch.as_ref().map_or_else(|| measure.request.out.clone(), |dir| dir.path().into());
    let request = EvalRequest { out, ..measure.request.clone() };
    let place = find(&Measure { request: &request, ..*measure })?;
    prompting::settle(&measure.config.prompt, &place, &mut place.open()?, measure.observer)
}

/// The model, asked as the settled prompt says.
fn open(measure: &Measure<'_>, place: &Found) -> Result<Pretrained, Failure> {
    let mut model = place.open()?;
    model.use_prompt(&measure.config.prompt)?;
    Ok(model)
}

/// Samples of the larger of the two passes, as far as they are drawn at a time.
fn sequences(measure: &Measure<'_>) -> usize {
    let samples = measure.tasks.len().saturating_mul(measure.config.eval.num_samples as usize);
    samples.min(AT_A_TIME)
}

/// The limits of sampling, and the memory that it takes.
pub(super) fn memory(measure: &Measure<'_>) -> Result<(Plan, Limits), Failure> {
    let model = open(measure, &find(measure)?)?;
    let max_tokens = measure.max_tokens(model.config.positions);
    let room = room(&model, max_tokens)?;
    let longest = if may_go_on(measure)? { room } else { longest(measure, &model)?.min(room) };
    let device = device::open(measure.config, measure.request.threads, &Silent)?;
    let eight_bit = measure.request.eight_bit;
    let sampled = SampledModel { config: &model.config, device: &device, eight_bit };
    let job = SamplingJob { sequences: sequences(measure), tokens: longest + max_tokens };
    let limits = sampled.limits(job);
    Ok((sampled.plan(limits.sequences, job), limits))
}

/// Whether an episode may have several replies. No judge is started to find that out.
fn may_go_on(measure: &Measure<'_>) -> Result<bool, Failure> {
    let bound = measure.config.env.max_turns;
    let kind = &measure.config.env.kind;
    let others: Vec<&Task> = measure.tasks.iter().filter(|task| !task.is_program(kind)).collect();
    let environment = environment::for_evaluation(measure.config, others.iter().copied())?;
    Ok(bound > 1 || others.iter().any(|task| environment.max_turns(task) > 1))
}

/// The model that is meant.
fn find(measure: &Measure<'_>) -> Result<Found, Failure> {
    let unpack: PathBuf = measure.request.out.join("student");
    let around = Around { unpack: Some(&unpack), ..Around::of(measure.config, measure.observer) };
    find::find(&named(measure, &around), &around)?.with_adapter(measure.request.adapter.as_deref())
}

/// The model's name: the given one, or else the result of the last run, or else the student. An
/// adapter belongs to the student.
fn named(measure: &Measure<'_>, around: &Around<'_>) -> String {
    let student = &measure.config.student.model_name;
    let is_set =
        measure.request.sources.set.iter().any(|set| set.starts_with("student.model_name="));
    if let Some(given) = &measure.request.model {
        return given.clone();
    }
    let last = find::last_run(around.runs).filter(|_| measure.request.adapter.is_none() && !is_set);
    if let Some(run) = last {
        let made = around.runs.join(&run).join("outputs/final_model");
        let shown = made.display();
        measure
            .observer
            .note(&format_args!("no `--model`: measuring {shown}, the result of the last run"));
        return shown.to_string();
    }
    measure.observer.note(&format_args!("no `--model`: measuring `student.model_name`, {student}"));
    student.clone()
}

/// The identity of the model, which a resumed evaluation must find unchanged: names and files.
fn settings(place: &Found, measure: &Measure<'_>) -> Vec<(&'static str, String)> {
    let mut settings = local_model::identity(place, measure.config);
    settings.push(("--8bit", measure.request.eight_bit.to_string()));
    settings.extend(measure.request.keep_tokens.then(|| ("--keep-tokens", true.to_string())));
    settings
}

/// Tokens that a prompt may have.
fn room(model: &Pretrained, max_tokens: usize) -> Result<usize, Failure> {
    local_model::room(model, max_tokens).ok_or(Failure::Usage {
        problem: "completions may be as long as the model's whole context",
        hint: "lower `--max-tokens` to leave room for prompts",
    })
}

/// Tokens of the longest prompt.
fn longest(measure: &Measure<'_>, model: &Pretrained) -> Result<usize, Failure> {
    let mut longest = 1;
    let template = PromptTemplate::of(&measure.config.prompt)?;
    for task in measure.tasks {
        longest = longest.max(tokens(model, &template.prompt(task.view())?.messages())?.len());
    }
    Ok(longest)
}
