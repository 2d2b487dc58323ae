//! `whet train grpo`.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use whetstone_config::Loaded;
use whetstone_core::Task;
use whetstone_core::config::{Config, DualSourceConfig};
use whetstone_core::jsonl::read_tasks;
use whetstone_core::metric;
use whetstone_core::trace::Trace;
use whetstone_env::environment::Environment;
use whetstone_infer::Limits;
use whetstone_train::grpo::{Grpo, STAGE, Source, TaskWithTraces, fits, grpo, max_prompt_tokens};
use whetstone_train::plan::Plan;
use whetstone_train::probe::Probe;
use whetstone_train::session::Session;
use whetstone_train::watch::{Ended, Watch};
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{Example, Student, TrainError, rows};

use super::args::{GrpoArgs, RunArgs};
use super::begin::Begun;
use super::dry_run::Planned;
use super::ended::End;
use super::inputs::{Files, Known};
use super::view::View;
use super::{begin, dry_run, ended, inputs, left_out, recorded, sft, stop};
use crate::exit::Exit;
use crate::failure::{Failure, counted};
use crate::printer::Printer;
use crate::untested;

/// The tasks of a new run, unless others are named.
const TASKS: &str = "data/train.jsonl";

/// The metrics on the progress line.
pub(crate) const SHOWN: [(&str, &str); 7] = [
    (metric::GRPO_MEAN_REWARD.name, "reward"),
    (metric::GRPO_PASS_RATE.name, "pass"),
    (metric::HELD_OUT_PASS_RATE.name, "held-out"),
    (metric::GRPO_KL_DIVERGENCE.name, "kl"),
    (metric::TRAIN_GRAD_NORM.name, "norm"),
    (metric::SPEED_SAMPLED_TOKENS_PER_S.name, "tokens/s"),
    (metric::SPEED_PROGRAMS_PER_S.name, "programs/s"),
];

/// Trains.
pub(super) fn run(args: &GrpoArgs, printer: Printer) -> anyhow::Result<Exit> {
    let stop = stop::on_signal(printer);
    let loaded = begin::settings(&args.run, &[])?;
    let config = &loaded.config;
    let known = inputs::known(&args.run, config)?;
    let files = files(args, config.dual_source, known.as_ref())?;
    if files.rollouts.is_some() {
        let (loaded, known, stop) = (&loaded, known.as_ref(), &*stop);
        return recorded::run(recorded::Run { args, loaded, known, files, stop, printer });
    }
    let tasks_file = files.tasks.clone().unwrap_or_else(|| TASKS.into());
    let held_out_file = files.held_out.clone().unwrap_or_default();
    let tasks = read_tasks(&tasks_file).map_err(Failure::Lines)?;
    let tasks = untested::to_learn_from(&tasks_file, tasks, config, printer);
    let held_out = held_out(files.held_out.as_deref(), &tasks)?;
    let held_out = untested::left_out(&held_out_file, held_out, config, printer);
    let traces = traces(files.traces.as_deref())?;
    Plan::grpo(config, tasks.len()).map_err(Failure::Train)?;
    // Before anything large is loaded: the judge's processes are children of this one.
    let environment = crate::environment::for_tasks(config, tasks.iter().chain(&held_out))?;
    let begun = begin::look(&args.run, config, STAGE).map_err(Failure::Train)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let mut student = begin::student(&args.run, config, checkpoint.as_deref(), printer)?;
    let room = PromptRoom { student: &student, config, environment: &environment };
    let within = |path: &Path, tasks| room.fitting(TaskFile { path, tasks }, printer);
    let tasks = within(&tasks_file, tasks).map_err(Failure::Train)?;
    let held_out = within(&held_out_file, held_out).map_err(Failure::Train)?;
    let traces_file = files.traces.clone().unwrap_or_default();
    let traces = TraceFile { path: &traces_file, traces };
    let taught = traces.teach(&tasks, &student, config, printer).map_err(Failure::Train)?;
    if config.dual_source.teacher_sft_weight > 0.0 && taught.iter().all(Vec::is_empty) {
        return Err(Failure::OtherTraces { path: traces_file }.into());
    }
    let plan = Plan::grpo(config, tasks.len()).map_err(Failure::Train)?;
    let arithmetic = plan.arithmetic("tasks", config.training.max_steps == 0);
    printer.note(&arithmetic);
    preflight(&student, config, &taught, printer);
    let tasks = with_traces(&tasks, &taught);
    let training = Training {
        config,
        source: Source::Tasks(&tasks),
        shown: &SHOWN,
        held_out: &held_out,
        environment: &environment,
        checkpoint: checkpoint.as_deref(),
        stop: &stop,
    };
    let prepared = Prepared {
        args: &args.run,
        loaded: &loaded,
        begun,
        is_new: known.is_none(),
        files: &files,
        training,
        plan: &plan,
        arithmetic: &arithmetic,
    };
    prepared.run(&mut student, printer)
}

