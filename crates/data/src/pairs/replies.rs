//! Judged replies, from lines of rollouts and of traces.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::jsonl::Records;
use whetstone_core::message::Message;
use whetstone_core::program::{Language, Program};
use whetstone_core::prompt::{Prompt, PromptError, PromptTemplate};
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::trace::Trace;
use whetstone_core::wire::{Object, Wire};

/// The longest reply that pairs are made of: four times what a program may have.
pub const MAX_REPLY_BYTES: usize = 256 << 10;

/// The longest prompt.
pub(super) const MAX_PROMPT_BYTES: usize = 1 << 20;

/// The field of `meta` that says that the prompt ended inside the thinking tag.
const THINKING_OPENED: &str = "thinking_opened";

/// What a file of replies holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum ReplySource {
    Rollouts,
    Traces,
}

/// A reply that was judged.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JudgedReply {
    pub(super) task: TaskId,
    pub(super) prompt: Vec<Message>,
    pub(super) text: String,
    /// Whether it solved the task, if that could be found out.
    pub(super) solved: Option<bool>,
    /// Its reward; a trace has 1 if it passed and 0 if not.
    pub(super) total: f64,
    pub(super) program: ProgramPlace,
}

/// Where the program of a reply is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProgramPlace {
    /// In its text.
    InText { form: Form, thinking_opened: bool },
    /// It was taken out already.
    Apart(Option<String>, Language),
}

/// Why a line gives no reply to make pairs of. None of these is a fault of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unused {
    NotScored,
    NotJudged,
    Empty,
    TooLong,
    SeveralTurns,
    NoPrompt,
    Duplicate,
}

impl Unused {
    /// The reason's name in counts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NotScored => "not_scored",
            Self::NotJudged => "not_judged",
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::SeveralTurns => "several_turns",
            Self::NoPrompt => "no_prompt",
            Self::Duplicate => "duplicate",
        }
    }
}

impl ReplySource {
    /// What its lines are, for messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Rollouts => "rollouts",
            Self::Traces => "traces",
        }
    }
}

impl JudgedReply {
    /// The program in it.
    pub(super) fn program(&self) -> Option<Program> {
        match &self.program {
            ProgramPlace::Apart(code, language) => {
                let source = code.clone()?;
                Some(Program { language: *language, source, truncated: false })
            }
            ProgramPlace::InText { form, thinking_opened } => {
                let reply = Reply::text(&self.text).after(*thinking_opened);
                extract(reply, *form).code.map(|code| code.program(*form))
            }
        }
    }

    /// The prompt as bytes that tell prompts apart.
    pub(super) fn prompt_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.prompt).unwrap_or_default()
    }
}

/// Reads lines of replies.
pub(super) struct ReplyReader<'a> {
    tasks: HashMap<&'a TaskId, &'a Task>,
    prompt: &'a PromptTemplate,
}

impl<'a> ReplyReader<'a> {
    pub(super) fn new(tasks: &'a [Task], prompt: &'a PromptTemplate) -> Self {
        Self { tasks: tasks.iter().map(|task| (&task.id, task)).collect(), prompt }
    }

    /// The reply of a line, or why it is of no use; a line that is neither is an error in words.
    pub(super) fn read(
        &self,
        source: ReplySource,
        line: &[u8],
    ) -> Result<Result<JudgedReply, Unused>, String> {
        let reply = match source {
            ReplySource::Rollouts => self.rollout(record(line)?)?,
            ReplySource::Traces => self.trace(record(line)?)?,
        };
        Ok(reply.and_then(usable))
    }

    fn rollout(&self, mut line: RolloutLine) -> Result<Result<JudgedReply, Unused>, String> {
        let outcome = match line.score.take() {
            None => return Ok(Err(Unused::NotScored)),
            Some(Score::Failed(_)) => return Ok(Err(Unused::NotJudged)),
            Some(Score::Scored { outcome, .. }) => outcome,
        };
        let turns: Vec<IgnoredAny> = line.meta.take("turns").ok().flatten().unwrap_or_default();
        if turns.len() > 1 {
            return Ok(Err(Unused::SeveralTurns));
        }
        let opened = line.meta.take(THINKING_OPENED).ok().flatten().unwrap_or(false);
        let task = self.tasks.get(&line.prompt_id);
        let own = own_prompt(&mut line.rest)?;
        let of_task = match (own.is_some(), task) {
            (false, Some(task)) => Some(Self::asked(self.prompt.prompt(task.view()))?),
            _ => None,
        };
        let Some(prompt) = own.or(of_task) else { return Ok(Err(Unused::NoPrompt)) };
        let form = Form::of(task.map(|task| task.language).unwrap_or_default());
        Ok(Ok(JudgedReply {
            task: line.prompt_id,
            prompt,
            text: line.text,
            solved: outcome.evidence.solved(),
            total: outcome.reward.total(),
            program: ProgramPlace::InText { form, thinking_opened: opened },
        }))
    }

    /// The conversation before a reply.
    fn asked(prompt: Result<Prompt, PromptError>) -> Result<Vec<Message>, String> {
        prompt.map(Prompt::asked).map_err(|err| err.to_string())
    }

    fn trace(&self, trace: Trace) -> Result<Result<JudgedReply, Unused>, String> {
        let passes = trace.passes();
        if trace.verdict.is_none() {
            return Ok(Err(Unused::NotJudged));
        }
        let language = self.tasks.get(&trace.task_id).map(|task| task.language).unwrap_or_default();
        let prompt = Self::asked(self.prompt.of_request(trace.prompt, Form::of(language)))?;
        Ok(Ok(JudgedReply {
            task: trace.task_id,
            prompt,
            text: trace.text,
            solved: Some(passes),
            total: f64::from(u8::from(passes)),
            program: ProgramPlace::Apart(trace.code, language),
        }))
    }
}

