//! Why a training stops before its end.

// size: one enum for the whole boundary, with its hints.

use std::path::{Path, PathBuf};

use whetstone_algo::AlgoError;
use whetstone_core::jsonl::LineError;
use whetstone_core::prompt::PromptError;
use whetstone_infer::GenerateError;
use whetstone_kernels::DeviceError;
use whetstone_model::adapter::AdapterError;
use whetstone_model::decoder::BatchError;
use whetstone_model::memory::Plan as MemoryPlan;
use whetstone_model::prompting::PromptingError;
use whetstone_model::template::TemplateError;
use whetstone_model::tokenizer::TokenizerError;
use whetstone_model::weights::WeightsError;
use whetstone_model::{ExportError, OpenError};
use whetstone_record::error::{FileError, JournalError, ReadError, RunError, is_full};
use whetstone_rollout::collect::CollectError;

use crate::reward_model::error::{RewardModelError, ScoreError};

const NO_ROOM: &str = "free some space, then continue with `--resume`";

/// A training could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The student cannot be opened.
    #[error("cannot open the student")]
    Open(#[source] OpenError),
    /// Its weights cannot be read.
    #[error("cannot read the student's weights")]
    Weights(#[source] WeightsError),
    /// A model that was made for no conversation.
    #[error("the student has no chat template, and prompts are conversations")]
    NoTemplate,
    /// The template refuses a conversation.
    #[error("cannot render a prompt")]
    Template(#[from] TemplateError),
    /// The settings name no prompt, or its template refuses a task.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The prompt cannot be used with the student.
    #[error(transparent)]
    Prompting(#[from] PromptingError),
    /// A text is no tokens.
    #[error("cannot encode a prompt")]
    Tokenizer(#[from] TokenizerError),
    /// The context of the model is shorter than what was asked for.
    #[error("`training.max_length` is {asked}, but the student was made for {made_for} tokens")]
    Context {
        /// What was asked for.
        asked: usize,
        /// What it was made for.
        made_for: usize,
    },
    /// Nothing to solve.
    #[error("there are no tasks to learn from")]
    NoTasks,
    /// Nothing of it fits.
    #[error(
        "every task's prompt has more than {most} tokens, which is what `training.max_length` leaves \
         beside `grpo.max_completion_length`"
    )]
    PromptsTooLong {
        /// Tokens that a prompt may have.
        most: usize,
    },
    /// A file of rollouts that cannot be read, or a line of it that is not a rollout.
    #[error(transparent)]
    Rollouts(LineError),
    /// A line that is a rollout, and cannot be learnt from.
    #[error("{}:{line}: {problem}", path.display())]
    RolloutLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// Token ids that belong to another model.
    #[error(
        "{}:{line}: its tokens are those of {recorded}, and the student is {student}: {evidence}",
        path.display()
    )]
    OtherTokenizer {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Whose tokens they are, as far as the line says.
        recorded: String,
        /// The student.
        student: String,
        /// How that was seen.
        evidence: String,
    },
    /// A teacher of distillation that has other tokens than the student.
    #[error(
        "the teacher `{teacher}` has another vocabulary than the student `{student}`: token id {id} is \
         {teacher_token} for the teacher and {student_token} for the student"
    )]
    OtherVocabulary {
        /// The student.
        student: String,
        /// The teacher.
        teacher: String,
        /// The first id that differs.
        id: u32,
        /// That token of the student.
        student_token: String,
        /// That token of the teacher.
        teacher_token: String,
    },
    /// A teacher of distillation that scores nothing.
    #[error("the teacher `{teacher}` cannot score the rollouts of step {step}")]
    Teacher {
        /// The teacher.
        teacher: String,
        /// The step.
        step: u64,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file without a rollout that has a reward.
    #[error("`{}` has no rollout with a reward", .0.display())]
    NoRollouts(PathBuf),
    /// A row whose conversation is no prompt.
    #[error("row {row} cannot be rendered: {problem}")]
    Row {
        /// Its number among the rows, counted from 1.
        row: u64,
        /// Why not.
        problem: String,
    },
    /// Nothing to learn by heart.
    #[error("there is no row to learn from")]
    NoRows,
    /// A preference pair that cannot be learnt from.
    #[error("the preference pair `{id}` cannot be used: {problem}")]
    Pair {
        /// Its name.
        id: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Every pair was left out.
    #[error(
        "of {pairs} preference pairs none is left: {too_long} have a reply of more than {limit} tokens \
         with its prompt (the longest has {longest}), {same_tokens} have two replies of the same tokens"
    )]
    NoPairs {
        /// Pairs of the file.
        pairs: usize,
        /// Of these, too long.
        too_long: usize,
        /// Of these, with replies that are the same tokens.
        same_tokens: usize,
        /// `training.max_length`.
        limit: usize,
        /// Tokens of the longest.
        longest: usize,
    },
    /// Files without a transition to learn from.
    #[error(
        "{files} has no transitions: none of {lines} lines is a scored episode that records them"
    )]
    NoTransitions {
        /// The files.
        files: String,
        /// Lines in them.
        lines: usize,
    },
    /// A reward model that says nothing.
    #[error("the reward model gives all replies of {pairs} held-out pairs the same score")]
    SameScores {
        /// Held-out pairs.
        pairs: u64,
    },
    /// A reward model that cannot be used.
    #[error(transparent)]
    RewardModel(Box<RewardModelError>),
    /// Replies that cannot be scored.
    #[error("cannot score held-out sequences")]
    Score(#[from] ScoreError),
    /// A run that is not one of the command's.
    #[error("cannot resume `{}`: {problem}", path.display())]
    OtherRun {
        /// The run, or a file of it.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Settings that do not fit together.
    #[error("{0}")]
    Settings(String),
    /// A run or a checkpoint that is not of this training.
    #[error("`{}` is one of `whet train {stage}`", path.display())]
    OtherTraining {
        /// The run, or the checkpoint.
        path: PathBuf,
        /// What it is of.
        stage: String,
    },
    /// A checkpoint that cannot be read.
    #[error("cannot read the checkpoint `{}`", path.display())]
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<CheckpointError>,
    },
    /// A checkpoint whose adapter is another than the settings say.
    #[error("the adapter of `{}` has `{key}` = {found}, but the settings have {asked}", path.display())]
    OtherAdapter {
        /// The checkpoint.
        path: PathBuf,
        /// The setting that differs.
        key: &'static str,
        /// What the adapter has.
        found: String,
        /// What the settings say.
        asked: String,
    },
    /// Sequences that make no batch.
    #[error("step {step}: the sequences do not form a batch")]
    Batch {
        /// The step.
        step: u64,
        /// The cause.
        #[source]
        source: BatchError,
    },
    /// Non-finite values.
    #[error("step {step}: {what}; no checkpoint is touched, and the batch is in `{}`", saved.display())]
    NotFinite {
        /// The step.
        step: u64,
        /// Which number, where.
        what: String,
        /// The batch, for a replay.
        saved: PathBuf,
    },
    /// The same, before the batch was kept.
    #[error("{0}")]
    NoNumber(String),
    /// The run's directory is gone.
    #[error("the run's directory `{}` was removed while it was being written", .0.display())]
    Gone(PathBuf),
    /// No rollout solved anything for too long.
    #[error("no rollout passed a single test in {steps} steps (mean reward {mean:.3})")]
    NoneSolved {
        /// For how many steps.
        steps: u64,
        /// What they were worth.
        mean: f64,
    },
    /// Rollouts could not be collected.
    #[error("cannot collect rollouts")]
    Collect(#[from] CollectError),
    /// Every reward was equal for too long.
    #[error(
        "no group had rollouts with different rewards for {steps} steps: there is nothing to learn from \
         (mean reward {mean:.3})"
    )]
    AllEqual {
        /// For how many steps.
        steps: u64,
        /// What they were.
        mean: f64,
    },
    /// The device is too small for what is asked.
    #[error(
        "this needs about {needed_mib} MiB on the device, which has {room_mib} MiB free: \
         {largest_mib} MiB are {largest}"
    )]
    NoRoom {
        /// What it takes.
        needed_mib: u64,
        /// What there is.
        room_mib: u64,
        /// What takes most of it.
        largest: &'static str,
        /// How much that is.
        largest_mib: u64,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device failed in the middle of a run.
    #[error("the device stopped working after step {step}; {}", last_checkpoint(.checkpoint.as_ref()))]
    DeviceLost {
        /// The last step that was computed; 0 is none.
        step: u64,
        /// The step of the newest checkpoint.
        checkpoint: Option<u64>,
        /// What failed.
        source: DeviceError,
    },
    /// The arithmetic of a loss.
    #[error(transparent)]
    Algo(#[from] AlgoError),
    /// The run's directory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// One of its files.
    #[error(transparent)]
    File(#[from] FileError),
    /// One of its journals.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// One of its journals cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory of weights cannot be written.
    #[error("cannot write the weights")]
    Export(#[from] ExportError),
}

/// What is wrong with a checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The system refused.
    #[error(transparent)]
    Read(std::io::Error),
    /// Its progress cannot be read.
    #[error("`{file}` holds no progress")]
    State {
        /// The file.
        file: &'static str,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// Its progress is of another version.
    #[error("`{file}` has version {version}")]
    Version {
        /// The file.
        file: &'static str,
        /// The version.
        version: u64,
    },
    /// Its adapter.
    #[error(transparent)]
    Adapter(AdapterError),
    /// Its weights, or the means of its optimizer.
    #[error(transparent)]
    Weights(WeightsError),
}

impl From<RewardModelError> for TrainError {
    fn from(err: RewardModelError) -> Self {
        Self::RewardModel(Box::new(err))
    }
}

impl TrainError {
    /// A plan that needs so many bytes, on a device that has so many left.
    pub(crate) fn no_room(plan: &MemoryPlan, needed: u64, room: u64) -> Self {
        let MemoryPlan { weights, gradients, means, kept, temporary, logits, cache, .. } = *plan;
        let parts = [
            ("the weights", weights),
            ("gradients", gradients),
            ("the optimizer's means", means),
            ("what layers keep for the backward pass", kept),
            ("what exists for a moment", temporary),
            ("logits", logits),
            ("keys and values", cache),
        ];
        let (largest, bytes) = parts.into_iter().max_by_key(|part| part.1).unwrap_or_default();
        Self::NoRoom {
            needed_mib: needed >> 20,
            room_mib: room >> 20,
            largest,
            largest_mib: bytes >> 20,
        }
    }

    /// The error of reading a checkpoint.
    pub(crate) fn damaged(path: &Path, source: CheckpointError) -> Self {
        Self::Damaged { path: path.to_owned(), source: Box::new(source) }
    }

    /// The error of a step in the creation of a run: there is nothing to resume yet.
    #[must_use]
    pub fn in_creation(self) -> Self {
        match self {
            Self::File(err) => Self::Run(RunError::in_creation(err)),
            Self::Run(err) => Self::Run(RunError::in_creation(err)),
            err => err,
        }
    }

    /// Names a file of the directory that was to be written, and not of its temporary.
    pub(crate) fn of_target(self, temporary: &Path, target: &Path) -> Self {
        match self {
            Self::Export(ExportError::Write { path, source }) => {
                let path = path
                    .strip_prefix(temporary)
                    .map_or_else(|_| path.clone(), |file| target.join(file));
                Self::Export(ExportError::Write { path, source })
            }
            err => err,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTemplate => Some("use a model that was tuned for chat or instructions"),
            Self::Context { .. } => Some("lower `training.max_length`"),
            Self::NoRoom { .. } => Some(
                "lower `training.per_device_train_batch_size` (and raise \
                 `training.gradient_accumulation_steps`) or `training.max_length`, or set \
                 `training.gradient_checkpointing` or `student.load_in_8bit`",
            ),
            Self::NoTasks => {
                Some("name another file with `--tasks`, or make one: `whet data prepare`")
            }
            Self::PromptsTooLong { .. } => {
                Some("raise `training.max_length`, or lower `grpo.max_completion_length`")
            }
            Self::NoRows => Some(
                "name other traces with `--traces` or rows with `--rows`, or collect some: \
                     `whet teach`",
            ),
            Self::NoPairs { .. } => {
                Some("raise `training.max_length`, or name other pairs with `--pairs`")
            }
            Self::NoTransitions { .. } => Some(
                "name rollouts of an environment that records them, with `env.kind` or tasks of that kind: \
                 `docs/guides/process-rewards.md`",
            ),
            Self::SameScores { .. } => {
                Some("raise `rm.learning_rate`, or look whether the pairs differ in anything")
            }
            Self::RewardModel(err) => err.hint(),
            Self::OtherTokenizer { .. } => Some(
                "name the model that sampled the file with `--set student.model_name=…`, or remove `meta.turns` \
                 from its lines: their texts are then tokenized again",
            ),
            Self::OtherVocabulary { .. } => Some(
                "distillation compares log-probabilities of the same token ids: name a teacher of the student's family \
                 in `dual_source.distill_teacher`, or learn from its text with `whet teach` and `whet train sft`",
            ),
            Self::Teacher { .. } => Some(
                "start the teacher's server, or look at its log, and continue from the last checkpoint with `--resume`",
            ),
            Self::NoRollouts(_) => Some("score the file first: `whet score`"),
            Self::OtherTraining { .. } => {
                Some("name another run, or resume this one with that command")
            }
            Self::OtherAdapter { .. } => Some("set `[lora]` to the adapter's values"),
            Self::Damaged { .. } => Some(
                "remove this directory: `--resume` then continues from the checkpoint before it, or from \
                 the beginning",
            ),
            Self::NotFinite { .. }
            | Self::Collect(CollectError::Generate(GenerateError::NotFinite { .. })) => Some(
                "resuming repeats the same step, so start a new run from a checkpoint before this step, \
                 with a lower learning rate: `--run NAME --from CHECKPOINT --set \
                 training.learning_rate=…`",
            ),
            Self::AllEqual { .. } => Some(
                "use tasks that the student solves sometimes, more samples per prompt, or a higher \
                 temperature; the last checkpoint holds the training so far",
            ),
            Self::NoneSolved { .. } => Some(
                "use easier tasks or a stronger student, or train it first with `whet train sft`; the last \
                 checkpoint holds the training so far",
            ),
            Self::DeviceLost { .. } => Some(
                "checkpoints are written by the host and are complete: `whet train --resume` continues \
                 from the last one",
            ),
            Self::Gone(_) => {
                Some("start a new run, and do not change its directory while it is running")
            }
            Self::Export(err) if is_full(err) => Some(NO_ROOM),
            Self::Collect(err) => err.hint(),
            Self::Run(err) => err.hint(),
            Self::File(err) => err.hint(),
            Self::Journal(err) => err.hint(),
            _ => None,
        }
    }

    /// Whether nothing broke, and the training itself came to no good end.
    pub fn is_no(&self) -> bool {
        matches!(
            self,
            Self::NotFinite { .. }
                | Self::Collect(CollectError::Generate(GenerateError::NotFinite { .. }))
                | Self::AllEqual { .. }
                | Self::NoneSolved { .. }
                | Self::SameScores { .. }
        )
    }

    /// Whether the user can mend it by asking for something else.
    pub fn is_usage(&self) -> bool {
        if let Self::Device(error)
        | Self::Collect(CollectError::Generate(GenerateError::Device(error))) = self
        {
            return !error.is_broken();
        }
        if let Self::RewardModel(error) = self {
            return error.is_usage();
        }
        matches!(
            self,
            Self::NoTemplate
                | Self::Pair { .. }
                | Self::NoPairs { .. }
                | Self::NoTransitions { .. }
                | Self::Context { .. }
                | Self::NoRoom { .. }
                | Self::NoTasks
                | Self::PromptsTooLong { .. }
                | Self::NoRows
                | Self::Rollouts(_)
                | Self::RolloutLine { .. }
                | Self::OtherTokenizer { .. }
                | Self::OtherVocabulary { .. }
                | Self::NoRollouts(_)
                | Self::Settings(_)
                | Self::OtherRun { .. }
                | Self::OtherTraining { .. }
                | Self::OtherAdapter { .. }
                | Self::Open(_)
                | Self::Run(
                    RunError::Exists { .. } | RunError::NotFound { .. } | RunError::Name { .. }
                )
        )
    }
}

fn last_checkpoint(step: Option<&u64>) -> String {
    step.map_or_else(
        || "there is no checkpoint yet".to_owned(),
        |step| format!("the last checkpoint is that of step {step}"),
    )
}
