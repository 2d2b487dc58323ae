//! A rollout as scoring needs it: what it answers, and its own fields untouched.
//!
//! What an earlier scoring left (`validation`, `reward`, `advantage`) is dropped unread, so that a
//! scored file can be scored again whatever stands there. Files of other tools are read by the names
//! that they use for a task and a reply; a line without `step` is of step 0.

use serde::de::IgnoredAny;
use whetstone_core::jsonl::{LineProblem, MAX_LINE_BYTES, Records};
use whetstone_core::rollout::{id_field, reply_field};
use whetstone_core::task::TaskId;
use whetstone_core::wire::{Object, Wire, WireError};
use whetstone_record::batch::Line;

use super::sampled::Sampled;
use super::turns::{TurnReply, all_replies};
use crate::collect::record::THINKING_OPENED;
use crate::tasks::Tasks;

const VERSION: u64 = 1;

/// The fields that scoring writes, and so drops before.
const SCORES: [&str; 3] = ["validation", "reward", "advantage"];

/// One line of rollouts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) step: u64,
    pub(super) prompt_id: TaskId,
    pub(super) text: String,
    /// The replies of all turns in order.
    pub(super) replies: Vec<TurnReply>,
    /// Whether its prompt ended inside the thinking tag.
    pub(super) thinking_opened: bool,
    /// Who sampled it, and at which temperature.
    pub(super) sampled: Sampled,
    /// How it was sampled, and how it ended.
    pub(super) meta: Object,
    /// The line without the scores it had, if it had any.
    pub(super) rescored: Option<Object>,
}

/// A line that is no rollout we can score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bad(pub(super) String);

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Nothing but blanks.
    Blank,
    /// A rollout of the task with this number.
    Rollout(Candidate, u32),
}

/// Reads one line.
pub(super) fn read(line: &Line<'_>, tasks: &Tasks) -> Result<Content, Bad> {
    if line.is_too_long() {
        let limit_bytes = MAX_LINE_BYTES;
        let too_long = LineProblem::TooLong { noun: Candidate::NOUN, limit_bytes };
        return Err(Bad(too_long.to_string()));
    }
    let bytes = line.content();
    // Only the first line may begin with a byte order mark; the reader here sees one line.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(Bad("begins with a byte order mark, expected one rollout a line".to_owned()));
    }
    let candidate = match Records::<Candidate, _>::new("", bytes).next() {
        None => return Ok(Content::Blank),
        Some(Err(err)) => return Err(Bad(err.problem.to_string())),
        Some(Ok(numbered)) => numbered.record,
    };
    let id = &candidate.prompt_id;
    let Some(task) = tasks.find(id) else {
        return Err(Bad(format!("prompt_id `{id}` is no task of `{}`", tasks.file().display())));
    };
    Ok(Content::Rollout(candidate, task))
}

/// The part of a line's text that passes through: everything up to the closing brace.
pub(super) fn own_text<'l>(line: &'l Line<'_>) -> Option<&'l str> {
    let text = std::str::from_utf8(line.content()).ok()?.trim();
    Some(text.strip_suffix('}')?.trim_end())
}

