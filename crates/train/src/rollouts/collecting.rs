//! The settings with which a training collects rollouts, and the progress of that.

use std::ops::ControlFlow;

use whetstone_core::config::{Config, Sampling};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::Environment;
use whetstone_infer::Rule;
use whetstone_rollout::collect::{Collecting, Progress as Collected, Render};

use super::Collection;
use crate::error::TrainError;
use crate::student::Student;
use crate::watch::{Part, Phase};
use crate::watchdog::PhaseProgress;

/// Whether a task's prompt leaves room for a completion. One that does not would be dropped whenever
/// its turn came; where it is the environment that fails, that is seen then.
///
/// # Errors
///
/// If the prompt cannot be rendered.
pub fn fits(
    student: &Student,
    config: &Config,
    sampling: Sampling,
    environment: &dyn Environment,
    task: &Task,
) -> Result<bool, TrainError> {
    let Ok(episode) = environment.open(task, Seed::new(config.seed)) else { return Ok(true) };
    Ok(student.prompt(episode.messages())?.len() <= config.max_prompt_tokens(sampling))
}

/// The settings for collecting rollouts.
pub(super) fn collecting<'a>(
    student: &'a Student,
    collection: Collection<'a>,
    render: &'a Render<'a>,
    on_event: &'a dyn Fn(Collected<'_>) -> ControlFlow<()>,
) -> Collecting<'a> {
    let Collection { config, sampling, environment, judges, .. } = collection;
    Collecting {
        environment,
        render,
        thinking_opened: student.thinking_opened,
        rule: rule(sampling),
        stop: student.stop(),
        max_tokens: sampling.max_tokens,
        max_prompt_tokens: config.max_prompt_tokens(sampling),
        judges,
        on_event,
    }
}

/// The progress of a collection of `all` rollouts: sampling, or waiting for the judges.
pub(super) fn progress_of(now: Collected<'_>, all: usize) -> PhaseProgress {
    let done = now.over + now.dropped;
    let (phase, done) = match now.sampled {
        sampled if sampled < all => (Phase::Sampling, sampled),
        _ => (Phase::Judging, done),
    };
    let waits_for = now.waits_for.map(|(task, sample)| format!("task {task}, sample {sample}"));
    PhaseProgress { phase, part: Part { done, all }, waits_for }
}

/// Sampling parameters: the policy's own distribution, since that is what is trained.
pub(super) fn rule(sampling: Sampling) -> Rule {
    Rule::at(sampling.temperature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::task;

    #[test]
    fn whoever_looks_on_is_told_what_is_waited_for() {
        let id = task("t/3", "1").id;
        let now = Collected { sampled: 3, over: 1, dropped: 1, ..Collected::default() };
        let waiting = progress_of(Collected { waits_for: Some((&id, 2)), ..now }, 4);
        assert_eq!((waiting.phase, waiting.part), (Phase::Sampling, Part { done: 3, all: 4 }));
        assert_eq!(waiting.waits_for.as_deref(), Some("task t/3, sample 2"));
        let judged = progress_of(Collected { sampled: 4, ..now }, 4);
        assert_eq!((judged.phase, judged.waits_for), (Phase::Judging, None));
        assert_eq!(judged.part, Part { done: 2, all: 4 });
    }
}
