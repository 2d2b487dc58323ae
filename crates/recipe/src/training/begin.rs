//! The beginning of every training: its settings, its run and its student.

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_config::{Layer, Loaded};
use whetstone_core::config::{Config, Trained};
use whetstone_model::adapter::WEIGHTS_FILE;
use whetstone_record::error::RunError;
use whetstone_record::run_dir::{RunDir, RunView};
use whetstone_train::session::{FINAL_MODEL, RunLocation, RunStart, STATE, Session, stage_of};
use whetstone_train::{Student, TrainError};

use super::RunRequest;
use crate::device;
use crate::failure::Failure;
use crate::find::{Around, find};
use crate::observer::Observer;

/// The key of the part of training tasks that is held out.
const SPLIT: &str = "held_out.split";
/// The folder of a run's checkpoints.
const OUTPUTS: &str = "outputs";

/// The settings of a run: the given ones over those of the command, or those that the run was
/// started with.
pub(crate) fn settings(request: &RunRequest, beneath: &[Layer]) -> Result<Loaded, Failure> {
    let mut asked = request.sources.clone();
    asked.set.extend(request.device.map(|device| format!("run.device={device}")));
    let mut given = asked.load(beneath).map_err(Failure::Config)?;
    if !request.resume {
        request.from.as_deref().map_or(Ok(()), check_checkpoint)?;
        // What a checkpoint was trained on measures nothing.
        if request.from.is_some() && !given.places.contains_key(SPLIT) {
            given.config.held_out.split = 0.0;
        }
        return Ok(given);
    }
    let sources = &request.sources;
    if !sources.files.is_empty() || sources.set.iter().any(|set| !set.starts_with("run.")) {
        return Err(Failure::Usage {
            problem: "a run resumes with its original settings",
            hint: "leave out `--config` and `--set`, or start a new run",
        });
    }
    let root = Path::new(&given.config.run.dir);
    let view = RunDir::open_read_only(root, &request.name).map_err(TrainError::from)?;
    let text = view.config_text().map_err(TrainError::from)?;
    let layer = Layer::Run { path: view.config_path(), text };
    let mut saved = whetstone_config::load(&[layer]).map_err(Failure::Config)?;
    // The folder of runs may have moved, and a run can resume on another device.
    saved.config.run.dir = given.config.run.dir;
    if given.places.contains_key("run.device") {
        saved.config.run.device = given.config.run.device;
    }
    if given.places.contains_key("run.tensorboard") {
        saved.config.run.tensorboard = given.config.run.tensorboard;
    }
    Ok(saved)
}

/// How a run begins: with a checkpoint of the same training, or with the adapter of something else.
pub(super) struct Start {
    pub(super) request: RunRequest,
    /// The directory of an adapter to begin with, whose training was another.
    pub(super) adapter: Option<PathBuf>,
}

impl Start {
    pub(super) fn of(request: &RunRequest, stage: &str) -> Self {
        let mut request = request.clone();
        let is_adapter = |dir: &Path| dir.join(WEIGHTS_FILE).is_file();
        let result = |dir: &Path| dir.join("outputs").join(FINAL_MODEL);
        let found = request
            .from
            .clone()
            .and_then(|dir| [result(&dir), dir].into_iter().find(|dir| is_adapter(dir)));
        let adapter = found.filter(|dir| stage_of(dir).as_deref() != Some(stage));
        if adapter.is_some() {
            request.from = None;
        }
        Self { request, adapter }
    }
}

/// Checks that `--from` names a checkpoint.
fn check_checkpoint(path: &Path) -> Result<(), Failure> {
    if path.join(STATE).is_file() {
        return Ok(());
    }
    let outputs = path.join(OUTPUTS);
    let beside = if outputs.is_dir() { &outputs } else { path.parent().unwrap_or(path) };
    let hint = match checkpoints(beside).join(", ") {
        none if none.is_empty() => {
            "checkpoints of a run are `runs/NAME/outputs/checkpoint-STEP`; `whet runs` lists the runs"
                .to_owned()
        }
        there => format!("`{}` has {there}", beside.display()),
    };
    Err(Failure::NoCheckpoint { path: path.to_owned(), hint })
}

/// The checkpoints in the outputs of a run, by their steps, and its final model.
fn checkpoints(outputs: &Path) -> Vec<String> {
    let entries = fs::read_dir(outputs).into_iter().flatten().flatten();
    let there = entries.filter(|entry| entry.path().join(STATE).is_file());
    let mut names: Vec<String> =
        there.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let step = |name: &str| name.rsplit('-').next().and_then(|step| step.parse::<u64>().ok());
    names.sort_by_key(|name| (step(name).unwrap_or(u64::MAX), name.clone()));
    names
}

/// A run before anything is loaded: one to resume, or the name of a new one.
pub(crate) struct Begun {
    session: Option<Session>,
    checkpoint: Option<PathBuf>,
}

/// Opens the run to resume, if there is one. A name is taken by a run that was begun.
pub(crate) fn look(
    request: &RunRequest,
    config: &Config,
    stage: &'static str,
) -> Result<Begun, TrainError> {
    let place = place(request, config);
    if request.resume {
        let (session, checkpoint) = Session::resume(place, stage, config)?;
        return Ok(Begun { session: Some(session), checkpoint });
    }
    let found = RunDir::open_read_only(place.root, place.name);
    if let Some(view) = found.ok().filter(RunView::has_begun) {
        return Err(RunError::Exists { path: view.dir().to_owned() }.into());
    }
    Ok(Begun { session: None, checkpoint: request.from.clone() })
}

impl Begun {
    /// The checkpoint to resume from.
    pub(crate) fn checkpoint(&self) -> Option<&Path> {
        self.checkpoint.as_deref()
    }

    /// The run. A new one is created only now: a failed start leaves nothing behind.
    pub(crate) fn session(
        self,
        request: &RunRequest,
        loaded: &Loaded,
        stage: &'static str,
    ) -> Result<Session, TrainError> {
        if let Some(session) = self.session {
            return Ok(session);
        }
        let (place, text) = (place(request, &loaded.config), whetstone_config::show(loaded));
        let command: Vec<String> = std::env::args().collect();
        let command = command.join(" ");
        let config = &loaded.config;
        let start = RunStart { config, config_text: &text, command: &command };
        match self.checkpoint {
            Some(from) => Session::create_from(place, stage, start, &from),
            None => Session::create(place, stage, start),
        }
    }
}

fn place<'a>(request: &'a RunRequest, config: &'a Config) -> RunLocation<'a> {
    RunLocation { root: Path::new(&config.run.dir), name: &request.name }
}

/// Opens the student on the device that the settings name.
pub(crate) fn student(
    request: &RunRequest,
    config: &Config,
    checkpoint: Option<&Path>,
    observer: &dyn Observer,
) -> Result<Student, Failure> {
    let device = device::open(config, request.threads, observer)?;
    let found = find(&config.student.model_name, &Around::of(config, observer))?;
    if found.adapter.is_some() {
        return Err(Failure::Usage {
            problem: "`student.model_name` is an adapter, and training would put another over it",
            hint: "start from it with `--from`, or merge it into one model with `whet export`",
        });
    }
    let student = Student::open(&found.model, &device, config, checkpoint)?;
    let is_gguf = found.model.extension().is_some_and(|ending| ending == "gguf");
    if is_gguf && student.model.origin.is_none() && config.training.train == Trained::Lora {
        observer.note(
            &"the student is a GGUF file that does not say which model of the hub it was made from; for \
             PEFT, name that model when all is done: `whet export RUN --base-model NAME --out DIR`",
        );
    }
    Ok(student)
}
