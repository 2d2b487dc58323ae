//! What is said before the first step: steps, sources, parameters and memory.

use whetstone_core::config::Config;
use whetstone_infer::Limits;
use whetstone_model::memory::Plan as MemoryPlan;
use whetstone_train::grpo::Source;
use whetstone_train::plan::Plan;
use whetstone_train::{Example, SampledSequences, Student, TrainError};

use crate::observer::Observer;
use crate::text::counted;

/// A training on tasks that is about to begin.
pub(crate) struct Announced<'a> {
    pub(crate) student: &'a Student,
    pub(crate) config: &'a Config,
    /// The teacher's rows of each task.
    pub(crate) taught: &'a [Vec<Example>],
    /// Tasks to measure by.
    pub(crate) held_out: usize,
}

/// Says how many steps there will be, what they learn from, and what memory they take.
pub(crate) fn announce(
    training: &Announced<'_>,
    observer: &dyn Observer,
) -> Result<(), TrainError> {
    let Announced { student, config, taught, held_out } = *training;
    let plan = Plan::grpo(config, taught.len())?;
    observer.note(&plan.arithmetic("tasks", config.training.max_steps == 0));
    let with = taught.iter().filter(|rows| !rows.is_empty()).count();
    say_weights(config, &format!("{with} of {} tasks", taught.len()), observer);
    let limits = student.grpo_limits(config, SampledSequences::new(&plan, config, held_out));
    let (training, sampling) = student.grpo_memory(config, limits.sequences);
    let training = training.total() >> 20;
    let memory = format!("{training} MiB to train, {}", sampling_memory(&sampling, limits));
    say_parameters(student, &memory, observer);
    Ok(())
}

/// The memory of sampling within limits: `900 MiB to sample 64 sequences at a time, 300 MiB of it KV cache`.
pub(super) fn sampling_memory(sampling: &MemoryPlan, limits: Limits) -> String {
    let plan = limits.applied_to(sampling);
    let (all, cache) = (plan.total() >> 20, plan.cache >> 20);
    let rows = counted(limits.sequences, "sequence");
    format!("{all} MiB to sample {rows} at a time, {cache} MiB of it KV cache")
}

/// Says how much each source counts; `taught` are the tasks with a passing trace.
pub(super) fn say_weights(config: &Config, taught: &str, observer: &dyn Observer) {
    let weights = &config.dual_source;
    let taught = if weights.teacher_sft_weight > 0.0 {
        format!("{taught} have a passing trace")
    } else {
        "traces are not read".to_owned()
    };
    observer.note(&format_args!(
        "weights: rollouts {}, teacher {} ({taught}), own best {}",
        weights.grpo_weight, weights.teacher_sft_weight, weights.self_sft_weight
    ));
    if weights.distill_weight > 0.0 {
        let (local, server) = (&weights.distill_teacher, &weights.distill_server);
        let teacher = if local.is_empty() { server } else { local };
        observer.note(&format_args!("distillation {} from `{teacher}`", weights.distill_weight));
    }
}

/// Says how much of a student is trained, and what memory that takes.
pub(super) fn say_parameters(student: &Student, memory: &str, observer: &dyn Observer) {
    let (all, trained) = student.decoder.parameters().count();
    observer.note(&format_args!("{trained} of {all} parameters are trained; about {memory}"));
}

/// How the number of steps comes about.
pub(super) fn arithmetic(source: &Source<'_>, plan: &Plan, config: &Config) -> String {
    match source {
        Source::Tasks(_) => plan.arithmetic("tasks", config.training.max_steps == 0),
        Source::Recorded(_) => plan.recorded_arithmetic(),
    }
}
