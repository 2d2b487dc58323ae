//! One rollout, read as a trace.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::{DeserializeOwned, IgnoredAny};
use whetstone_core::Task;
use whetstone_core::completion::Finish;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::program::Program;
use whetstone_core::prompt::{PromptError, PromptTemplate};
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::TaskId;
use whetstone_core::trace::{PROMPT_FIELD, Trace, VerdictName};
use whetstone_core::verdict::Verdict;
use whetstone_core::wire::Object;

/// The model of traces whose lines name none.
const STUDENT: &str = "student";

/// Why a rollout is no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unused {
    NotScored,
    NotJudged,
    NotPassing,
    CutOff,
    SeveralTurns,
    NoTask,
    NoProgram,
    SameProgram,
    OverPerTask,
    OverLimit,
}

impl Unused {
    /// The reason's name in counts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NotScored => "not_scored",
            Self::NotJudged => "not_judged",
            Self::NotPassing => "not_passing",
            Self::CutOff => "cut_off",
            Self::SeveralTurns => "several_turns",
            Self::NoTask => "no_task",
            Self::NoProgram => "no_program",
            Self::SameProgram => "same_program",
            Self::OverPerTask => "over_per_task",
            Self::OverLimit => "over_limit",
        }
    }

    /// Whether the rollout was judged, and so counts in the pass rate of its task.
    pub(super) fn is_judged(self) -> bool {
        !matches!(self, Self::NotScored | Self::NotJudged)
    }
}

/// What a line says of its task, and the trace that it becomes.
#[derive(Debug)]
pub(super) enum Judged {
    /// It did not solve the task, or nobody knows.
    Failed(Unused),
    /// It did; whether it can be learnt from is another question.
    Passed(Result<Box<PassingReply>, Unused>),
}

/// A reply that solved its task.
#[derive(Debug)]
pub(super) struct PassingReply {
    pub(super) trace: Trace,
    pub(super) program: Program,
}

/// Reads rollouts of known tasks.
pub(super) struct ReplyReader<'a> {
    tasks: HashMap<&'a TaskId, &'a Task>,
    prompt: &'a PromptTemplate,
    prompt_identity: String,
}

impl<'a> ReplyReader<'a> {
    pub(super) fn new(tasks: &'a [Task], prompt: &'a PromptTemplate) -> Self {
        let tasks = tasks.iter().map(|task| (&task.id, task)).collect();
        Self { tasks, prompt, prompt_identity: prompt.identity() }
    }

    /// What a rollout is.
    pub(super) fn read(&self, rollout: RolloutLine) -> Result<Judged, PromptError> {
        let outcome = match &rollout.score {
            None => return Ok(Judged::Failed(Unused::NotScored)),
            Some(Score::Failed(_)) => return Ok(Judged::Failed(Unused::NotJudged)),
            Some(Score::Scored { outcome, .. }) => outcome,
        };
        match outcome.evidence.solved() {
            None => return Ok(Judged::Failed(Unused::NotJudged)),
            Some(false) => return Ok(Judged::Failed(Unused::NotPassing)),
            Some(true) => {}
        }
        Ok(Judged::Passed(self.passing(rollout)?))
    }

    fn passing(
        &self,
        rollout: RolloutLine,
    ) -> Result<Result<Box<PassingReply>, Unused>, PromptError> {
        if noted(&rollout.meta, "finish") == Some(Finish::Length) {
            return Ok(Err(Unused::CutOff));
        }
        let turns: Vec<IgnoredAny> = noted(&rollout.meta, "turns").unwrap_or_default();
        if turns.len() > 1 {
            return Ok(Err(Unused::SeveralTurns));
        }
        let Some(task) = self.tasks.get(&rollout.prompt_id) else {
            return Ok(Err(Unused::NoTask));
        };
        let form = Form::of(task.language);
        let opened = noted(&rollout.meta, "thinking_opened").unwrap_or(false);
        let found = extract(Reply::text(&rollout.text).after(opened), form);
        let thinking = found.thinking.or(found.plan).map(Cow::into_owned);
        let Some(program) = found.code.map(|code| code.program(form)) else {
            return Ok(Err(Unused::NoProgram));
        };
        let prompt = self.prompt.prompt(task.view())?.user;
        let mut rest = Object::new();
        rest.put(PROMPT_FIELD, &self.prompt_identity);
        let trace = Trace {
            task_id: rollout.prompt_id,
            sample: 0,
            prompt,
            thinking,
            code: Some(program.source.clone()),
            text: rollout.text,
            verdict: Some(VerdictName::from(&Verdict::Pass)),
            usage: None,
            model: noted(&rollout.meta, "model").unwrap_or_else(|| STUDENT.to_owned()),
            rest,
        };
        Ok(Ok(Box::new(PassingReply { trace, program })))
    }
}

/// A fact of a rollout. Lines of other tools may have anything there; what is no field of ours is taken for unknown.
fn noted<T: DeserializeOwned>(meta: &Object, field: &str) -> Option<T> {
    serde_json::from_str(meta.get(field)?).ok()
}
