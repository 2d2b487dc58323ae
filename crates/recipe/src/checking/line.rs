//! One line, read as a line of its kind by the reader that the commands use.

use whetstone_core::preference::Preference;
use whetstone_core::program::Language;
use whetstone_core::rejected::RejectedLine;
use whetstone_core::rollout::RolloutLine;
use whetstone_core::sft_row::SftRow;
use whetstone_core::task::Task;
use whetstone_core::taught::TaughtEpisode;
use whetstone_core::tests::Tests;
use whetstone_core::trace::Trace;
use whetstone_core::wire::{Object, Wire, WireError};
use whetstone_data::pairs::{FormProblem, read_row};
use whetstone_data::phaser::PromptSeed;
use whetstone_env::bodies::check_body;

use super::kind::FileKind;

/// A line that is right.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GoodLine {
    /// Its id, where the kind has one.
    pub(super) id: Option<String>,
    /// Whether it is a rollout with a score.
    pub(super) is_scored: bool,
}

/// Why a line is not one of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineFault {
    /// The field at fault, if one is.
    pub(super) field: Option<String>,
    /// Whether it is not there.
    pub(super) is_missing: bool,
    /// The problem.
    pub(super) reason: String,
}

/// Every field that a kind has, required or not. `v` is the version.
pub(super) fn fields(kind: FileKind) -> &'static [&'static str] {
    match kind {
        FileKind::Tasks => &[
            "v",
            "id",
            "source",
            "difficulty",
            "statement",
            "language",
            "reference",
            "setup",
            "tests",
            "body",
            "dropped",
        ],
        FileKind::Traces => &[
            "v", "task_id", "sample", "prompt", "thinking", "code", "text", "verdict", "usage",
            "model", "episode", "teacher", "finish",
        ],
        FileKind::Rows => &["instruction", "input", "output", "history", "system"],
        FileKind::Rollouts | FileKind::Scored => &[
            "v",
            "step",
            "prompt_id",
            "task_id",
            "group_id",
            "text",
            "completion",
            "response",
            "meta",
            "validation",
            "reward",
            "advantage",
            "seq",
            "crc",
        ],
        FileKind::Rejected => &["line", "reason", "text", "hex"],
        FileKind::Pairs => {
            &["v", "id", "task_id", "prompt", "chosen", "rejected", "margin", "origin"]
        }
        FileKind::OtherPairs => &[
            "v",
            "id",
            "task_id",
            "prompt",
            "question",
            "instruction",
            "input",
            "system",
            "system_prompt",
            "chosen",
            "rejected",
            "margin",
            "origin",
        ],
        FileKind::PromptSeeds => {
            &["v", "id", "prompt", "frames", "input", "checks", "family", "reference"]
        }
        FileKind::Events | FileKind::Results | FileKind::Settings | FileKind::Stages => &[],
    }
}

/// Reads a line of a file that is read line by line.
pub(super) fn read(kind: FileKind, line: Object) -> Result<GoodLine, LineFault> {
    match kind {
        FileKind::Tasks => task(line),
        FileKind::Traces => trace(line),
        FileKind::Rows => Ok(SftRow::from_object(line).map(|_| GoodLine::default())?),
        FileKind::Rollouts => Ok(rollout(line)?),
        FileKind::Scored => match rollout(line)? {
            GoodLine { is_scored: false, .. } => Err(WireError::Missing("validation").into()),
            scored => Ok(scored),
        },
        FileKind::Rejected => Ok(RejectedLine::from_object(line).map(|_| GoodLine::default())?),
        FileKind::Pairs => Ok(with_id(Preference::from_object(line)?.id)),
        FileKind::OtherPairs => Ok(read_row(line).map(|_| GoodLine::default())?),
        FileKind::PromptSeeds => Ok(with_id(PromptSeed::from_object(line)?.id.to_string())),
        FileKind::Events | FileKind::Results | FileKind::Settings | FileKind::Stages => {
            unreachable!("these files are not read line by line here")
        }
    }
}

fn with_id(id: String) -> GoodLine {
    GoodLine { id: Some(id), is_scored: false }
}

fn task(line: Object) -> Result<GoodLine, LineFault> {
    let task = Task::from_object(line)?;
    let python_only = matches!(task.tests, Tests::Asserts(_) | Tests::Script { .. });
    if task.language == Language::Javascript && python_only {
        let kind = task.tests.kind();
        return Err(LineFault::of(
            "tests",
            format!("kind `{kind}` is Python; for JavaScript there are `calls` and `stdio`"),
        ));
    }
    check_body(&task).map_err(|err| LineFault::of("body", err.to_string()))?;
    Ok(with_id(task.id.to_string()))
}

fn trace(line: Object) -> Result<GoodLine, LineFault> {
    let trace = Trace::from_object(line)?;
    TaughtEpisode::of(&trace).map_err(|problem| {
        let problem = problem.trim_start_matches("field `episode`: ").to_owned();
        LineFault::of(TaughtEpisode::FIELD, problem)
    })?;
    let Trace { task_id, sample, model, .. } = trace;
    Ok(with_id(format!("{task_id}, sample {sample} of {model}")))
}

fn rollout(line: Object) -> Result<GoodLine, WireError> {
    let rollout = RolloutLine::from_object(line)?;
    Ok(GoodLine { id: None, is_scored: rollout.score.is_some() })
}

impl LineFault {
    fn of(field: &str, reason: String) -> Self {
        Self { field: Some(field.to_owned()), is_missing: false, reason }
    }
}

impl From<WireError> for LineFault {
    fn from(err: WireError) -> Self {
        let reason = err.to_string();
        let (field, is_missing, reason) = match err {
            WireError::Missing(field) => (field.to_owned(), true, "it is missing".to_owned()),
            WireError::Field { field, problem } => (field.to_owned(), false, problem),
            WireError::Unknown { field, .. } => (crate::text::plain(&field, 60), false, reason),
            WireError::Version { .. } => ("v".to_owned(), false, reason),
        };
        Self { field: Some(field), is_missing, reason }
    }
}

impl From<FormProblem> for LineFault {
    fn from(problem: FormProblem) -> Self {
        match problem {
            FormProblem::Column(err) => err.into(),
            other => Self { field: None, is_missing: false, reason: other.to_string() },
        }
    }
}
