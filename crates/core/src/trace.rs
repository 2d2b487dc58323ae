//! A teacher's rollout: prompt, reply and judgement.
//!
//! A line of `teacher_traces.jsonl`:
//!
//! ```json
//! {"v":1,"task_id":"x/1","sample":0,"prompt":"…","thinking":"…","code":"…","text":"…","verdict":"pass","usage":{…},"model":"…"}
//! ```
//!
//! `text` is the reply as it came; `thinking` and `code` were taken out of it, or out of what the
//! server sent beside it. A trace that could not be judged has the verdict `null`. Fields we do not
//! know pass through untouched.

use crate::outcome::Observation;
use crate::task::TaskId;
use crate::verdict::Verdict;
use crate::wire::{Object, Wire, WireError};
use serde::{Deserialize, Serialize};

/// The field of a trace that names the prompt template it was asked with.
pub const PROMPT_FIELD: &str = "prompt_template";

/// The version of the line format.
const VERSION: u64 = 1;

/// One reply of a teacher to one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The task that was asked.
    pub task_id: TaskId,
    /// Index of the sample among the task's replies, from 0.
    pub sample: u32,
    /// The prompt.
    pub prompt: String,
    /// Its reasoning, if it showed any.
    pub thinking: Option<String>,
    /// Its program, if there was one.
    pub code: Option<String>,
    /// Its reply as it came.
    pub text: String,
    /// The judgement; `None` if the program was not judged.
    pub verdict: Option<VerdictName>,
    /// Tokens used, if the server reports them.
    pub usage: Option<Usage>,
    /// The model that replied.
    pub model: String,
    /// Fields of the line that are not ours.
    pub rest: Object,
}

/// A verdict by its name alone: which test failed, and how, stays with the judge. Environments that run no
/// programs say `solved` or `unsolved`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct VerdictName(&'static str);

/// Tokens that were paid for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Object", into = "Object")]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Whatever else the server counts.
    pub rest: Object,
}

impl Trace {
    /// Whether its program solved the task.
    pub fn passes(&self) -> bool {
        self.verdict.is_some_and(VerdictName::is_pass)
    }
}

impl VerdictName {
    /// Of an environment that runs no programs: the task was solved.
    const SOLVED: Self = Self("solved");
    /// It was not.
    const UNSOLVED: Self = Self("unsolved");

    /// The name as it stands in files.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether the task was solved.
    pub fn is_pass(self) -> bool {
        self == Self::SOLVED || self.0 == Verdict::Pass.name()
    }
}

impl From<&Verdict> for VerdictName {
    fn from(verdict: &Verdict) -> Self {
        Self(verdict.name())
    }
}

impl From<&Observation> for VerdictName {
    fn from(observation: &Observation) -> Self {
        if observation.solved { Self::SOLVED } else { Self::UNSOLVED }
    }
}

impl TryFrom<String> for VerdictName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let mut all = Verdict::NAMES.into_iter().chain([Self::SOLVED.0, Self::UNSOLVED.0]);
        all.find(|known| *known == name).map(Self).ok_or_else(|| {
            format!("expected one of {}, solved, unsolved", Verdict::NAMES.join(", "))
        })
    }
}

impl<'de> Deserialize<'de> for VerdictName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl TryFrom<Object> for Usage {
    type Error = WireError;

    fn try_from(mut object: Object) -> Result<Self, WireError> {
        let prompt_tokens = object.take("prompt_tokens")?.unwrap_or_default();
        let completion_tokens = object.take("completion_tokens")?.unwrap_or_default();
        Ok(Self { prompt_tokens, completion_tokens, rest: object })
    }
}

impl From<Usage> for Object {
    fn from(usage: Usage) -> Self {
        let mut object = Self::new();
        object.put("prompt_tokens", &usage.prompt_tokens);
        object.put("completion_tokens", &usage.completion_tokens);
        object.append(&usage.rest);
        object
    }
}

impl Wire for Trace {
    const NOUN: &'static str = "trace";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        object.version(VERSION)?;
        let trace = Self {
            task_id: object.require("task_id")?,
            sample: object.require("sample")?,
            prompt: object.require("prompt")?,
            thinking: object.take("thinking")?,
            code: object.take("code")?,
            text: object.require_reply("text")?,
            verdict: object.take("verdict")?,
            usage: object.take("usage")?,
            model: object.require("model")?,
            rest: Object::new(),
        };
        Ok(Self { rest: object, ..trace })
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("v", &VERSION);
        object.put("task_id", &self.task_id);
        object.put("sample", &self.sample);
        object.put("prompt", &self.prompt);
        object.put("thinking", &self.thinking);
        object.put("code", &self.code);
        object.put("text", &self.text);
        object.put("verdict", &self.verdict);
        object.put_some("usage", self.usage.as_ref());
        object.put("model", &self.model);
        object.append(&self.rest);
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Trace, WireError> {
        Trace::from_object(serde_json::from_str(text).expect("test data is JSON"))
    }

    const LINE: &str = concat!(
        r#"{"v":1,"task_id":"x/1","sample":3,"prompt":"p","thinking":"t","code":"c","text":"r","#,
        r#""verdict":"pass","usage":{"prompt_tokens":7,"completion_tokens":9,"cached":1.50},"#,
        r#""model":"m","seed":12345678901234567890123}"#
    );

    #[test]
    fn a_trace_comes_back_as_it_was_written() {
        let trace = parse(LINE).unwrap();
        assert_eq!(trace.to_line(), LINE);
        assert!(trace.passes());
        assert_eq!(trace.usage.unwrap().completion_tokens, 9);
    }

    #[test]
    fn what_a_reply_did_not_have_is_null() {
        let line = r#"{"task_id":"x","sample":0,"prompt":"p","text":"","model":"m"}"#;
        let trace = parse(line).unwrap();
        assert!(!trace.passes());
        assert_eq!(
            trace.to_line(),
            r#"{"v":1,"task_id":"x","sample":0,"prompt":"p","thinking":null,"code":null,"text":"","verdict":null,"model":"m"}"#
        );
    }

    #[test]
    fn every_name_of_a_verdict_is_one_here_and_one_of_them_passes() {
        let names = Verdict::NAMES.map(|name| VerdictName::try_from(name.to_owned()).unwrap());
        assert_eq!(names.map(VerdictName::is_pass).iter().filter(|passes| **passes).count(), 1);
        assert_eq!(VerdictName::from(&Verdict::Pass), names[0]);
        assert!(names[0].is_pass());
        let other = |name: &str| VerdictName::try_from(name.to_owned()).unwrap().is_pass();
        assert!(other("solved") && !other("unsolved"));
    }

    #[test]
    fn what_is_no_trace_says_which_field_is_at_fault() {
        let refused = |from: &str, to: &str, message: &str| {
            let line = LINE.replacen(from, to, 1);
            assert_ne!(line, LINE);
            let problem = parse(&line).unwrap_err().to_string();
            assert!(problem.contains(message), "{problem}");
        };
        refused(r#""verdict":"pass""#, r#""verdict":"great""#, "field `verdict`: expected one of");
        refused(r#""sample":3,"#, "", "field `sample` is missing");
        refused(r#""sample":3"#, r#""sample":-3"#, "field `sample`");
        refused(
            r#""prompt_tokens":7"#,
            r#""prompt_tokens":"7""#,
            "field `usage`: field `prompt_tokens`",
        );
        refused(r#""v":1"#, r#""v":2"#, "version 2 is newer");
    }
}
