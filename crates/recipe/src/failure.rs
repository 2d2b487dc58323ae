//! Failures of recipes: what broke, what to do about it, and whose fault it is.
// size: every failure has its message, its hint and its kind here.

// size: one enum for the whole boundary, with its hints.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use whetstone_config::Problem;
use whetstone_core::jsonl::LineError;
use whetstone_data::pairs::PairError;
use whetstone_data::phaser::PromptError;
use whetstone_data::prepare::PrepareError;
use whetstone_data::prove::ProveError;
use whetstone_data::sampled_traces::SampledTracesError;
use whetstone_data::solver::GenerateError;
use whetstone_env::environment::BuildError;
use whetstone_env::registry;
use whetstone_eval::EvalError;
use whetstone_model::prompting::PromptingError;
use whetstone_record::error::{FileError, RunError, ViewError, write_hint};
use whetstone_remote::chat::ChatError;
use whetstone_remote::hub::HubError;
use whetstone_rollout::cache::CacheError;
use whetstone_rollout::sample::SampleError;
use whetstone_rollout::score::{BadLine, ScoreError};
use whetstone_rollout::teach::TeachError;
use whetstone_sandbox::StartError;
use whetstone_train::TrainError;
use whetstone_train::inputs::InputError;

use crate::filtered::FilterError;
use crate::model_failure::{ModelFailure, open_hint};
use crate::tasks::TasksError;
use crate::text::{counted, many, plain};

const NAME_TRACES: &str = "name a file of these tasks with `--traces`, collect some with `whet teach`, or \
     train without them: `--set dual_source.teacher_sft_weight=0`";
const NAME_HELD_OUT: &str = "name tasks with `--held-out` that `--tasks` does not have, e.g. the `data/dev.jsonl` of \
     `whet data prepare`";
const ROW_FORM: &str = "a row has `instruction`, `input` and `output`, and may have `history`: \
     `whet teach --rows FILE` writes such a file";
/// How to create a file of tasks.
const MAKE_TASKS: &str = "`whet data prepare` makes `data/train.jsonl` and `data/val.jsonl`; tasks of your \
                          own are one JSON object a line";
/// Bad lines that are listed.
const MAX_DETAILS: usize = 20;
/// How to create a file of traces.
const MAKE_TRACES: &str =
    "`whet teach` makes `data/teacher_traces.jsonl`, or `--traces` names another file";
/// How to create a file of rollouts.
const MAKE_ROLLOUTS: &str = "a line of rollouts is {\"prompt_id\":\"…\",\"text\":\"…\"}; `whet rollout` \
                             writes such a file";
const PAIR_FORM: &str = "a pair has `id`, `prompt` (messages), `chosen` and `rejected`: `whet data check FILE` names every \
    bad line, and `whet data pairs --pairs FILE` converts pairs of other forms";
const MAKE_PAIRS: &str =
    "name a file with `--pairs`, or make one of judged rollouts: `whet data pairs`";

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Nobody's: the work was done, and the answer is no.
    No,
    /// The user's: an argument, a setting or a file is wrong.
    Usage,
    /// The machine's, or another machine's.
    Broken,
}

