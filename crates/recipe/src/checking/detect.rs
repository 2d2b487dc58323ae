//! The kind of a file, by the fields of its first line.
//!
//! Fields that only one kind has come first, so that a line which lacks a required field is still known: what is
//! missing is then said of the kind that it was meant to be.

use whetstone_core::wire::Object;
use whetstone_data::source::DataSet;

use super::kind::FileKind;

/// The appearance of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A line of a kind that is read.
    Kind(FileKind),
    /// A row of a data set, which a command converts.
    DataSet(DataSet),
    /// A conversation as chat data sets have them.
    Chat,
    /// A record of a journal that is not of events.
    Journal,
    /// Nothing that is known.
    Unknown,
}

/// The appearance of a line, by its fields.
pub(super) fn look(line: &Object) -> Look {
    let has = |field: &str| line.get(field).is_some();
    let has_one = |fields: &[&str]| fields.iter().any(|field| has(field));
    // The rollouts of a run are a journal too, and are read as rollouts.
    if has("crc") && has("seq") && !has("prompt_id") {
        return if has("type") { Look::Kind(FileKind::Events) } else { Look::Journal };
    }
    if has("pass_at_k") && has("by_task") {
        return Look::Kind(FileKind::Results);
    }
    if has("chosen") || has("rejected") {
        return Look::Kind(if is_our_pair(line) { FileKind::Pairs } else { FileKind::OtherPairs });
    }
    let foreign = DataSet::guess(has).filter(|set| *set != DataSet::Tasks);
    if let Some(set) = foreign.filter(|_| !has("statement")) {
        return Look::DataSet(set);
    }
    if has("messages") || has("conversations") {
        return Look::Chat;
    }
    if has("line") && has("reason") {
        return Look::Kind(FileKind::Rejected);
    }
    if has("instruction") && has_one(&["output", "input", "history"]) {
        return Look::Kind(FileKind::Rows);
    }
    if has("checks") && !has("body") {
        return Look::Kind(FileKind::PromptSeeds);
    }
    if has_one(&["statement", "tests", "body"]) {
        return Look::Kind(FileKind::Tasks);
    }
    let is_reply = has_one(&["text", "completion", "response"]);
    if has("prompt_id") || (has("task_id") && is_reply) {
        return Look::Kind(reply_kind(&has));
    }
    Look::Unknown
}

/// Whether a pair is in our format: it has a name, and its prompt is a conversation.
fn is_our_pair(line: &Object) -> bool {
    let prompt = line.get("prompt").unwrap_or_default();
    line.get("id").is_some() && prompt.starts_with('[')
}

/// The kind of a line with a task and a reply.
fn reply_kind(has: &impl Fn(&str) -> bool) -> FileKind {
    if ["validation", "reward", "advantage"].into_iter().any(has) && !has("model") {
        return FileKind::Scored;
    }
    let of_teacher = ["sample", "prompt", "model", "verdict", "thinking"].into_iter();
    let is_trace =
        has("task_id") && has("text") && of_teacher.filter(|field| has(field)).count() >= 2;
    if is_trace { FileKind::Traces } else { FileKind::Rollouts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Look) {
        assert_eq!(
            look(&serde_json::from_str(line).expect("test data is JSON")),
            expected,
            "{line}"
        );
    }

    #[test]
    fn a_line_is_known_by_its_fields() {
        use FileKind as K;
        for (line, kind) in [
            (r#"{"id":"a","statement":"s","tests":[]}"#, K::Tasks),
            (
                r#"{"id":"a","statement":"s","test_list":[],"text":"t","task_id":1,"code":""}"#,
                K::Tasks,
            ),
            (r#"{"id":"a","body":{"kind":"phaser","checks":[]}}"#, K::Tasks),
            (r#"{"task_id":"a","sample":0,"prompt":"p","text":"t","model":"m"}"#, K::Traces),
            (r#"{"task_id":"a","completion":"t"}"#, K::Rollouts),
            (r#"{"step":0,"prompt_id":"a","text":"t"}"#, K::Rollouts),
            (r#"{"prompt_id":"a","text":"t","reward":{}}"#, K::Scored),
            (r#"{"seq":0,"prompt_id":"a","text":"t","reward":{},"crc":"0"}"#, K::Scored),
            (r#"{"line":1,"reason":"no","text":"t"}"#, K::Rejected),
            (r#"{"instruction":"i","output":"o"}"#, K::Rows),
            (r#"{"id":"a","prompt":[],"chosen":"a","rejected":"b"}"#, K::Pairs),
            (r#"{"prompt":"p","chosen":"a","rejected":"b"}"#, K::OtherPairs),
            (r#"{"id":"a","prompt":"p","checks":[]}"#, K::PromptSeeds),
            (r#"{"seq":0,"type":"metrics","crc":"0"}"#, K::Events),
            (r#"{"pass_at_k":{},"by_task":[]}"#, K::Results),
        ] {
            check(line, Look::Kind(kind));
        }
    }

    #[test]
    fn files_of_data_sets_and_chats_are_named() {
        check(
            r#"{"task_id":2,"text":"t","code":"c","test_list":[]}"#,
            Look::DataSet(DataSet::Mbpp),
        );
        check(
            r#"{"task_id":"HumanEval/0","prompt":"p","entry_point":"f","test":"t"}"#,
            Look::DataSet(DataSet::HumanEval),
        );
        check(r#"{"messages":[]}"#, Look::Chat);
        check(r#"{"seq":0,"task":"a","crc":"0"}"#, Look::Journal);
        check(r#"{"question":"q","answer":"a"}"#, Look::Unknown);
    }
}
