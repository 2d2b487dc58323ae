//! Rollouts of a model on this machine.

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_infer::{Headway, Limits, Local, SampledModel, SamplingJob, Watch};
use whetstone_kernels::Device;
use whetstone_model::Pretrained;
use whetstone_model::decoder::{LoadOptions, WeightFormat};
use whetstone_model::memory::Plan;
use whetstone_model::template::ChatTemplate;
use whetstone_rollout::collect::RenderError;
use whetstone_rollout::sample::{SampleError, SampleSummary};

use super::{AT_A_TIME, MAX_NEW_TOKENS, RolloutRequest, SampleJob, Source};
use crate::failure::Failure;
use crate::find::{self, Around, Found};
use crate::local_model::{self, tokens};
use crate::observer::{Observer, Silent};
use crate::sampling_watch::SamplingWatch;
use crate::{device, text};

/// Tokens of a reply, and of the prompts.
struct Lengths {
    /// A reply at most.
    reply: usize,
    /// The longest prompt that is asked.
    prompt: usize,
}

/// Samples; `None` if it was stopped.
pub(super) fn run(job: &SampleJob<'_>) -> Result<Option<SampleSummary>, Failure> {
    let began = std::time::Instant::now();
    let place = find(job.request, job.config, job.observer)?;
    let mut model = place.open()?;
    model.use_prompt(&job.config.prompt)?;
    let lengths = lengths(job, &model)?;
    say_limit(job, lengths.reply);
    let device = device::open(job.config, job.request.threads, job.observer)?;
    let weights = WeightFormat::frozen(job.request.eight_bit);
    let options = LoadOptions { weights, positions: lengths.prompt + lengths.reply };
    let decoder = place.load(&model, &device, options)?;
    let loading = began.elapsed().as_secs_f64();
    let shown = text::plain(&place.name, 100);
    job.observer.note(&format_args!("{shown} loaded in {loading:.1} s"));
    let limits = sampled(job, &model, &device).limits(asked(job, &lengths));
    let mut identity = local_model::identity(&place, job.config);
    identity.push(("--8bit", job.request.eight_bit.to_string()));
    let progress = job.observer.progress("reply");
    let watch = SamplingWatch::new(&*progress, job.stop);
    let look = |headway: &dyn Fn() -> Headway| watch.look(headway);
    let local = Local::new(&decoder, &model.tokenizer, limits);
    job.sample(&mut Source {
        generator: &mut local.watched(Watch(&look)),
        model: &place.name,
        tokenizer: Some(&model.tokenizer.digest()),
        render: &|messages| {
            tokens(&model, messages).map_err(|err| RenderError::from(err.to_string()))
        },
        thinking_opened: model.template.as_ref().is_some_and(ChatTemplate::opens_thinking),
        max_tokens: lengths.reply,
        max_prompt_tokens: lengths.prompt,
        identity,
        progress: &*progress,
    })
}

/// The limits of sampling, and the memory that it takes.
pub(super) fn memory(job: &SampleJob<'_>) -> Result<(Plan, Limits), Failure> {
    let mut model = find(job.request, job.config, job.observer)?.open()?;
    model.use_prompt(&job.config.prompt)?;
    let asked = asked(job, &lengths(job, &model)?);
    let device = device::open(job.config, job.request.threads, &Silent)?;
    let sampled = sampled(job, &model, &device);
    let limits = sampled.limits(asked);
    Ok((sampled.plan(limits.sequences, asked), limits))
}

/// The replies that are drawn at a time.
fn asked(job: &SampleJob<'_>, lengths: &Lengths) -> SamplingJob {
    let sequences = job.tasks.len().saturating_mul(job.request.group_size).min(AT_A_TIME);
    SamplingJob { sequences, tokens: lengths.prompt + lengths.reply }
}

/// The model on its device.
fn sampled<'a>(job: &SampleJob<'_>, model: &'a Pretrained, device: &'a Device) -> SampledModel<'a> {
    SampledModel { config: &model.config, device, eight_bit: job.request.eight_bit }
}

/// The model that is meant.
pub(super) fn find(
    request: &RolloutRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Found, Failure> {
    let name = request.model.as_deref().ok_or(Failure::Usage {
        problem: "no model is named",
        hint: "name it with `--model`, or a server with `--server`",
    })?;
    let around = Around::of(config, observer);
    find::find(name, &around)?.with_adapter(request.adapter.as_deref())
}

fn lengths(job: &SampleJob<'_>, model: &Pretrained) -> Result<Lengths, Failure> {
    let reply = max_tokens(job, model.config.positions);
    let room = local_model::room(model, reply).ok_or(Failure::Usage {
        problem: "replies may be as long as the model's whole context",
        hint: "lower `--max-new-tokens` to leave room for prompts",
    })?;
    let mut longest = 1;
    for task in job.tasks {
        longest = longest.max(prompt_tokens(job, model, task)?);
    }
    Ok(Lengths { reply, prompt: longest.min(room) })
}

/// Maximal tokens of a reply: half of a small context, unless more are asked for.
fn max_tokens(job: &SampleJob<'_>, positions: usize) -> usize {
    job.request.max_new_tokens.unwrap_or(MAX_NEW_TOKENS.min(positions / 2).max(1))
}

/// Says that replies have fewer tokens than they would have with a larger model.
fn say_limit(job: &SampleJob<'_>, reply: usize) {
    if job.request.max_new_tokens.is_none() && reply < MAX_NEW_TOKENS {
        job.observer.note(&format_args!(
            "replies have {reply} tokens at most, half of the model's context; `--max-new-tokens` sets another limit"
        ));
    }
}

fn prompt_tokens(job: &SampleJob<'_>, model: &Pretrained, task: &Task) -> Result<usize, Failure> {
    let no_prompt = |source| SampleError::Prompt { task: task.id.clone(), source };
    let messages = job.messages(task).map_err(|err| no_prompt(err.into()))?;
    Ok(tokens(model, &messages)?.len())
}
