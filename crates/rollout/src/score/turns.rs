//! The replies of a line, those of all turns: an episode is scored by all of them, and never by its last one alone.
//!
//! | line of | its turns |
//! |---|---|
//! | `whet rollout`, `train`, `eval` | `meta.turns`, of which the last is the line's own `text` |
//! | `whet teach` | `episode.turns`, all of them; `text` repeats the last |
//! | another tool | none: its reply is the whole episode |

use serde::Deserialize;
use whetstone_core::extract::Reply;
use whetstone_core::taught::{TaughtEpisode, TaughtTurn};
use whetstone_core::wire::{Object, WireError};

/// One reply of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct TurnReply {
    text: String,
    /// Thinking that the server sent in a field of its own.
    #[serde(default)]
    reasoning: Option<String>,
}

impl TurnReply {
    fn of(turn: &TaughtTurn) -> Self {
        Self { text: turn.text.clone(), reasoning: turn.reasoning.clone() }
    }

    /// The reply as an environment reads it; `opened` if its prompt ended inside the thinking tag.
    pub(super) fn reply(&self, opened: bool) -> Reply<'_> {
        Reply { text: &self.text, reasoning: self.reasoning.as_deref(), opened }
    }
}

/// All replies of a line in order: its own `text`, behind those of the turns before it. `line` has the fields beside
/// these.
///
/// # Errors
///
/// If its `episode` has turns and cannot be read: its last reply alone would be another episode.
pub(super) fn all_replies(
    text: &str,
    meta: &Object,
    line: &Object,
) -> Result<Vec<TurnReply>, WireError> {
    if let Some(taught) = TaughtEpisode::of_line(line)? {
        return Ok(taught.turns().iter().map(TurnReply::of).collect());
    }
    let mut turns: Vec<NotedTurn> =
        meta.get("turns").and_then(|turns| serde_json::from_str(turns).ok()).unwrap_or_default();
    let reasoning = turns.pop().and_then(|last| last.reasoning);
    let earlier = turns
        .into_iter()
        .filter_map(|NotedTurn { text, reasoning }| Some(TurnReply { text: text?, reasoning }));
    Ok(earlier.chain([TurnReply { text: text.to_owned(), reasoning }]).collect())
}

/// A turn among the facts of a rollout. A line of another tool may have anything there; then it has none.
#[derive(Deserialize)]
struct NotedTurn {
    text: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(meta: &str, line: &str) -> Result<Vec<TurnReply>, WireError> {
        let [meta, line] = [meta, line].map(|json| serde_json::from_str(json).unwrap());
        all_replies("c", &meta, &line)
    }

    fn texts(meta: &str, line: &str) -> Vec<String> {
        replies(meta, line).unwrap().into_iter().map(|reply| reply.text).collect()
    }

    #[test]
    fn the_last_turn_is_the_lines_own_text_and_lines_of_others_have_no_turns() {
        let turns = r#"{"turns":[{"prompt":[1],"text":"a"},{"text":"b"},{}]}"#;
        assert_eq!(texts(turns, "{}"), ["a", "b", "c"]);
        for other in ["{}", r#"{"turns":7}"#] {
            assert_eq!(texts(other, "{}"), ["c"], "{other}");
        }
        assert_eq!(texts("{}", r#"{"episode":17}"#), ["c"], "the number of an episode");
        assert_eq!(texts("{}", r#"{"episode":{"id":17}}"#), ["c"]);
    }

    #[test]
    fn the_turns_of_a_teacher_are_all_told_with_their_thinking() {
        let line = r#"{"episode":{"v":1,"solved":true,"turn_count":2,"turns":[{"prompt":"p","text":"3","reasoning":"low"},{"prompt":"q","text":"7"}],"validation":{"kind":"guess","solved":true}}}"#;
        let reply = |text: &str, reasoning: Option<&str>| TurnReply {
            text: text.to_owned(),
            reasoning: reasoning.map(str::to_owned),
        };
        assert_eq!(replies("{}", line).unwrap(), [reply("3", Some("low")), reply("7", None)]);
        let newer = line.replace(r#"{"v":1"#, r#"{"v":2"#);
        let said = replies("{}", &newer).unwrap_err().to_string();
        assert_eq!(said, "field `episode`: version 2 is not 1");
    }
}
