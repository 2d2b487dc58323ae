//! GRPO, on tasks that are sampled or on a file of scored rollouts ([`recorded`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use whetstone_config::Loaded;
use whetstone_core::Task;
use whetstone_core::config::{Config, Sampling};
use whetstone_core::metric;
use whetstone_env::environment::Environment;
use whetstone_train::fits;
use whetstone_train::grpo::{STAGE, Source};
use whetstone_train::inputs::Files;
use whetstone_train::plan::Plan;
use whetstone_train::{Student, TrainError};

use super::begin::{self, Begun};
use super::distill;
use super::inputs::{self, Inputs};
use super::planned::{self, Planned};
use super::recorded::{self, RolloutFile};
use super::said::{Announced, announce, arithmetic};
use super::steps::{Training, probe, train};
use super::taught::{TraceFile, with_traces};
use super::{End, RunRequest, left_out};
use crate::dry_run::Outcome;
use crate::environment;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};
use crate::prompting;
use crate::text::counted;

/// The metrics on the progress line.
pub(crate) const SHOWN: Shown = &[
    (metric::GRPO_MEAN_REWARD.name, "reward"),
    (metric::GRPO_PASS_RATE.name, "pass"),
    (metric::HELD_OUT_PASS_RATE.name, "held-out"),
    (metric::GRPO_KL_DIVERGENCE.name, "kl"),
    (metric::TRAIN_GRAD_NORM.name, "norm"),
    (metric::SPEED_SAMPLED_TOKENS_PER_S.name, "tokens/s"),
    (metric::SPEED_PROGRAMS_PER_S.name, "programs/s"),
];

/// Trains with GRPO on the files that are `given`; defaults stand for those that are not.
///
/// # Errors
///
/// If settings or files cannot be used, or training fails.
pub fn run(
    request: &RunRequest,
    given: Files,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome<End>, Failure> {
    let loaded = begin::settings(request, &[])?;
    let config = &loaded.config;
    let known = inputs::known(request, config)?;
    let files = inputs::files(given, config, known.as_ref())?;
    inputs::check_named(request, known.as_ref(), &files)?;
    if files.rollouts.is_some() && request.from.is_some() {
        return Err(Failure::Usage {
            problem: "`--rollouts` starts from the student, and `--from` from a checkpoint",
            hint: "make one model of the checkpoint's adapter with `whet export`, and set \
                   `student.model_name` to it",
        });
    }
    let Inputs { tasks, held_out, traces } = Inputs::read(&files, config, observer)?;
    let loaded = prompting::of_training(loaded, request.from.as_deref(), &traces, observer)?;
    let config = &loaded.config;
    // Of recorded rollouts nothing is judged but held-out tasks.
    let sampled = if files.rollouts.is_none() { tasks.as_slice() } else { &[] };
    if files.rollouts.is_none() {
        Plan::grpo(config, tasks.len())?;
    }
    // Before anything large is loaded: the judge's processes are children of this one.
    let environment = environment::for_tasks(config, sampled.iter().chain(&held_out))?;
    let begun = begin::look(request, config, STAGE)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let mut student = begin::student(request, config, checkpoint.as_deref(), observer)?;
    let teacher = distill::open(&mut student, config, observer)?;
    let room = PromptRoom {
        student: &student,
        config,
        sampling: config.grpo_sampling(),
        environment: &environment,
    };
    let fitting = |path: &Option<PathBuf>, tasks| room.fitting(path.as_deref(), tasks, observer);
    let training = |source, shown, held_out| Training {
        config,
        source,
        shown,
        held_out,
        environment: &environment,
        reward_model: files.reward_model.as_deref().and_then(Path::parent),
        process_model: files.process_model.as_deref().and_then(Path::parent),
        teacher: teacher.as_deref(),
        checkpoint: checkpoint.as_deref(),
        stop,
    };
    let start = Start { request, loaded: &loaded, begun, is_new: known.is_none(), files: &files };
    if let Some(path) = &files.rollouts {
        let held_out = fitting(&files.held_out, held_out)?;
        let file = RolloutFile { path, files: &files, tasks: &tasks, held_out: &held_out, traces };
        let recorded = recorded::read(file, &student, config, observer)?;
        let source = Source::Recorded(&recorded);
        return start.run(&mut student, &training(source, recorded::SHOWN, &held_out), observer);
    }
    let tasks = fitting(&files.tasks, tasks)?;
    let held_out = fitting(&files.held_out, held_out)?;
    let traces = TraceFile { path: files.traces.as_deref(), traces };
    let taught = traces.teach(tasks.iter().map(|task| &task.id), &student, config)?;
    taught.left_out.warn(observer);
    taught.check(config, files.traces.as_deref())?;
    let announced =
        Announced { student: &student, config, taught: &taught.rows, held_out: held_out.len() };
    announce(&announced, observer)?;
    let tasks = with_traces(&tasks, &taught.rows);
    start.run(&mut student, &training(Source::Tasks(&tasks), SHOWN, &held_out), observer)
}

/// A training that is ready to begin.
struct Start<'a> {
    request: &'a RunRequest,
    loaded: &'a Loaded,
    begun: Begun,
    /// The run does not have its inputs yet.
    is_new: bool,
    files: &'a Files,
}