/// The one record of a line.
fn record<T: Wire>(line: &[u8]) -> Result<T, String> {
    match Records::<T, _>::new("", line).next() {
        Some(Ok(numbered)) => Ok(numbered.record),
        Some(Err(err)) => Err(err.problem.to_string()),
        None => Err(format!("expected one {} as a JSON object", T::NOUN)),
    }
}

/// The prompt that a line of another tool has: a text, or messages.
fn own_prompt(rest: &mut Object) -> Result<Option<Vec<Message>>, String> {
    let is_text = rest.get("prompt").map(|raw| raw.starts_with('"'));
    let refused = |err: whetstone_core::wire::WireError| format!("not a rollout: {err}");
    match is_text {
        None => Ok(None),
        Some(true) => {
            let text: Option<String> = rest.take("prompt").map_err(refused)?;
            Ok(text.map(|text| vec![Message::user(text)]))
        }
        Some(false) => rest.take("prompt").map_err(refused),
    }
}

fn usable(reply: JudgedReply) -> Result<JudgedReply, Unused> {
    let prompt_bytes: usize = reply.prompt.iter().map(|message| message.content.len()).sum();
    if reply.text.trim().is_empty() {
        return Err(Unused::Empty);
    }
    if prompt_bytes == 0 {
        return Err(Unused::NoPrompt);
    }
    if reply.text.len() > MAX_REPLY_BYTES || prompt_bytes > MAX_PROMPT_BYTES {
        return Err(Unused::TooLong);
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whetstone_core::config::PromptConfig;

    const SCORED: &str = concat!(
        r#"{"step":0,"prompt_id":"a","text":"```python\nx = 1\n```","#,
        r#""validation":{"verdict":"wrong","test":0,"tests_passed":0,"tests_total":2,"#,
        r#""cpu_ms":1.0,"isolation":"full"},"reward":{"total":0.25,"terms":{"tests":0.25}}}"#
    );
    const TRACE: &str = concat!(
        r#"{"task_id":"a","sample":0,"prompt":"p","code":"x = 1","text":"t","#,
        r#""verdict":"pass","model":"m"}"#
    );

    fn read(source: ReplySource, line: &str) -> Result<Result<JudgedReply, Unused>, String> {
        let task =
            r#"{"id":"a","statement":"s","tests":{"kind":"asserts","hidden":["assert f()"]}}"#;
        let task = Task::from_object(serde_json::from_str(task).unwrap()).unwrap();
        let prompt = PromptTemplate::of(&PromptConfig::default()).unwrap();
        ReplyReader::new(&[task], &prompt).read(source, line.as_bytes())
    }

    fn rollout(from: &str, to: &str) -> Result<JudgedReply, Unused> {
        let line = SCORED.replacen(from, to, 1);
        read(ReplySource::Rollouts, &line).unwrap()
    }

    #[test]
    fn a_scored_rollout_has_the_prompt_of_its_task_or_its_own() {
        let reply = rollout("", "").unwrap();
        assert_eq!((reply.solved, reply.total), (Some(false), 0.25));
        assert_eq!(reply.program().unwrap().source, "x = 1");
        assert!(reply.prompt[1].content.contains("\n\ns\n\n"), "{:?}", reply.prompt);
        let own = rollout(r#""step""#, r#""prompt":"mine","step""#).unwrap();
        assert_eq!(own.prompt, [Message::user("mine")]);
        let messages = r#""prompt":[{"role":"user","content":"mine"}],"step""#;
        assert_eq!(rollout(r#""step""#, messages).unwrap().prompt, own.prompt);
    }

    #[test]
    fn a_trace_has_its_prompt_and_its_verdict() {
        let reply = read(ReplySource::Traces, TRACE).unwrap().unwrap();
        assert_eq!((reply.solved, reply.total), (Some(true), 1.0));
        assert_eq!(reply.prompt[1], Message::user("p"));
        assert_eq!(reply.program().unwrap().source, "x = 1");
        let unjudged = TRACE.replace(r#""pass""#, "null");
        assert_eq!(read(ReplySource::Traces, &unjudged).unwrap(), Err(Unused::NotJudged));
    }

    #[test]
    fn what_is_of_no_use_has_a_reason_and_what_is_no_line_a_sentence() {
        assert_eq!(rollout(r#""prompt_id":"a""#, r#""prompt_id":"b""#), Err(Unused::NoPrompt));
        assert_eq!(rollout(r"```python\nx = 1\n```", " "), Err(Unused::Empty));
        let long = "x".repeat(MAX_REPLY_BYTES + 1);
        assert_eq!(rollout("x = 1", &long), Err(Unused::TooLong));
        let turns = r#""step":0,"meta":{"turns":[{},{}]}"#;
        assert_eq!(rollout(r#""step":0"#, turns), Err(Unused::SeveralTurns));
        let bare = r#"{"prompt_id":"a","text":"t"}"#;
        assert_eq!(read(ReplySource::Rollouts, bare).unwrap(), Err(Unused::NotScored));
        let failed = r#"{"prompt_id":"a","text":"t","validation":{"error":"no disk"}}"#;
        assert_eq!(read(ReplySource::Rollouts, failed).unwrap(), Err(Unused::NotJudged));
        let said = |source, line| read(source, line).unwrap_err();
        assert_eq!(
            said(ReplySource::Rollouts, r#"{"prompt_id":"a"}"#),
            "not a rollout: field `text` is missing"
        );
        assert!(said(ReplySource::Traces, "[]").contains("expected one trace"));
    }
}
