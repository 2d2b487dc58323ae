//! The turns of an episode as a page shows them, with a limit on all untrusted text.
//!
//! What the environment said, thinking and replies come from `meta`, and what each reply did from the transitions of
//! the observation. Any of it may be missing: lines from before environments were recorded have replies alone, and
//! lines of other tools may have anything. The last reply is the line's own text and is not repeated.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use whetstone_core::message::Message;
use whetstone_core::outcome::Transition;
use whetstone_core::rollout::{RolloutLine, Score};

use super::limits::{self, MAX_EPISODE_BYTES, MAX_NAME_BYTES, MAX_TURN_TEXT_BYTES, MAX_TURNS};

/// The field of `meta` with what the environment said before each turn.
const ASKED: &str = "asked";

/// An episode.
#[derive(Debug, Default, Serialize)]
pub(super) struct ShownEpisode {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    turns: Vec<ShownTurn>,
    /// Turns behind those.
    #[serde(skip_serializing_if = "is_zero")]
    turns_left_out: usize,
    /// Bytes of their texts that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    turns_cut_bytes: usize,
    #[serde(skip)]
    text_bytes: usize,
}

/// One turn.
#[derive(Debug, Serialize)]
struct ShownTurn {
    /// What the environment said before the reply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked: Vec<ShownMessage>,
    /// Thinking that a server sent apart from the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<String>,
    #[serde(flatten)]
    transition: Option<Transition>,
}

#[derive(Debug, Serialize)]
struct ShownMessage {
    role: &'static str,
    text: String,
}

/// A turn of `meta` as far as it is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WrittenTurn {
    text: Option<String>,
    reasoning: Option<String>,
    finish: Option<String>,
}

/// What a line says of its turns.
struct WrittenEpisode<'a> {
    turns: Vec<WrittenTurn>,
    asked: Vec<Vec<Message>>,
    transitions: &'a [Transition],
}

impl<'a> WrittenEpisode<'a> {
    fn of(rollout: &'a RolloutLine) -> Self {
        let (turns, asked) = (parsed(rollout, "turns"), parsed(rollout, ASKED));
        Self { turns, asked, transitions: transitions(rollout) }
    }

    fn len(&self) -> usize {
        self.turns.len().max(self.asked.len()).max(self.transitions.len())
    }

    /// Whether there is more to show than one reply.
    fn is_episode(&self) -> bool {
        self.len() > 1 || !self.asked.is_empty() || !self.transitions.is_empty()
    }
}

impl ShownEpisode {
    /// The episode of a rollout; without turns where there is only a reply to show.
    pub(super) fn of(rollout: &RolloutLine) -> Self {
        let mut written = WrittenEpisode::of(rollout);
        if !written.is_episode() {
            return Self::default();
        }
        let len = written.len();
        let mut cutter = Cutter { left: MAX_EPISODE_BYTES, cut: 0 };
        let turn = |at: usize| ShownTurn::cut(&mut written, at, at + 1 == len, &mut cutter);
        let turns = (0..len.min(MAX_TURNS)).map(turn).collect();
        let text_bytes = MAX_EPISODE_BYTES - cutter.left;
        Self {
            turns,
            turns_left_out: len.saturating_sub(MAX_TURNS),
            turns_cut_bytes: cutter.cut,
            text_bytes,
        }
    }

    /// The text that the episode of a rollout has in a page, beside its last reply. Tokens are not parsed where
    /// there is none.
    pub(super) fn text_bytes_of(rollout: &RolloutLine) -> u64 {
        let has_text = rollout.meta.get(ASKED).is_some() || !transitions(rollout).is_empty();
        if has_text { Self::of(rollout).text_bytes() } else { 0 }
    }

    /// Text that counts against the page's bound.
    pub(super) fn text_bytes(&self) -> u64 {
        self.text_bytes as u64
    }
}

impl ShownTurn {
    /// Turn `at`, with as much text as there is room for.
    fn cut(
        written: &mut WrittenEpisode<'_>,
        at: usize,
        is_last: bool,
        cutter: &mut Cutter,
    ) -> Self {
        let said = written.turns.get_mut(at).map(std::mem::take).unwrap_or_default();
        let asked = written.asked.get_mut(at).map(std::mem::take).unwrap_or_default();
        let transition =
            written.transitions.get(at).map(|transition| cutter.transition(transition));
        let asked = asked.iter().map(|message| cutter.message(message)).collect();
        let mut cut = |text: String| cutter.cut(&text);
        let (reasoning, text) = (said.reasoning.map(&mut cut), said.text.map(&mut cut));
        let finish = said.finish.map(|name| limits::cut(&name, MAX_NAME_BYTES).0.to_owned());
        Self { asked, reasoning, text: text.filter(|_| !is_last), finish, transition }
    }
}