impl Start<'_> {
    /// Trains, or says what training would do.
    fn run(
        self,
        student: &mut Student,
        training: &Training<'_>,
        observer: &dyn Observer,
    ) -> Result<Outcome<End>, Failure> {
        let Self { request, loaded, begun, is_new, files } = self;
        let config = training.config;
        let plan = &training.source.plan(config)?;
        if request.dry_run {
            let planned = Planned { name: &request.name, student, config, plan };
            let whole = planned.grpo(training, files);
            return planned::probed(whole, probe(student, training, observer));
        }
        let mut session = begun.session(request, loaded, STAGE)?;
        if is_new {
            inputs::keep_and_say(request, session.run(), files, observer)?;
        }
        let ended = train(student, &mut session, training, observer)?;
        Ok(Outcome::Done(End {
            stage: STAGE,
            runs: config.run.dir.clone(),
            dir: session.dir().to_owned(),
            ended,
            steps: plan.steps,
            arithmetic: arithmetic(&training.source, plan, config),
        }))
    }
}

/// What decides whether a prompt leaves room for a completion.
#[derive(Clone, Copy)]
pub(super) struct PromptRoom<'a> {
    pub(super) student: &'a Student,
    pub(super) config: &'a Config,
    pub(super) sampling: Sampling,
    pub(super) environment: &'a dyn Environment,
}

impl PromptRoom<'_> {
    /// The tasks of a file whose prompts leave room for a completion.
    pub(super) fn fitting(
        self,
        path: Option<&Path>,
        mut tasks: Vec<Task>,
        observer: &dyn Observer,
    ) -> Result<Vec<Task>, TrainError> {
        let Self { student, config, sampling, environment } = self;
        let all = tasks.len();
        if all == 0 {
            return Ok(tasks);
        }
        let fitting = tasks.iter().map(|task| fits(student, config, sampling, environment, task));
        let fitting = fitting.collect::<Result<Vec<bool>, _>>()?;
        let most = config.max_prompt_tokens(sampling);
        let reason = format!("with prompts of more than {most} tokens");
        left_out::tasks(tasks.iter().zip(fitting.iter().copied()), &reason, observer);
        let mut fitting = fitting.into_iter();
        tasks.retain(|_| fitting.next().unwrap_or(true));
        let left = all - tasks.len();
        match (left, tasks.is_empty()) {
            (0, _) => {}
            (_, true) => return Err(TrainError::PromptsTooLong { most }),
            (left, false) => {
                let (path, left) = (path.unwrap_or(Path::new("")), counted(left, "task"));
                observer.note(&format_args!("{}: left out: {left} {reason}", path.display()));
            }
        }
        Ok(tasks)
    }
}