/// A training that is ready to begin.
pub(super) struct Prepared<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) loaded: &'a Loaded,
    pub(super) begun: Begun,
    /// The run does not have its inputs yet.
    pub(super) is_new: bool,
    pub(super) files: &'a Files,
    pub(super) training: Training<'a>,
    pub(super) plan: &'a Plan,
    pub(super) arithmetic: &'a str,
}

impl Prepared<'_> {
    /// Trains, or says what training would do.
    pub(super) fn run(self, student: &mut Student, printer: Printer) -> anyhow::Result<Exit> {
        let Self { args, loaded, begun, is_new, files, training, plan, arithmetic } = self;
        let config = training.config;
        if args.dry_run {
            let planned = Planned { name: &args.run, student, config, plan };
            let whole = planned.grpo(&training, files);
            let probed = probe(student, &training, printer);
            return dry_run::print(whole, probed, args.json, printer);
        }
        let mut session = begun.session(args, loaded, STAGE).map_err(Failure::Train)?;
        if is_new {
            inputs::keep_and_say(args, session.run(), files, printer)?;
        }
        let result = train(student, &mut session, &training, printer).map_err(Failure::Train)?;
        let (dir, steps) = (session.dir(), plan.steps);
        let end = End { stage: STAGE, config, dir, ended: result, steps, arithmetic };
        ended::say(args, &end, printer)
    }
}

/// What a training takes.
pub(crate) struct Training<'a> {
    pub(crate) config: &'a Config,
    /// Where rollouts come from.
    pub(crate) source: Source<'a>,
    /// The metrics on the progress line.
    pub(crate) shown: &'static [(&'static str, &'static str)],
    /// Tasks to measure by; there may be none.
    pub(crate) held_out: &'a [Task],
    pub(crate) environment: &'a dyn Environment,
    pub(crate) checkpoint: Option<&'a Path>,
    pub(crate) stop: &'a AtomicBool,
}

/// Tasks with the teacher's rows of each.
pub(crate) fn with_traces<'a>(
    tasks: &'a [Task],
    taught: &'a [Vec<Example>],
) -> Vec<TaskWithTraces<'a>> {
    tasks.iter().zip(taught).map(|(task, rows)| TaskWithTraces { task, rows }).collect()
}

/// Trains, and shows every step.
pub(crate) fn train(
    student: &mut Student,
    session: &mut Session,
    training: &Training<'_>,
    printer: Printer,
) -> Result<Ended, TrainError> {
    watched(training, printer, |training| grpo(student, session, training))
}

/// Takes one step of which nothing is kept, and shows how far it is; `None` if it was told to stop.
pub(crate) fn probe(
    student: &mut Student,
    training: &Training<'_>,
    printer: Printer,
) -> Result<Option<Probe>, TrainError> {
    watched(training, printer, |grpo| whetstone_train::grpo::probe(student, grpo))
}

