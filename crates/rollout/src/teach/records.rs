//! The journal of a teaching: every answer as it came, and what the judge said of it.
//!
//! ```text
//! {"teaching":{"version":1,"imports":false,"settings":[["teacher.model_name","…"],…]}}
//! {"trace":{"v":1,"task_id":"x/1","sample":0,…}}       taken over from an earlier file
//! {"imported":{"traces":1}}                             all of it was
//! {"answer":{"task":"x/1","samples":[1,2],"completions":[{…},{…}],…}}
//! {"verdict":{"task":"x/1","sample":2,"judgement":{…}}}
//! ```
//!
//! An answer is written in one piece before anything is made of it: what was paid for is kept,
//! whatever comes after. A verdict that is missing behind it is found again without asking.

use std::path::Path;

use serde::{Deserialize, Serialize};
use whetstone_core::completion::Completion;
use whetstone_core::judgement::Judgement;
use whetstone_core::prompt::Prompt;
use whetstone_core::task::TaskId;
use whetstone_core::trace::{Usage, VerdictName};
use whetstone_core::wire::Object;
use whetstone_record::error::LedgerError;
use whetstone_record::journal;

/// Version of the journal's records.
pub(super) const VERSION: u64 = 1;

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

/// What the judge saw of one sample.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) task: TaskId,
    pub(super) sample: u32,
    pub(super) judgement: Judgement,
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
}

#[derive(Debug, Deserialize)]
pub(super) struct BriefAnswer {
    pub(super) task: TaskId,
    pub(super) prompt: String,
    pub(super) samples: Vec<u32>,
}

impl Header {
    /// The header that `json` is, if it is one that this version reads.
    pub(super) fn of(json: &str) -> Option<Self> {
        match serde_json::from_str(json) {
            Ok(Brief::Teaching(header)) if header.version == VERSION => Some(header),
            _ => None,
        }
    }
}

/// The records of the journal at `path`, each with its number.
pub(super) fn entries(
    path: &Path,
) -> Result<impl Iterator<Item = Result<(u64, Entry), LedgerError>>, LedgerError> {
    Ok(journal::read(path)?.typed().map(|read| Ok(read?)))
}

/// What tells one prompt from another.
pub(super) fn digest(prompt: &Prompt) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(prompt.system.len() as u64).to_le_bytes());
    hasher.update(prompt.system.as_bytes());
    hasher.update(prompt.user.as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_differ_anywhere_have_other_digests() {
        let prompt = |system: &str, user: &str| {
            digest(&Prompt { system: system.to_owned(), user: user.to_owned() })
        };
        assert_eq!(prompt("a", "b"), prompt("a", "b"));
        assert_ne!(prompt("ab", "c"), prompt("a", "bc"));
        assert_ne!(prompt("a", "b"), prompt("a", "c"));
    }

    #[test]
    fn a_trace_keeps_fields_that_we_do_not_know() {
        let text = r#"{"trace":{"v":1,"task_id":"a","mine":1.50}}"#;
        let entry: Entry = serde_json::from_str(text).unwrap();
        assert!(matches!(&entry, Entry::Trace(_)));
        assert_eq!(serde_json::to_string(&entry).unwrap(), text);
    }
}
