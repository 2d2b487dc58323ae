//! The files that a training reads: those that its run was begun with, or those that are given.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::jsonl::{Records, read_tasks};
use whetstone_core::sft_row::SftRow;
use whetstone_core::task::TaskId;
use whetstone_core::trace::Trace;
use whetstone_env::registry::Environments;
use whetstone_record::run_dir::RunDir;
use whetstone_train::TrainError;
use whetstone_train::inputs::{self, Files, Known};

use super::{RunRequest, own_held_out, reward_model};
use crate::environment;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::untested;

/// The tasks of a new run, unless others are named.
pub(super) const TASKS: &str = "data/train.jsonl";
/// The traces of a new run, unless others are named.
pub(super) const TRACES: &str = "data/teacher_traces.jsonl";

/// A run to resume that was stopped before its inputs were kept.
pub(super) const NONE_RECORDED: Failure = Failure::Usage {
    problem: "the run was stopped before its input files were recorded",
    hint: "nothing was learnt yet: remove its directory, and start it again without `--resume`",
};

/// The inputs that a resumed run was started with; `None` for a new run, and for one from before
/// inputs were kept. A run that was not begun has nothing to resume.
pub(super) fn known(request: &RunRequest, config: &Config) -> Result<Option<Known>, Failure> {
    if !request.resume {
        return Ok(None);
    }
    let view = RunDir::open_read_only(Path::new(&config.run.dir), &request.name)
        .map_err(TrainError::from)?;
    let known = inputs::known(&view)?;
    if known.is_none() && !view.has_begun() {
        return Err(NOT_BEGUN);
    }
    Ok(known)
}

const NOT_BEGUN: Failure = Failure::Usage {
    problem: "the run was not begun: nothing is recorded of it but its start",
    hint: "give the same command again without `--resume`, with its files and settings: it starts the run over",
};

/// Keeps the files of a run without recorded inputs. If that run is being resumed, warns, because
/// it is unknown whether these are the original files.
pub(super) fn keep_and_say(
    request: &RunRequest,
    run: &RunDir,
    files: &Files,
    observer: &dyn Observer,
) -> Result<(), Failure> {
    if request.resume {
        let Files { tasks, held_out, traces, rollouts, pairs, held_out_pairs, .. } = files;
        let paths = [tasks, held_out, traces, rollouts, pairs, held_out_pairs];
        let models = [&files.adapter, &files.reward_model, &files.process_model];
        let paths = paths.into_iter().chain([&files.rows]).chain(models).flatten();
        let paths = paths.chain(&files.episodes).chain(&files.held_out_episodes);
        let names: Vec<String> = paths.map(|path| format!("`{}`", path.display())).collect();
        observer.note(&format_args!(
            "the run has no record of its input files; it resumes with {}",
            names.join(", ")
        ));
    }
    let kept = inputs::keep(run, files);
    // A run that began from a checkpoint has that, and a name that is taken.
    let is_new = !request.resume && request.from.is_none();
    let kept = if is_new { kept.map_err(TrainError::in_creation) } else { kept };
    Ok(kept?)
}

/// The input files: those of the run if it is resumed, and else the given ones.
pub(super) fn files(
    given: Files,
    config: &Config,
    known: Option<&Known>,
) -> Result<Files, Failure> {
    if let Some(known) = known {
        return Ok(known.files(&given)?);
    }
    let or = |path: Option<PathBuf>, default: &str| path.unwrap_or_else(|| default.into());
    let traces =
        Some(or(given.traces, TRACES)).filter(|_| config.dual_source.teacher_sft_weight > 0.0);
    // Rollouts of a file name their tasks, which are read only if prompts must be made again.
    let tasks = match given.rollouts {
        Some(_) => given.tasks,
        None => Some(or(given.tasks, TASKS)),
    };
    let is_sampled = given.rollouts.is_none();
    let reward_model = reward_model::weights(config)?.filter(|_| is_sampled);
    let process_model = reward_model::process_weights(config)?.filter(|_| is_sampled);
    Ok(Files { tasks, traces, reward_model, process_model, ..given })
}

/// Refuses to resume a run without a record of its inputs if the default input files do not exist: it was started
/// with other files.
pub(super) fn check_named(
    request: &RunRequest,
    known: Option<&Known>,
    files: &Files,
) -> Result<(), Failure> {
    let is_missing = |path: &Option<PathBuf>, default: &str| {
        path.as_deref().is_some_and(|path| path == Path::new(default) && !path.exists())
    };
    let is_default = is_missing(&files.tasks, TASKS) || is_missing(&files.traces, TRACES);
    if request.resume && known.is_none() && is_default { Err(NOT_NAMED) } else { Ok(()) }
}

const NOT_NAMED: Failure = Failure::Usage {
    problem: "the run has no record of its input files, and those of a new run are not there",
    hint: "name the files that it was started with, beside `--resume`: `--tasks`, `--traces`, `--rollouts`",
};

/// What the files of a training hold.
pub(super) struct Inputs {
    /// Tasks to learn from; of recorded rollouts those that they were sampled for.
    pub(super) tasks: Vec<Task>,
    /// Tasks to measure by.
    pub(super) held_out: Vec<Task>,
    /// The teacher's traces, if they count.
    pub(super) traces: Vec<Trace>,
}

impl Inputs {
    pub(super) fn read(
        files: &Files,
        config: &Config,
        observer: &dyn Observer,
    ) -> Result<Self, Failure> {
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
            None if files.rollouts.is_none() => {
                let split = own_held_out::split(tasks, config, observer);
                tasks = split.tasks;
                split.held_out
            }
            None => Vec::new(),
        };
        let all = tasks.iter().chain(&held_out);
        Environments::check_kinds(config, all).map_err(environment::failure)?;
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

/// The teacher's traces, if they count.
fn traces(path: Option<&Path>) -> Result<Vec<Trace>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    if !path.exists() {
        return Err(Failure::NoTraces { path: path.to_owned() });
    }
    read_traces(path)
}

/// Reads a file of SFT rows.
pub(super) fn read_rows(path: &Path) -> Result<Vec<SftRow>, Failure> {
    let records = Records::<SftRow, _>::open(path).map_err(Failure::Rows)?;
    let rows = records.map(|record| record.map(|numbered| numbered.record));
    rows.collect::<Result<_, _>>().map_err(Failure::Rows)
}

/// Reads a file of traces.
pub(crate) fn read_traces(path: &Path) -> Result<Vec<Trace>, Failure> {
    let records = Records::<Trace, _>::open(path).map_err(Failure::Traces)?;
    let traces = records.map(|record| record.map(|numbered| numbered.record));
    traces.collect::<Result<_, _>>().map_err(Failure::Traces)
}