/// Does something with a training while it is shown how far it is.
fn watched<T>(
    training: &Training<'_>,
    printer: Printer,
    work: impl FnOnce(&Grpo<'_>) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let steps = training.source.plan(training.config)?.steps;
    let view = View::new(printer, steps, training.shown);
    let on_silence = |sentence: &str| view.warning(sentence);
    let grpo = Grpo {
        config: training.config,
        source: training.source,
        held_out: training.held_out,
        environment: training.environment,
        judges: crate::judge::callers(training.config),
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

/// Tasks and the file that they come from.
pub(super) struct TaskFile<'a> {
    pub(super) path: &'a Path,
    pub(super) tasks: Vec<Task>,
}

/// What decides whether a prompt leaves room for a completion.
#[derive(Clone, Copy)]
pub(super) struct PromptRoom<'a> {
    pub(super) student: &'a Student,
    pub(super) config: &'a Config,
    pub(super) environment: &'a dyn Environment,
}

impl PromptRoom<'_> {
    /// The tasks whose prompts leave room for a completion.
    pub(super) fn fitting(
        self,
        file: TaskFile<'_>,
        printer: Printer,
    ) -> Result<Vec<Task>, TrainError> {
        let Self { student, config, environment } = self;
        let TaskFile { path, mut tasks } = file;
        let all = tasks.len();
        if all == 0 {
            return Ok(tasks);
        }
        let fitting = tasks.iter().map(|task| fits(student, config, environment, task));
        let fitting = fitting.collect::<Result<Vec<bool>, _>>()?;
        let most = max_prompt_tokens(config);
        let reason = format!("with prompts of more than {most} tokens");
        left_out::tasks(tasks.iter().zip(fitting.iter().copied()), &reason, printer);
        let mut fitting = fitting.into_iter();
        tasks.retain(|_| fitting.next().unwrap_or(true));
        let left = all - tasks.len();
        match (left, tasks.is_empty()) {
            (0, _) => {}
            (_, true) => return Err(TrainError::PromptsTooLong { most }),
            (left, false) => {
                let left = counted(left, "task");
                printer.note(format_args!("{}: left out: {left} {reason}", path.display()));
            }
        }
        Ok(tasks)
    }
}

/// The input files: those of the run if it is resumed, and else the given ones.
fn files(
    args: &GrpoArgs,
    weights: DualSourceConfig,
    known: Option<&Known>,
) -> Result<Files, Failure> {
    let GrpoArgs { tasks, traces, held_out, rollouts, .. } = args;
    let given = Files {
        tasks: tasks.clone(),
        held_out: held_out.clone(),
        traces: traces.clone(),
        rollouts: rollouts.clone(),
    };
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

/// The tasks to measure by. One that is learnt from would measure learning by heart.
fn held_out(path: Option<&Path>, tasks: &[Task]) -> Result<Vec<Task>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let held_out = read_tasks(path)?;
    let learnt: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    match held_out.iter().find(|task| learnt.contains(task.id.as_str())) {
        Some(task) => Err(Failure::NotHeldOut { path: path.to_owned(), task: task.id.to_string() }),
        None => Ok(held_out),
    }
}

/// The teacher's traces, if they count.
pub(super) fn traces(path: Option<&Path>) -> anyhow::Result<Vec<Trace>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    if !path.exists() {
        return Err(Failure::NoTraces { path: path.to_owned() }.into());
    }
    sft::read(path)
}

/// Traces and the file that they come from.
pub(crate) struct TraceFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) traces: Vec<Trace>,
}

impl TraceFile<'_> {
    /// The rows of each task. Warns of sources of traces of which nothing is left.
    pub(crate) fn teach(
        self,
        tasks: &[Task],
        student: &Student,
        config: &Config,
        printer: Printer,
    ) -> Result<Vec<Vec<Example>>, TrainError> {
        let max_tokens = config.training.max_length as usize;
        let mut found = left_out::Traces::new(self.path, max_tokens);
        let mut by_task: BTreeMap<String, Vec<Trace>> = BTreeMap::new();
        for trace in self.traces {
            by_task.entry(trace.task_id.to_string()).or_default().push(trace);
        }
        let mut taught = Vec::with_capacity(tasks.len());
        for task in tasks {
            let traces = by_task.remove(task.id.as_str()).unwrap_or_default();
            let made = rows(student, &traces, config)?;
            found.made(traces.iter().map(|trace| &trace.task_id), &made);
            taught.push(made.rows.iter().map(Example::from).collect());
        }
        by_task.values().flatten().for_each(|trace| found.of_another_task(&trace.task_id));
        found.warn(printer);
        Ok(taught)
    }
}

pub(crate) fn preflight(
    student: &Student,
    config: &Config,
    taught: &[Vec<Example>],
    printer: Printer,
) {
    let with = taught.iter().filter(|rows| !rows.is_empty()).count();
    let of = taught.len();
    let weights = config.dual_source;
    printer.note(format_args!(
        "weights: rollouts {}, teacher {} ({with} of {of} tasks have a passing trace), own best {}",
        weights.grpo_weight, weights.teacher_sft_weight, weights.self_sft_weight
    ));
    let (all, trained) = student.decoder.parameters().count();
    let (training, sampling) = student.grpo_memory(config, Limits::default().sequences);
    printer.note(format_args!(
        "{trained} of {all} parameters are trained; about {} MiB to train, {} MiB to sample",
        training.total() >> 20,
        sampling.total() >> 20
    ));
}
