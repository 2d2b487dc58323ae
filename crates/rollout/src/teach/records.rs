//! The journal of a teaching: every answer as it came, and what the judge said of it.
//!
//! ```text
//! {"teaching":{"version":1,"imports":false,"settings":[["teacher.model_name","…"],…]}}
//! {"trace":{"v":1,"task_id":"x/1","sample":0,…}}       taken over from an earlier file
//! {"imported":{"traces":1}}                             all of it was
//! {"answer":{"task":"x/1","samples":[1,2],"completions":[{…},{…}],…}}
//! {"verdict":{"task":"x/1","sample":2,"judgement":{…}}}
//! {"answer":{"task":"y/1","samples":[0],"turn":1,"said":[{…}],"completions":[{…}],…}}
//! ```
//!
//! An answer is written in one piece before anything is made of it: what was paid for is kept,
//! whatever comes after. A verdict that is missing behind it is found again without asking. The answers of
//! an episode stand turn by turn, each with what the environment had said since the one before; its verdict
//! says that it is over.

use serde::{Deserialize, Serialize};
use whetstone_core::completion::Completion;
use whetstone_core::judgement::Judgement;
use whetstone_core::message::Message;
use whetstone_core::outcome::{Evidence, Observation};
use whetstone_core::prompt::Prompt;
use whetstone_core::task::TaskId;
use whetstone_core::trace::{Usage, VerdictName};
use whetstone_core::wire::Object;

/// Version of the journal's records. Those of version 1 have one teacher and one turn.
pub(super) const VERSION: u64 = 2;

/// One record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Teaching(Header),
    Trace(Object),
    Imported { traces: u64 },
    Answer(Answered),
    Verdict(Judged),
}

/// A record that is written and used on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NewEntry<'a> {
    Answer(&'a Answered),
}

/// What was asked for: the first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) version: u64,
    /// An earlier file of traces is taken over: all that stands before the record that says so.
    pub(super) imports: bool,
    /// Every setting that decides an answer, with its value.
    pub(super) settings: Vec<(String, String)>,
}

/// An answer to one question.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) task: TaskId,
    /// The name of the teacher, of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) teacher: Option<String>,
    /// The turn, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub(super) turn: u32,
    /// What the environment of an episode had said since the turn before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) said: Vec<Message>,
    /// Digest of the prompt.
    pub(super) prompt: String,
    /// Which of the task's samples these are, in order.
    pub(super) samples: Vec<u32>,
    pub(super) seed: u32,
    pub(super) model: String,
    /// Of all of them together.
    pub(super) usage: Option<Usage>,
    pub(super) completions: Vec<Completion>,
}

/// What the environment saw of one sample: a program's judgement, or an observation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) task: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) teacher: Option<String>,
    pub(super) sample: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judgement: Option<Judgement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observation: Option<Observation>,
}

/// Whose verdict it is.
#[derive(Clone, Copy)]
pub(super) struct JudgedSample<'a> {
    pub(super) task: &'a TaskId,
    /// The name of the teacher, of several.
    pub(super) teacher: Option<&'a str>,
    pub(super) sample: u32,
}

/// A record with the little that is needed to go on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Brief {
    Teaching(Header),
    Trace(BriefTrace),
    Imported {},
    Answer(BriefAnswer),
    Verdict(Judged),
}

#[derive(Debug, Deserialize)]
pub(super) struct BriefTrace {
    pub(super) task_id: TaskId,
    pub(super) sample: u32,
    pub(super) prompt: String,
    pub(super) verdict: Option<VerdictName>,
    pub(super) teacher: Option<String>,
    pub(super) episode: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BriefAnswer {
    pub(super) task: TaskId,
    pub(super) teacher: Option<String>,
    #[serde(default)]
    pub(super) turn: u32,
    pub(super) prompt: String,
    pub(super) samples: Vec<u32>,
}

impl Judged {
    /// The record of what was seen; none if nothing was run.
    pub(super) fn of(judged: JudgedSample<'_>, evidence: Evidence) -> Option<Self> {
        let (judgement, observation) = match evidence {
            Evidence::Program(judgement) => (Some(judgement), None),
            Evidence::Observed(observation) => (None, Some(observation)),
            Evidence::NotRun => return None,
        };
        let JudgedSample { task, teacher, sample } = judged;
        let (task, teacher) = (task.clone(), teacher.map(str::to_owned));
        Some(Self { task, teacher, sample, judgement, observation })
    }

    /// What an environment that runs no programs saw.
    pub(super) fn into_observation(self) -> Option<Observation> {
        self.observation
    }

    /// The verdict in the trace.
    pub(super) fn verdict(&self) -> Option<VerdictName> {
        let of_program = self.judgement.as_ref().map(|judgement| judgement.verdict().into());
        of_program.or_else(|| self.observation.as_ref().map(VerdictName::from))
    }
}

impl Header {
    /// The header that `json` is, if it is one that this version reads.
    pub(super) fn of(json: &str) -> Option<Self> {
        match serde_json::from_str(json) {
            Ok(Brief::Teaching(header)) if (1..=VERSION).contains(&header.version) => Some(header),
            _ => None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_first(turn: &u32) -> bool {
    *turn == 0
}

/// What tells one prompt from another.
pub(super) fn digest(prompt: &Prompt) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(prompt.system.len() as u64).to_le_bytes());
    hasher.update(prompt.system.as_bytes());
    hasher.update(prompt.user.as_bytes());
    if !prompt.prefill.is_empty() {
        // No byte of UTF-8: where the beginning of the answer starts.
        hasher.update(&[0xff]);
        hasher.update(prompt.prefill.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_differ_anywhere_have_other_digests() {
        let begun = Prompt { system: "a".into(), user: "b".into(), prefill: "c".into() };
        assert_ne!(digest(&begun), digest(&Prompt { prefill: "d".into(), ..begun.clone() }));
        let unbegun = Prompt { prefill: String::new(), ..begun.clone() };
        assert_ne!(digest(&begun), digest(&unbegun));
        let prompt = |system: &str, user: &str| {
            digest(&Prompt {
                system: system.to_owned(),
                user: user.to_owned(),
                prefill: String::new(),
            })
        };
        assert_eq!(prompt("a", "b"), prompt("a", "b"));
        assert_ne!(prompt("ab", "c"), prompt("a", "bc"));
        assert_ne!(prompt("a", "b"), prompt("a", "c"));
    }

    #[test]
    fn verdicts_of_programs_and_of_other_environments_are_told_apart() {
        for (text, verdict) in [
            (
                r#"{"verdict":{"task":"a","sample":2,"judgement":{"verdict":"no_code","tests_passed":0,"tests_total":3,"cpu_ms":0.0,"isolation":null}}}"#,
                "no_code",
            ),
            (
                r#"{"verdict":{"task":"a","sample":2,"observation":{"kind":"guess","solved":true}}}"#,
                "solved",
            ),
        ] {
            let entry: Entry = serde_json::from_str(text).unwrap();
            let Entry::Verdict(judged) = &entry else { panic!("{entry:?}") };
            assert_eq!(judged.verdict().unwrap().as_str(), verdict);
            assert_eq!(serde_json::to_string(&entry).unwrap(), text);
        }
    }

    #[test]
    fn a_trace_keeps_fields_that_we_do_not_know() {
        let text = r#"{"trace":{"v":1,"task_id":"a","mine":1.50}}"#;
        let entry: Entry = serde_json::from_str(text).unwrap();
        assert!(matches!(&entry, Entry::Trace(_)));
        assert_eq!(serde_json::to_string(&entry).unwrap(), text);
    }
}
