//! What is said before the first step: steps, sources, parameters and memory.

use whetstone_core::config::Config;
use whetstone_infer::Limits;
use whetstone_train::grpo::Source;
use whetstone_train::plan::Plan;
use whetstone_train::{Example, Student, TrainError};

use crate::observer::Observer;

/// Says how many steps there will be, what they learn from, and what memory they take.
pub(crate) fn announce(
    student: &Student,
    config: &Config,
    taught: &[Vec<Example>],
    observer: &dyn Observer,
) -> Result<(), TrainError> {
    let plan = Plan::grpo(config, taught.len())?;
    observer.note(&plan.arithmetic("tasks", config.training.max_steps == 0));
    let with = taught.iter().filter(|rows| !rows.is_empty()).count();
    say_weights(config, &format!("{with} of {} tasks", taught.len()), observer);
    let (training, sampling) = student.grpo_memory(config, Limits::default().sequences);
    let (training, sampling) = (training.total() >> 20, sampling.total() >> 20);
    let memory = format!("{training} MiB to train, {sampling} MiB to sample");
    say_parameters(student, &memory, observer);
    Ok(())
}

/// Says how much each source counts; `taught` are the tasks with a passing trace.
pub(super) fn say_weights(config: &Config, taught: &str, observer: &dyn Observer) {
    let weights = config.dual_source;
    let taught = if weights.teacher_sft_weight > 0.0 {
        format!("{taught} have a passing trace")
    } else {
        "traces are not read".to_owned()
    };
    observer.note(&format_args!(
        "weights: rollouts {}, teacher {} ({taught}), own best {}",
        weights.grpo_weight, weights.teacher_sft_weight, weights.self_sft_weight
    ));
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
