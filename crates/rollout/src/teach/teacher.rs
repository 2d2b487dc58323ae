//! Teachers that can be asked for traces.

use std::fmt;

use whetstone_core::completion::{Completion, Finish};
use whetstone_core::extract::{Form, Response};
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::{Message, Role};
use whetstone_core::program::Language;
use whetstone_core::trace::Usage;

/// Anything that answers questions: a server, the experts of environments, or the traces and reference
/// solutions of the tasks.
pub trait Teacher: Send + Sync {
    /// Answers a question; blocks until it is answered or given up.
    fn ask(&self, question: Question<'_>) -> Result<TeacherAnswer, Refusal>;

    /// Gives up what it waits for: no answer is wanted any more.
    fn stop(&self) {}
}

/// A teacher with its name, and how much it is asked for.
#[derive(Clone, Copy)]
pub struct NamedTeacher<'a> {
    /// Its name in traces and counts; once in a run.
    pub name: &'a str,
    /// Who is asked.
    pub teacher: &'a dyn Teacher,
    /// Samples of each task.
    pub samples: u32,
}

/// The expert of an environment, asked about a conversation: see `Environment::expert_reply`.
pub type AskExpert<'a> = dyn Fn() -> Result<Option<String>, Infrastructure> + 'a;

/// A request to a teacher.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The conversation of the episode so far. A model sees no more of it.
    pub messages: &'a [Message],
    /// What the program is to be written in.
    pub language: Language,
    /// The task's own trace, if it has one.
    pub trace: Option<&'a str>,
    /// The task's reference solution, if it has one.
    pub reference: Option<&'a str>,
    /// The expert of the task's environment.
    pub expert: &'a AskExpert<'a>,
    /// How many completions are wanted.
    pub samples: u32,
    /// The seed of the first of them; it differs from question to question.
    pub seed: u32,
}

impl fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages, samples, seed, .. } = self;
        let mut shown = f.debug_struct("Question");
        shown.field("messages", messages).field("samples", samples).field("seed", seed);
        shown.finish_non_exhaustive()
    }
}

/// A teacher's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TeacherAnswer {
    /// Who answered.
    pub model: String,
    /// At least one; fewer than were wanted if it would not give more at once.
    pub completions: Vec<Completion>,
    /// What all of them cost together, if that was said.
    pub usage: Option<Usage>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// This teacher will never have one, however often it is asked.
    Nothing,
    /// This question failed; another may not.
    Failed(Failure),
    /// The environment's expert broke: no failure of the teacher.
    Broken(Infrastructure),
    /// It makes no sense to ask on.
    Stopped {
        /// Why.
        message: String,
        /// What to do.
        hint: String,
    },
}

/// Why a question failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure, in a few words: failures are counted by it.
    pub reason: String,
    /// What was said of this one.
    pub detail: String,
}

impl Failure {
    /// Of an answer that is too large for the journal, or cannot be written into it.
    pub(super) fn not_kept(problem: &str) -> Self {
        let reason = "an answer that cannot be kept".to_owned();
        Self { reason, detail: problem.to_owned() }
    }
}

/// The traces that tasks bring along in their field `trace`, and the experts of environments for every reply
/// that is not there.
///
/// So everything behind the teacher works without a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Embedded;

impl Embedded {
    /// What stands in its traces as the model.
    pub const MODEL: &'static str = "embedded";
}

impl Teacher for Embedded {
    fn ask(&self, question: Question<'_>) -> Result<TeacherAnswer, Refusal> {
        let replied = question.messages.iter().any(|message| message.role == Role::Assistant);
        let text = match question.trace.filter(|_| !replied) {
            Some(trace) => trace.to_owned(),
            None => (question.expert)().map_err(Refusal::Broken)?.ok_or(Refusal::Nothing)?,
        };
        Ok(one_completion(Self::MODEL, text))
    }
}

/// The reference solutions of tasks, each as a program in a code block, without thinking.
#[derive(Debug, Clone, Copy, Default)]
pub struct References;

impl References {
    /// What stands in its traces as the model.
    pub const MODEL: &'static str = "reference";
}

impl Teacher for References {
    fn ask(&self, question: Question<'_>) -> Result<TeacherAnswer, Refusal> {
        let code = question.reference.ok_or(Refusal::Nothing)?;
        let form = Form::of(question.language);
        let response = Response::new(form, "", code.trim()).map_err(|_| Refusal::Nothing)?;
        Ok(one_completion(Self::MODEL, response.render_answer_after("")))
    }
}

fn one_completion(model: &str, text: String) -> TeacherAnswer {
    let completion = Completion { text, reasoning: None, finish: Finish::Stop, tokens: None };
    TeacherAnswer { model: model.to_owned(), completions: vec![completion], usage: None }
}