/// Cuts texts to the room that is left for an episode.
struct Cutter {
    left: usize,
    /// Bytes that were left out.
    cut: usize,
}

impl Cutter {
    fn cut(&mut self, text: &str) -> String {
        let (kept, cut) = limits::cut(text, MAX_TURN_TEXT_BYTES.min(self.left));
        self.left -= kept.len();
        self.cut += cut;
        kept.to_owned()
    }

    fn message(&mut self, message: &Message) -> ShownMessage {
        ShownMessage { role: message.role.name(), text: self.cut(&message.content) }
    }

    fn transition(&mut self, transition: &Transition) -> Transition {
        Transition {
            state: self.cut(&transition.state),
            action: self.cut(&transition.action),
            next_state: self.cut(&transition.next_state),
            valid: transition.valid,
            progress: transition.progress,
        }
    }
}

/// A field of `meta`; nothing if it is missing or something else.
fn parsed<T: DeserializeOwned + Default>(rollout: &RolloutLine, name: &str) -> T {
    let text = rollout.meta.get(name);
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn transitions(rollout: &RolloutLine) -> &[Transition] {
    match &rollout.score {
        Some(Score::Scored { outcome, .. }) => outcome.transitions(),
        Some(Score::Failed(_)) | None => &[],
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use whetstone_core::wire::Wire;

    use super::*;

    fn shown(meta: &Value, transitions: &Value) -> Value {
        let line = json!({
            "step": 1, "prompt_id": "x", "text": "last", "meta": meta,
            "validation": {"kind": "solver", "solved": false, "transitions": transitions},
            "reward": {"total": 0.0, "terms": {}},
        });
        let object = serde_json::from_str(&line.to_string()).unwrap();
        let rollout = RolloutLine::from_object(object).unwrap();
        serde_json::to_value(ShownEpisode::of(&rollout)).unwrap()
    }

    fn transition(action: &str) -> Value {
        json!({"state": "IIS: 3", "action": action, "next_state": "IIS: 2", "valid": true, "progress": false})
    }

    #[test]
    fn a_turn_has_what_was_said_before_it_the_reply_and_what_that_did() {
        let meta = json!({
            "turns": [
                {"prompt": [1, 2], "text": "first", "reasoning": "hm", "finish": "stop", "ids": [7]},
                {"prompt": [], "finish": "length"},
            ],
            "asked": [[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
                [{"role": "user", "content": "Higher."}]],
        });
        let found = shown(&meta, &json!([transition("A"), transition("B")]));
        let expected = json!({"turns": [
            {"asked": [{"role": "system", "text": "s"}, {"role": "user", "text": "u"}], "reasoning": "hm",
                "text": "first", "finish": "stop", "state": "IIS: 3", "action": "A", "next_state": "IIS: 2",
                "valid": true, "progress": false},
            {"asked": [{"role": "user", "text": "Higher."}], "finish": "length", "state": "IIS: 3",
                "action": "B", "next_state": "IIS: 2", "valid": true, "progress": false},
        ]});
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_with_one_reply_has_no_turns_and_foreign_fields_are_passed_over() {
        assert_eq!(
            shown(&json!({"turns": [{"prompt": [1], "finish": "stop"}]}), &json!([])),
            json!({})
        );
        assert_eq!(shown(&json!({"turns": 7, "asked": "all"}), &json!([])), json!({}));
        // As lines were written before environments were recorded.
        let old = json!({"turns": [{"prompt": [1], "text": "a", "finish": "stop"}, {"prompt": [1], "finish": "stop"}]});
        let found = shown(&old, &json!([]));
        assert_eq!(found["turns"], json!([{"text": "a", "finish": "stop"}, {"finish": "stop"}]));
    }

    #[test]
    fn every_text_of_an_episode_has_a_bound_and_what_is_left_out_is_counted() {
        let long = "ß".repeat(1 << 19);
        let turn = json!({"text": long, "reasoning": long, "finish": long});
        let meta = json!({
            "turns": vec![turn; 99], "asked": vec![json!([{"role": "user", "content": long}]); 99],
        });
        let found = shown(&meta, &json!(vec![transition(&long); 99]));
        assert_eq!(found["turns"].as_array().unwrap().len(), MAX_TURNS);
        assert_eq!(found["turns_left_out"], 99 - MAX_TURNS);
        assert!(
            found["turns_cut_bytes"].as_u64().unwrap() > 64 << 20,
            "{}",
            found["turns_cut_bytes"]
        );
        assert_eq!(found["turns"][0]["action"].as_str().unwrap().len(), MAX_TURN_TEXT_BYTES);
        let names = MAX_TURNS * (MAX_NAME_BYTES + 256);
        assert!(found.to_string().len() < MAX_EPISODE_BYTES + names);
    }
}
