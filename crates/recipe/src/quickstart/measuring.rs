//! pass@k of the student on the held-out tasks, at one of the temperatures that a gain is claimed at.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use whetstone_core::config::Config;
use whetstone_core::{Message, Seed, Task};
use whetstone_env::registry::Environments;
use whetstone_eval::{Decoding, Measured, Measuring, measure};
use whetstone_infer::{Headway, Local, Rule, SampledModel, SamplingJob, Watch};
use whetstone_rollout::collect::Collecting;
use whetstone_train::Student;

use crate::evaluation::show_sampled;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::sampling_watch::SamplingWatch;

/// Completions that are held at a time.
const AT_A_TIME: usize = 512;

/// The inputs of a measurement.
pub(super) struct Suite<'a> {
    pub(super) config: &'a Config,
    pub(super) tasks: &'a [Task],
    pub(super) environment: &'a Environments,
    pub(super) stop: &'a AtomicBool,
    /// Completions of each task.
    pub(super) samples: u32,
}

/// The temperatures beside `eval.temperature` that a student is measured at, greedy decoding last.
pub(super) fn further(config: &Config) -> Vec<Decoding> {
    let temperatures = config.eval.further_temperatures().into_iter();
    let greedy = (config.eval.temperature > 0.0).then_some(Decoding::GREEDY);
    temperatures.filter_map(Decoding::at).chain(greedy).collect()
}

/// Completions of each task at a temperature: greedy decoding has no second one.
pub(super) fn samples(config: &Config, decoding: Decoding) -> u32 {
    if decoding == Decoding::GREEDY { 1 } else { config.eval.num_samples }
}

impl Suite<'_> {
    /// Measures a student; `None` if it was stopped.
    ///
    /// The seed is that of the run, so the same tasks are sampled with the same random numbers each time.
    pub(super) fn measure(
        &self,
        student: &Student,
        rule: Rule,
        observer: &dyn Observer,
    ) -> Result<Option<Measured>, Failure> {
        let samples = self.samples as usize;
        let progress = observer.progress("sample");
        let render = |messages: &[Message]| student.render(messages);
        let measuring = Measuring {
            collecting: Collecting { rule, ..self.collecting(student, &render) },
            samples,
            samples_at_a_time: AT_A_TIME,
            seed: Seed::new(self.config.seed).derive("held-out", 0),
            on_progress: &|now| show_sampled(&*progress, now),
            stop: self.stop,
        };
        let job = SamplingJob {
            sequences: self.tasks.len().saturating_mul(samples).min(AT_A_TIME),
            tokens: student.decoder.positions(),
        };
        let sampled = SampledModel {
            config: &student.model.config,
            device: student.decoder.device(),
            eight_bit: self.config.student.load_in_8bit,
        };
        let watch = SamplingWatch::new(&*progress, self.stop);
        let look = |headway: &dyn Fn() -> Headway| watch.look(headway);
        let generator = Local::new(&student.decoder, &student.model.tokenizer, sampled.limits(job));
        let mut generator = generator.watched(Watch(&look));
        let measured = measure(&measuring, &mut generator, self.tasks);
        progress.finish();
        Ok(measured?)
    }

    fn collecting<'a>(
        &'a self,
        student: &'a Student,
        render: &'a whetstone_rollout::collect::Render<'a>,
    ) -> Collecting<'a> {
        Collecting {
            environment: self.environment,
            render,
            thinking_opened: student.thinking_opened,
            rule: Rule::at(self.config.eval.temperature),
            stop: student.stop(),
            max_tokens: self.config.grpo.max_completion_length as usize,
            max_prompt_tokens: self.config.max_prompt_tokens(self.config.grpo_sampling()),
            judges: whetstone_env::judge::callers(self.config),
            on_event: &|_| ControlFlow::Continue(()),
        }
    }
}
