//! The steps of a GRPO training, taken while they are shown.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_env::environment::Environment;
use whetstone_infer::Limits;
use whetstone_kernels::cuda::Searches;
use whetstone_train::grpo::{Grpo, Source, grpo};
use whetstone_train::probe::Probe;
use whetstone_train::session::Session;
use whetstone_train::teacher::TokenTeacher;
use whetstone_train::watch::{Ended, Watch};
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{SampledSequences, Student, TrainError};

use crate::observer::{Observer, Shown};
use crate::text::counted;

/// What a training takes.
pub(crate) struct Training<'a> {
    pub(crate) config: &'a Config,
    /// Where rollouts come from.
    pub(crate) source: Source<'a>,
    /// The metrics on the progress line.
    pub(crate) shown: Shown,
    /// Tasks to measure by; there may be none.
    pub(crate) held_out: &'a [Task],
    pub(crate) environment: &'a dyn Environment,
    /// The directory of a reward model that pays beside the judge.
    pub(crate) reward_model: Option<&'a Path>,
    /// The directory of a process reward model, which pays for transitions.
    pub(crate) process_model: Option<&'a Path>,
    /// The teacher of on-policy distillation.
    pub(crate) teacher: Option<&'a dyn TokenTeacher>,
    pub(crate) checkpoint: Option<&'a Path>,
    pub(crate) stop: &'a AtomicBool,
}

/// Trains, and shows every step.
pub(crate) fn train(
    student: &mut Student,
    session: &mut Session,
    training: &Training<'_>,
    observer: &dyn Observer,
) -> Result<Ended, TrainError> {
    let limits = limits(student, training)?;
    let ended = watched(training, limits, observer, |training| grpo(student, session, training));
    say_searches(student.decoder.device().searches(), observer);
    ended
}

/// Takes one step of which nothing is kept, and shows how far it is; `None` if it was told to stop.
pub(crate) fn probe(
    student: &mut Student,
    training: &Training<'_>,
    observer: &dyn Observer,
) -> Result<Option<Probe>, TrainError> {
    let limits = limits(student, training)?;
    watched(training, limits, observer, |grpo| whetstone_train::grpo::probe(student, grpo))
}

/// Says what choosing algorithms of products took of a GPU's first run of a kind.
fn say_searches(searches: Searches, observer: &dyn Observer) {
    let Searches { products, took } = searches;
    if products > 0 {
        observer.note(&format_args!(
            "choosing algorithms of {} took {:.1} s of this run; a later run of its kind has them",
            counted(products, "matrix product"),
            took.as_secs_f64()
        ));
    }
}

/// Rows and KV cache of the rollouts.
fn limits(student: &Student, training: &Training<'_>) -> Result<Limits, TrainError> {
    let Training { config, source, held_out, .. } = *training;
    let sequences = SampledSequences::new(&source.plan(config)?, config, held_out.len());
    Ok(student.grpo_limits(config, sequences))
}

/// Does something with a training while it is shown how far it is.
fn watched<T>(
    training: &Training<'_>,
    limits: Limits,
    observer: &dyn Observer,
    work: impl FnOnce(&Grpo<'_>) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let steps = training.source.plan(training.config)?.steps;
    let view = observer.training(steps, training.shown);
    let on_silence = |sentence: &str| view.warning(sentence);
    let grpo = Grpo {
        reward_model: training.reward_model,
        process_model: training.process_model,
        teacher: training.teacher,
        config: training.config,
        source: training.source,
        held_out: training.held_out,
        environment: training.environment,
        judges: whetstone_env::judge::callers(training.config),
        limits,
        checkpoint: training.checkpoint,
        watch: Watch {
            on_phase: &|phase, part| view.phase(phase, part),
            on_step: &|report| view.step(report),
            on_alarm: &|alarm| view.alarm(alarm),
            stop: training.stop,
            dog: &Watchdog::new(training.config.training.watchdog_seconds, &on_silence),
        },
    };
    let result = work(&grpo);
    view.finish();
    result
}