/// Why a recipe failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The config has problems, all of which are reported.
    #[error("the config has {}", counted(.0.len(), "problem"))]
    Config(Vec<Problem>),
    /// Rollouts could not be scored.
    #[error(transparent)]
    Score(#[from] ScoreError),
    /// Tasks could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A data set could not be had from the hub.
    #[error("cannot fetch the data set `{name}`")]
    Hub {
        /// Its name there.
        name: String,
        /// The option that takes a path instead.
        flag: &'static str,
        /// Why not.
        source: Box<HubError>,
    },
    /// A model could not be had from the hub.
    #[error("cannot fetch the model `{name}`")]
    HubModel {
        /// Its name there.
        name: String,
        /// Why not.
        source: Box<HubError>,
    },
    /// A family of embedded tasks that there is not.
    #[error("`{name}` is not a family of embedded tasks")]
    Family {
        /// The given name.
        name: String,
    },
    /// A family of generated models that there is not.
    #[error("`{name}` is not a family of generated models")]
    SolverFamily {
        /// The given name.
        name: String,
    },
    /// A key or a section that there is not.
    #[error("there is no key or section `{}`", plain(key, 100))]
    UnknownKey {
        /// The given name.
        key: String,
        /// The nearest one.
        hint: String,
    },
    /// Models could not be generated.
    #[error(transparent)]
    Generate(GenerateError),
    /// Tasks could not be validated.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// Pairs could not be made.
    #[error(transparent)]
    MakePairs(#[from] PairError),
    /// Traces could not be made of rollouts.
    #[error(transparent)]
    MakeTraces(#[from] SampledTracesError),
    /// Tasks could not be filtered.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The settings name no prompt, or its template refuses a task.
    #[error(transparent)]
    Prompt(#[from] whetstone_core::prompt::PromptError),
    /// The prompt cannot be used with the model.
    #[error(transparent)]
    Prompting(#[from] PromptingError),
    /// Prompt sets or mock rollouts could not be made.
    #[error(transparent)]
    Prompts(#[from] PromptError),
    /// Traces could not be collected.
    #[error(transparent)]
    Teach(#[from] TeachError),
    /// The teacher cannot be asked as the settings say.
    #[error(transparent)]
    Teacher(ChatError),
    /// The server that `--server` names cannot be asked.
    #[error(transparent)]
    ServerFlag(ChatError),
    /// A model cannot be used, or not in this way.
    #[error(transparent)]
    Model(#[from] ModelFailure),
    /// Training could not start, or not continue.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A model could not be measured.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// Rollouts could not be sampled.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// There is no such run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run could not be shown.
    #[error(transparent)]
    View(#[from] ViewError),
    /// There is no folder of runs.
    #[error("there is no folder `{}`", path.display())]
    NoFolder {
        /// The expected path.
        path: PathBuf,
    },
    /// A server that is measured went away.
    #[error("{message}")]
    Server {
        /// The last message.
        message: String,
        /// A suggestion for the user.
        hint: String,
    },
    /// `--from` is not a checkpoint.
    #[error("there is no checkpoint at `{}`", path.display())]
    NoCheckpoint {
        /// The given path.
        path: PathBuf,
        /// The existing checkpoints.
        hint: String,
    },
    /// A quickstart of this name exists already.
    #[error("the run `{}` exists already", path.display())]
    RunExists {
        /// Its directory.
        path: PathBuf,
        /// The command to type.
        hint: String,
    },
    /// Traces that the settings ask for are not there.
    #[error("there are no traces in `{}`, and `dual_source.teacher_sft_weight` is not 0", path.display())]
    NoTraces {
        /// The expected path.
        path: PathBuf,
    },
    /// Traces that are of no use for these tasks.
    #[error(
        "no task has a passing trace in `{}`, and `dual_source.teacher_sft_weight` is not 0",
        path.display()
    )]
    OtherTraces {
        /// Their path.
        path: PathBuf,
    },
    /// A file that is not what a run was begun with.
    #[error(transparent)]
    Input(InputError),
    /// A task to measure by is one to learn from.
    #[error("`{task}` of `{}` is also a training task", path.display())]
    NotHeldOut {
        /// The file with the tasks to measure by.
        path: PathBuf,
        /// The first of them.
        task: String,
    },
    /// A file of tasks has a line that is not a task.
    #[error(transparent)]
    Lines(#[from] LineError),
    /// A file of traces has a line that is not a trace.
    #[error(transparent)]
    Traces(LineError),
    /// A file of SFT rows has a line that is not a row.
    #[error(transparent)]
    Rows(LineError),
    /// The tasks of a suite cannot be read.
    #[error("{problem}")]
    Suite {
        /// Why not.
        problem: String,
        /// A suggestion for the user.
        hint: String,
    },
    /// Stages of a file cannot run, or not go on.
    #[error("{problem}")]
    Stages {
        /// Why not.
        problem: String,
        /// A suggestion for the user.
        hint: String,
    },
    /// A file of preference pairs has a line that is not one.
    #[error(transparent)]
    Pairs(LineError),
    /// A file of preference pairs is empty.
    #[error("`{}` has no preference pairs", path.display())]
    NoPairs {
        /// The file.
        path: PathBuf,
    },
    /// A task that the file does not have.
    #[error("there is no task{} in {}", .id.as_ref().map_or_else(String::new, |id| format!(" `{}`", plain(id, 100))), .path.as_ref().map_or_else(|| "the tasks that ship with whet".to_owned(), |path| format!("`{}`", path.display())))]
    NoTask {
        /// Its id; none if the file is empty.
        id: Option<String>,
        /// The file.
        path: Option<PathBuf>,
    },
    /// Flags that do not belong together.
    #[error("{problem}")]
    Usage {
        /// Why not.
        problem: &'static str,
        /// A suggestion for the user.
        hint: &'static str,
    },
    /// The environment of a task has no such policy, or its policy cannot answer.
    #[error("there is no {policy} policy for the task `{}`", plain(task, 100))]
    Policy {
        /// Its name.
        policy: &'static str,
        /// The task.
        task: String,
        /// Why not, where the environment has one.
        source: Option<whetstone_env::environment::EnvError>,
    },
    /// The cache could not be opened.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Tasks or settings ask for an environment that cannot be built.
    #[error(transparent)]
    Environment(BuildError),
    /// A file could not be read or written.
    #[error("{what}")]
    Io {
        /// The step that failed, with its path.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Phaser cannot be installed, or its declarations cannot be read.
    #[error("{problem}")]
    Phaser {
        /// Why not.
        problem: String,
        /// A suggestion for the user.
        hint: &'static str,
    },
    /// Programs cannot be judged here.
    #[error("cannot judge programs: {problem}")]
    Judge {
        /// Why not.
        problem: String,
        /// A suggestion for the user.
        hint: &'static str,
    },
}

impl From<TasksError> for Failure {
    fn from(err: TasksError) -> Self {
        match err {
            TasksError::Lines(err) => Self::Lines(err),
            TasksError::Family { name } => Self::Family { name },
            TasksError::Train(err) => Self::Train(err),
        }
    }
}

impl From<InputError> for Failure {
    fn from(err: InputError) -> Self {
        match err {
            InputError::Train(err) => Self::Train(err),
            err => Self::Input(err),
        }
    }
}

impl Failure {
    /// A file could not be read or written; `what` is the step with its path.
    pub fn io(what: String, source: io::Error) -> Self {
        Self::Io { what, source }
    }

    /// A judge that is needed does not start.
    pub fn judge(err: &StartError) -> Self {
        let hint = "`whet doctor` checks everything the judge needs";
        Self::Judge { problem: err.to_string(), hint }
    }

    /// Everything that is wrong, a line for each: problems of a config, lines of a file.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Config(problems) => problems.iter().map(ToString::to_string).collect(),
            Self::Score(err) => score_details(err),
            Self::Prepare(err) => first_bad(err).into_iter().collect(),
            Self::Teach(err) => teach_details(err),
            Self::MakePairs(err) => pair_details(err),
            _ => Vec::new(),
        }
    }

    /// A suggestion for the user.
    pub fn hint(&self) -> Option<Cow<'_, str>> {
        if let Some(hint) = self.missing_file() {
            return Some(Cow::Borrowed(hint));
        }
        let known = match self {
            Self::Hub { .. }
            | Self::HubModel { .. }
            | Self::ServerFlag(_)
            | Self::Environment(_)
            | Self::Score(ScoreError::Environment(_))
            | Self::Family { .. }
            | Self::SolverFamily { .. } => return self.composed_hint().map(Cow::Owned),
            Self::Generate(_) => Some(
                "allow more kinds with `--injections`, or other sizes with `--iis` and `--size`",
            ),
            Self::Input(InputError::Other { flag: "traces", .. }) => {
                Some("name the traces that it was started with, or start a new run")
            }
            Self::Input(InputError::Other { flag, .. } | InputError::New { flag, .. }) => {
                let what = format!("leave out `--{flag}`, or start a new run with another name");
                return Some(what.into());
            }
            Self::UnknownKey { hint, .. }
            | Self::RunExists { hint, .. }
            | Self::Stages { hint, .. }
            | Self::Suite { hint, .. }
            | Self::Server { hint, .. }
            | Self::NoCheckpoint { hint, .. } => Some(hint.as_str()),
            Self::Score(err) => err.hint(),
            Self::Prepare(err) => err.hint(),
            Self::Prove(err) => err.hint(),
            Self::MakePairs(err) => err.hint(),
            Self::MakeTraces(err) => err.hint(),
            Self::Prompts(err) => err.hint(),
            Self::Teach(err) => err.hint(),
            Self::Teacher(err) => err.hint(),
            Self::Model(err) => err.hint(),
            Self::Train(TrainError::Open(err)) => open_hint(err),
            Self::Train(err) | Self::Input(InputError::Train(err)) => err.hint(),
            Self::Eval(err) => err.hint(),
            Self::Sample(err) => err.hint(),
            Self::Cache(err) => err.hint(),
            Self::Run(err) => err.hint(),
            Self::View(err) => err.hint(),
            Self::NoFolder { .. } => Some(
                "name the folder that has a directory for each run; the first training makes `runs`",
            ),
            Self::NoTraces { .. } | Self::OtherTraces { .. } => Some(NAME_TRACES),
            Self::NotHeldOut { .. } => Some(NAME_HELD_OUT),
            Self::Policy { .. } => Some(
                "measure tasks of an environment that has it: `whet data prepare --solver` makes some",
            ),
            Self::Usage { hint, .. } | Self::Judge { hint, .. } | Self::Phaser { hint, .. } => {
                Some(*hint)
            }
            Self::NoTask { .. } => {
                Some("name the file with `--tasks`, and a task by its `id` there")
            }
            Self::Filter(err) => Some(err.hint()),
            Self::Prompt(_) => {
                Some("`whet prompt show --template plain --source` prints a template to begin with")
            }
            Self::NoPairs { .. } => Some(MAKE_PAIRS),
            Self::Rows(_) => Some(ROW_FORM),
            Self::Pairs(_) => Some(PAIR_FORM),
            Self::Prompting(_)
            | Self::Config(_)
            | Self::Lines(_)
            | Self::Traces(_)
            | Self::File(_) => None,
            Self::Io { what, .. } if what.starts_with("cannot read") => None,
            Self::Io { source, .. } => write_hint(source),
        };
        known.map(Cow::Borrowed)
    }

    /// The hint of a failure that names what there is.
    fn composed_hint(&self) -> Option<String> {
        match self {
            Self::Hub { flag, source, .. } => Some(format!("{}: `{flag} PATH`", source.hint())),
            Self::HubModel { source, .. } => Some(source.hint()),
            Self::ServerFlag(err) => err.hint_for("`--server`"),
            Self::Environment(err) | Self::Score(ScoreError::Environment(err)) => {
                Some(registry::hint(err))
            }
            Self::Family { .. } => Some(there_are(whetstone_data::embedded::families())),
            Self::SolverFamily { .. } => Some(there_are(whetstone_data::solver::families())),
            _ => None,
        }
    }

    /// The command that creates a missing file.
    fn missing_file(&self) -> Option<&'static str> {
        let missing = match self {
            Self::Traces(err) | Self::Teach(TeachError::Traces(err)) => {
                return err.is_missing().then_some(MAKE_TRACES);
            }
            Self::Pairs(err) => return err.is_missing().then_some(MAKE_PAIRS),
            Self::Score(ScoreError::Batch(err)) | Self::MakePairs(PairError::Batch(err)) => {
                return match err.missing_input()? {
                    "rollouts" => Some(MAKE_ROLLOUTS),
                    "traces" => Some(MAKE_TRACES),
                    _ => None,
                };
            }
            Self::Lines(err)
            | Self::Score(ScoreError::Tasks(err))
            | Self::Teach(TeachError::Tasks(err)) => err.is_missing(),
            Self::Prove(ProveError::Input { source, .. }) => {
                source.kind() == io::ErrorKind::NotFound
            }
            _ => false,
        };
        missing.then_some(MAKE_TASKS)
    }

    /// Whose fault it is.
    pub fn kind(&self) -> FailureKind {
        let is_usage = match self {
            Self::Train(err) if err.is_no() => return FailureKind::No,
            Self::Train(err) => err.is_usage(),
            Self::Score(err) => err.is_usage(),
            Self::Prepare(err) => err.is_usage(),
            Self::Prove(err) => err.is_usage(),
            Self::MakePairs(err) => err.is_usage(),
            Self::MakeTraces(err) => err.is_usage(),
            Self::Prompts(err) => err.is_usage(),
            Self::Teach(err) => err.is_usage(),
            Self::Model(err) => err.is_usage(),
            Self::View(err) => matches!(err, ViewError::Tasks(_)),
            Self::Eval(err) => err.is_usage(),
            Self::Sample(err) => err.is_usage(),
            Self::Hub { .. }
            | Self::HubModel { .. }
            | Self::Server { .. }
            | Self::Io { .. }
            | Self::File(_)
            | Self::Judge { .. } => false,
            _ => true,
        };
        if is_usage { FailureKind::Usage } else { FailureKind::Broken }
    }
}

/// Lines that are at fault.
fn score_details(err: &ScoreError) -> Vec<String> {
    match err {
        ScoreError::BadLines { count, first } => {
            let lines = first.iter().map(|(path, bad)| bad_line(path, bad));
            lines.chain(more(*count, first.len())).collect()
        }
        ScoreError::NoTasks { path, first: Some(bad) } => vec![bad_line(path, bad)],
        _ => Vec::new(),
    }
}

/// Rows and lines that are no pairs.
fn pair_details(err: &PairError) -> Vec<String> {
    let PairError::BadLines { count, first } = err else { return Vec::new() };
    let shown = first.iter().take(MAX_DETAILS);
    let lines = shown.map(|bad| format!("{}:{}: {}", bad.file.display(), bad.line, bad.reason));
    lines.chain(more(*count, first.len().min(MAX_DETAILS))).collect()
}

/// The first bad row of sources in which nothing is good.
fn first_bad(err: &PrepareError) -> Option<String> {
    match err {
        PrepareError::NoTasks { first: Some(bad), .. }
        | PrepareError::NoBenchmark { first: Some(bad), .. } => Some(bad.to_string()),
        _ => None,
    }
}

/// Invalid tasks, or what is kept of an interrupted run.
fn teach_details(err: &TeachError) -> Vec<String> {
    match err {
        TeachError::BadTasks { path, count, first } => {
            let lines = first.iter().map(|bad| bad_line(path, bad));
            lines.chain(more(*count, first.len())).collect()
        }
        TeachError::NoTasks { path, first: Some(bad) } => vec![bad_line(path, bad)],
        TeachError::Stopped { stored, journal, .. } => {
            vec![format!("{} stored in {}", many(*stored, "sample"), journal.display())]
        }
        _ => Vec::new(),
    }
}

fn bad_line(path: &Path, bad: &BadLine) -> String {
    format!("{}:{}: {}", path.display(), bad.line, bad.reason)
}

/// How many lines are not shown.
fn more(count: u64, shown: usize) -> Option<String> {
    let more = count.saturating_sub(shown as u64);
    (more > 0).then(|| format!("and {more} more"))
}
/// The names there are.
fn there_are(names: impl Iterator<Item = &'static str>) -> String {
    format!("there are {}", names.collect::<Vec<_>>().join(", "))
}
