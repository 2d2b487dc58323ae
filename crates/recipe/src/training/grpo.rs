//! GRPO, on tasks that are sampled or on a file of scored rollouts ([`recorded`]).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use whetstone_config::Loaded;
use whetstone_core::Task;
use whetstone_core::config::{Config, DualSourceConfig};
use whetstone_core::jsonl::read_tasks;
use whetstone_core::metric;
use whetstone_core::task::TaskId;
use whetstone_core::trace::Trace;
use whetstone_env::environment::Environment;
use whetstone_infer::Limits;
use whetstone_train::grpo::{Grpo, STAGE, Source, fits, grpo, max_prompt_tokens};
use whetstone_train::inputs::{Files, Known};
use whetstone_train::plan::Plan;
use whetstone_train::probe::Probe;
use whetstone_train::session::Session;
use whetstone_train::watch::{Ended, Watch};
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{Example, Student, TrainError};

use super::begin::{self, Begun};
use super::planned::Planned;
use super::recorded::RolloutFile;
use super::taught::{TraceFile, traces, with_traces};
use super::{End, RunRequest, inputs, left_out, planned, recorded, sft};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};
use crate::text::counted;
use crate::{environment, untested};

/// The tasks of a new run, unless others are named.
const TASKS: &str = "data/train.jsonl";

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
    let files = files(given, config.dual_source, known.as_ref())?;
    if files.rollouts.is_some() && request.from.is_some() {
        return Err(Failure::Usage {
            problem: "`--rollouts` starts from the student, and `--from` from a checkpoint",
            hint: "make one model of the checkpoint's adapter with `whet export`, and set \
                   `student.model_name` to it",
        });
    }
    let Inputs { tasks, held_out, traces } = Inputs::read(&files, config, observer)?;
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
    let room = PromptRoom { student: &student, config, environment: &environment };
    let fitting = |path: &Option<PathBuf>, tasks| room.fitting(path.as_deref(), tasks, observer);
    let training = |source, shown, held_out| Training {
        config,
        source,
        shown,
        held_out,
        environment: &environment,
        checkpoint: checkpoint.as_deref(),
        stop,
    };
    let start = Start { request, loaded: &loaded, begun, is_new: known.is_none(), files: &files };
    if let Some(path) = &files.rollouts {
        let held_out = fitting(&files.held_out, held_out)?;
        let file = RolloutFile { path, tasks: &tasks, held_out: &held_out, traces };
        let recorded = recorded::read(file, &student, &start, observer)?;
        let source = Source::Recorded(&recorded);
        return start.run(&mut student, &training(source, recorded::SHOWN, &held_out), observer);
    }
    let tasks = fitting(&files.tasks, tasks)?;
    let held_out = fitting(&files.held_out, held_out)?;
    let traces = TraceFile { path: files.traces.as_deref(), traces };
    let taught = traces.teach(tasks.iter().map(|task| &task.id), &student, config)?;
    taught.left_out.warn(observer);
    taught.check(config, files.traces.as_deref())?;
    announce(&student, config, &taught.rows, observer)?;
    let tasks = with_traces(&tasks, &taught.rows);
    start.run(&mut student, &training(Source::Tasks(&tasks), SHOWN, &held_out), observer)
}

/// What the files of a training hold.
struct Inputs {
    /// Tasks to learn from; of recorded rollouts those that they were sampled for.
    tasks: Vec<Task>,
    /// Tasks to measure by.
    held_out: Vec<Task>,
    /// The teacher's traces, if they count.
    traces: Vec<Trace>,
}

impl Inputs {
    fn read(files: &Files, config: &Config, observer: &dyn Observer) -> Result<Self, Failure> {
        let mut tasks = match &files.tasks {
            Some(path) => read_tasks(path)?,
            None => Vec::new(),
        };
        if let (Some(path), None) = (&files.tasks, &files.rollouts) {
            tasks = untested::to_learn_from(path, tasks, config, observer);
        }
        let held_out = match files.held_out.as_deref() {
            Some(path) => {
                let held_out = read_tasks(path)?;
                if files.rollouts.is_none() {
                    check_held_out(path, &held_out, tasks.iter().map(|task| &task.id))?;
                }
                untested::left_out(path, held_out, config, observer)
            }
            None => Vec::new(),
        };
        Ok(Self { tasks, held_out, traces: traces(files.traces.as_deref())? })
    }
}