impl Wire for Candidate {
    const NOUN: &'static str = "rollout";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        let scored = SCORES.iter().any(|field| object.get(field).is_some());
        for field in SCORES {
            object.take::<IgnoredAny>(field)?;
        }
        let rescored = scored.then(|| object.clone());
        object.version(VERSION)?;
        let (id, reply) = (id_field(&object)?, reply_field(&object)?);
        let step = object.take("step")?.unwrap_or_default();
        let (prompt_id, text) = (object.require(id)?, object.require_reply(reply)?);
        // Not needed here, but whoever reads the scored line relies on its type.
        object.take::<u64>("group_id")?;
        let meta = object.take::<Object>("meta")?.unwrap_or_default();
        let replies = all_replies(&text, &meta, &object)?;
        let sampled = Sampled::of(&object, &meta);
        let opened = meta.get(THINKING_OPENED).map(serde_json::from_str);
        let thinking_opened = opened.and_then(Result::ok).unwrap_or(false);
        Ok(Self { step, prompt_id, text, replies, thinking_opened, sampled, meta, rescored })
    }

    fn to_object(&self) -> Object {
        if let Some(own) = &self.rescored {
            return own.clone();
        }
        let mut object = Object::new();
        object.put("step", &self.step);
        object.put("prompt_id", &self.prompt_id);
        object.put("text", &self.text);
        object
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use whetstone_core::lines::LineEnd;

    use super::*;

    fn tasks() -> Tasks {
        Tasks::of_lines(
            r#"{"id":"a","statement":"s","tests":{"kind":"asserts","hidden":["assert f()"]}}"#,
        )
    }

    fn line(text: &str, number: u64) -> Line<'static> {
        let (bytes, file, end) = (text.as_bytes().to_owned(), Path::new("f"), LineEnd::Newline);
        Line { at: number - 1, file, number, offset: 0, bytes, end }
    }

    fn read_line(text: &str) -> Result<Content, Bad> {
        read(&line(text, 1), &tasks())
    }

    #[track_caller]
    fn bad(text: &str, reason: &str) {
        assert_eq!(read_line(text).unwrap_err().0, reason);
    }

    #[test]
    fn half_a_surrogate_pair_is_judged_as_a_replacement_character_and_passed_on_as_it_was() {
        let text = r#"{"step":0,"prompt_id":"a","text":"x = '\ud800' # \ud83d\ude00","meta":{"k":"\udfff"}}"#;
        let Ok(Content::Rollout(candidate, _)) = read_line(text) else { panic!("a rollout") };
        assert_eq!(candidate.text, "x = '\u{fffd}' # \u{1f600}");
        assert_eq!(own_text(&line(text, 1)), text.strip_suffix('}'));
        let scored = text.replace(r#""meta""#, r#""reward":1,"meta""#);
        let Ok(Content::Rollout(candidate, _)) = read_line(&scored) else { panic!("a rollout") };
        assert_eq!(candidate.to_line(), text, "scored again, its own fields keep their bytes");
    }

    #[test]
    fn scores_of_an_earlier_run_are_dropped_whatever_they_say() {
        let line = r#"{"step":1,"x":1.50,"reward":{"total":9,"terms":{}},"prompt_id":"a","validation":[],"text":"t","advantage":"no"}"#;
        let Content::Rollout(candidate, 0) = read_line(line).unwrap() else { panic!("a rollout") };
        assert_eq!(candidate.to_line(), r#"{"step":1,"x":1.50,"prompt_id":"a","text":"t"}"#);
        let null = r#"{"step":1,"prompt_id":"a","text":"t","reward":null}"#;
        let Content::Rollout(candidate, 0) = read_line(null).unwrap() else { panic!("a rollout") };
        assert_eq!(candidate.to_line(), r#"{"step":1,"prompt_id":"a","text":"t"}"#);
    }

    #[test]
    fn fields_may_have_the_names_that_other_tools_give_them() {
        for line in [
            r#"{"task_id":"a","completion":"t"}"#,
            r#"{"step":0,"task_id":"a","response":"t"}"#,
            r#"{"prompt_id":"a","text":"t"}"#,
        ] {
            let Content::Rollout(candidate, 0) = read_line(line).unwrap() else { panic!("{line}") };
            assert_eq!((candidate.step, candidate.text.as_str()), (0, "t"), "{line}");
        }
        bad(
            r#"{"task_id":"a","completion":"t","text":"u"}"#,
            "not a rollout: field `completion`: means the same as `text`, and the line has both",
        );
        bad(r#"{"completion":"t"}"#, "not a rollout: field `prompt_id` is missing");
    }

    #[test]
    fn a_bad_line_says_what_is_wrong_with_it() {
        bad(r#"{"step":0,"prompt_id":"a"}"#, "not a rollout: field `text` is missing");
        bad(r#"{"step":0,"prompt_id":"b","text":""}"#, "prompt_id `b` is no task of `tasks`");
        bad(
            r#"{"v":2,"step":0,"prompt_id":"a","text":""}"#,
            "not a rollout: version 2 is newer than this whet reads (1); use a newer whet",
        );
        bad(
            r#"{"step":0,"prompt_id":"a","text":"","group_id":"x"}"#,
            "not a rollout: field `group_id`: invalid type: string \"x\", expected u64",
        );
        let long = read(&Line { end: LineEnd::TooLong, ..line("", 4) }, &tasks()).unwrap_err();
        assert_eq!(long.0, "longer than 64 MiB, expected one rollout a line");
    }

    #[test]
    fn a_byte_order_mark_belongs_at_the_head_of_the_file() {
        let text = "\u{feff}{\"step\":0,\"prompt_id\":\"a\",\"text\":\"\"}";
        assert!(read(&line(text, 1), &tasks()).is_ok());
        assert!(read(&line(text, 2), &tasks()).is_err());
        assert_eq!(own_text(&line(text, 1)), Some(&text[3..text.len() - 1]));
    }

    #[test]
    fn blanks_are_no_line() {
        assert_eq!(read_line(" \r"), Ok(Content::Blank));
    }

    #[test]
    fn a_line_says_whether_its_prompt_opened_the_thinking() {
        let opened = |meta: &str| {
            let text = format!(r#"{{"step":0,"prompt_id":"a","text":"","meta":{meta}}}"#);
            let Ok(Content::Rollout(candidate, _)) = read_line(&text) else { panic!("a rollout") };
            candidate.thinking_opened
        };
        assert!(opened(r#"{"thinking_opened":true}"#));
        assert!(!opened(r#"{"thinking_opened":false}"#) && !opened("{}"));
        assert!(!opened(r#"{"thinking_opened":"of another tool"}"#));
    }
}