/// A task that is learnt from would measure learning by heart.
pub(super) fn check_held_out<'t>(
    path: &Path,
    held_out: &[Task],
    learnt: impl Iterator<Item = &'t TaskId>,
) -> Result<(), Failure> {
    let learnt: HashSet<&str> = learnt.map(TaskId::as_str).collect();
    match held_out.iter().find(|task| learnt.contains(task.id.as_str())) {
        Some(task) => Err(Failure::NotHeldOut { path: path.to_owned(), task: task.id.to_string() }),
        None => Ok(()),
    }
}

/// A training that is ready to begin.
pub(super) struct Start<'a> {
    pub(super) request: &'a RunRequest,
    pub(super) loaded: &'a Loaded,
    begun: Begun,
    /// The run does not have its inputs yet.
    is_new: bool,
    pub(super) files: &'a Files,
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

/// How the number of steps comes about.
fn arithmetic(source: &Source<'_>, plan: &Plan, config: &Config) -> String {
    match source {
        Source::Tasks(_) => plan.arithmetic("tasks", config.training.max_steps == 0),
        Source::Recorded(_) => plan.recorded_arithmetic(),
    }
}

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
    watched(training, observer, |training| grpo(student, session, training))
}

/// Takes one step of which nothing is kept, and shows how far it is; `None` if it was told to stop.
pub(crate) fn probe(
    student: &mut Student,
    training: &Training<'_>,
    observer: &dyn Observer,
) -> Result<Option<Probe>, TrainError> {
    watched(training, observer, |grpo| whetstone_train::grpo::probe(student, grpo))
}

/// Does something with a training while it is shown how far it is.
fn watched<T>(
    training: &Training<'_>,
    observer: &dyn Observer,
    work: impl FnOnce(&Grpo<'_>) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let steps = training.source.plan(training.config)?.steps;
    let view = observer.training(steps, training.shown);
    let on_silence = |sentence: &str| view.warning(sentence);
    let grpo = Grpo {
        config: training.config,
        source: training.source,
        held_out: training.held_out,
        environment: training.environment,
        judges: whetstone_env::judge::callers(training.config),
        limits: Limits::default(),
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

/// What decides whether a prompt leaves room for a completion.
#[derive(Clone, Copy)]
struct PromptRoom<'a> {
    student: &'a Student,
    config: &'a Config,
    environment: &'a dyn Environment,
}

impl PromptRoom<'_> {
    /// The tasks of a file whose prompts leave room for a completion.
    fn fitting(
        self,
        path: Option<&Path>,
        mut tasks: Vec<Task>,
        observer: &dyn Observer,
    ) -> Result<Vec<Task>, TrainError> {
        let Self { student, config, environment } = self;
        let all = tasks.len();
        if all == 0 {
            return Ok(tasks);
        }
        let fitting = tasks.iter().map(|task| fits(student, config, environment, task));
        let fitting = fitting.collect::<Result<Vec<bool>, _>>()?;
        let most = max_prompt_tokens(config);
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

/// The input files: those of the run if it is resumed, and else the given ones.
fn files(given: Files, weights: DualSourceConfig, known: Option<&Known>) -> Result<Files, Failure> {
    if let Some(known) = known {
        return Ok(known.files(&given)?);
    }
    let or = |path: Option<PathBuf>, default: &str| path.unwrap_or_else(|| default.into());
    let traces = Some(or(given.traces, sft::TRACES)).filter(|_| weights.teacher_sft_weight > 0.0);
    // Rollouts of a file name their tasks, which are read only if prompts must be made again.
    let tasks = match given.rollouts {
        Some(_) => given.tasks,
        None => Some(or(given.tasks, TASKS)),
    };
    Ok(Files { tasks, traces, ..given })
}

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
    observer.note(&format_args!(
        "weights: rollouts {}, teacher {} ({taught} have a passing trace), own best {}",
        weights.grpo_weight, weights.teacher_sft_weight, weights.self_sft_weight
    ));
}

/// Says how much of a student is trained, and what memory that takes.
pub(super) fn say_parameters(student: &Student, memory: &str, observer: &dyn Observer) {
    let (all, trained) = student.decoder.parameters().count();
    observer.note(&format_args!("{trained} of {all} parameters are trained; about {memory}"));
}
