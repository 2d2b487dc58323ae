//! The turns of a teacher's episode.
//!
//! They stand in the line of a trace under `episode`; the other fields of that line are those of its last
//! turn, so that a reader of traces reads it too:
//!
//! ```json
//! {"v":1,"solved":true,"turn_count":2,"turns":[{"prompt":"Guess.","text":"3"},{"prompt":"Higher.","text":"7","reasoning":"…"}],"validation":{"kind":"guess","solved":true}}
//! ```

use serde::{Deserialize, Serialize};

use crate::completion::Finish;
use crate::outcome::Observation;
use crate::trace::Trace;
use crate::wire::{Object, WireError};

/// The version of the record.
const VERSION: u64 = 1;

/// An episode of a teacher, with what the environment saw of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaughtEpisode {
    v: u64,
    solved: bool,
    turn_count: usize,
    turns: Vec<TaughtTurn>,
    validation: Observation,
}

/// One turn of a teacher's episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaughtTurn {
    /// The environment's message. Standing instructions (a system message) are no part of it.
    pub prompt: String,
    /// The reply as it came.
    pub text: String,
    /// Thinking that the server sent in a field of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Set where the limit on tokens cut the reply off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
}

impl TaughtEpisode {
    /// The name of its field in a trace.
    pub const FIELD: &'static str = "episode";

    /// An episode of these turns.
    pub fn new(turns: Vec<TaughtTurn>, validation: Observation) -> Self {
        let (solved, turn_count) = (validation.solved, turns.len());
        Self { v: VERSION, solved, turn_count, turns, validation }
    }

    /// The episode of a trace; `None` for a trace of one reply.
    ///
    /// # Errors
    ///
    /// If the field is not an episode: what is wrong with it.
    pub fn of(trace: &Trace) -> Result<Option<Self>, String> {
        let named = |problem| format!("field `{}`: {problem}", Self::FIELD);
        trace.rest.get(Self::FIELD).map(Self::parse).transpose().map_err(named)
    }

    /// The episode of any line; `None` if its `episode` has no turns, as the number of another tool's.
    ///
    /// # Errors
    ///
    /// If it has turns, and is not an episode.
    pub fn of_line(line: &Object) -> Result<Option<Self>, WireError> {
        let has_turns = |json: &&str| {
            serde_json::from_str(json).is_ok_and(|object: Object| object.get("turns").is_some())
        };
        let episode = line.get(Self::FIELD).filter(has_turns).map(Self::parse).transpose();
        episode.map_err(|problem| WireError::Field { field: Self::FIELD, problem })
    }

    /// The episode that a field holds.
    ///
    /// # Errors
    ///
    /// If it is not an episode: what is wrong with it.
    fn parse(json: &str) -> Result<Self, String> {
        let episode: Self = serde_json::from_str(json).map_err(|err| err.to_string())?;
        let consistent = episode.turn_count == episode.turns.len()
            && episode.solved == episode.validation.solved
            && !episode.turns.is_empty();
        match (episode.v, consistent) {
            (VERSION, true) => Ok(episode),
            (VERSION, false) => {
                Err("`solved`, `turn_count`, `turns` and `validation` disagree".to_owned())
            }
            (v, _) => Err(format!("version {v} is not {VERSION}")),
        }
    }

    /// Its turns, at least one.
    pub fn turns(&self) -> &[TaughtTurn] {
        &self.turns
    }

    /// Evidence of the environment.
    pub fn validation(&self) -> &Observation {
        &self.validation
    }
}

impl TaughtTurn {
    /// The reply with its thinking in front, in `<think>` tags: thinking of a field of its own is put there,
    /// thinking inside the text stays where it is.
    pub fn output(&self) -> String {
        with_thinking(&self.text, self.reasoning.as_deref())
    }

    /// Whether the limit on tokens cut the reply off.
    pub fn is_cut_off(&self) -> bool {
        self.finish == Some(Finish::Length)
    }
}

/// A text behind its thinking, unless it has that in it already.
pub(crate) fn with_thinking(text: &str, thinking: Option<&str>) -> String {
    match thinking.map(str::trim) {
        None | Some("") => text.to_owned(),
        Some(thinking) if text.contains(thinking) => text.to_owned(),
        Some(thinking) => format!("<think>\n{thinking}\n</think>\n\n{}", text.trim_start()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    fn turn(prompt: &str, text: &str, reasoning: Option<&str>) -> TaughtTurn {
        let (prompt, text) = (prompt.to_owned(), text.to_owned());
        TaughtTurn { prompt, text, reasoning: reasoning.map(str::to_owned), finish: None }
    }

    fn observation(solved: bool) -> Observation {
        serde_json::from_str(&format!(r#"{{"kind":"guess","solved":{solved}}}"#)).unwrap()
    }

    fn trace(episode: &str) -> Trace {
        let line = format!(
            r#"{{"task_id":"a","sample":0,"prompt":"p","text":"t","model":"m","episode":{episode}}}"#
        );
        Trace::from_object(serde_json::from_str::<Object>(&line).unwrap()).unwrap()
    }

    const LINE: &str = r#"{"v":1,"solved":true,"turn_count":2,"turns":[{"prompt":"Guess.","text":"3"},{"prompt":"Higher.","text":"7","reasoning":"up"}],"validation":{"kind":"guess","solved":true}}"#;

    #[test]
    fn an_episode_is_written_so_and_comes_back() {
        let turns = vec![turn("Guess.", "3", None), turn("Higher.", "7", Some("up"))];
        let episode = TaughtEpisode::new(turns, observation(true));
        assert_eq!(serde_json::to_string(&episode).unwrap(), LINE);
        assert_eq!(TaughtEpisode::of(&trace(LINE)).unwrap().unwrap(), episode);
        let one_reply = Trace { rest: Object::new(), ..trace(LINE) };
        assert_eq!(TaughtEpisode::of(&one_reply), Ok(None));
    }

    #[test]
    fn an_episode_that_contradicts_itself_or_is_newer_is_refused() {
        for (from, to, problem) in [
            (r#""turn_count":2"#, r#""turn_count":3"#, "disagree"),
            (r#""solved":true,"turn_count""#, r#""solved":false,"turn_count""#, "disagree"),
            (r#"{"v":1"#, r#"{"v":2"#, "version 2 is not 1"),
            (r#""prompt":"Guess.","#, "", "missing field `prompt`"),
            (r#""turns""#, r#""rounds""#, "unknown field `rounds`"),
        ] {
            let line = LINE.replacen(from, to, 1);
            assert_ne!(line, LINE);
            let said = TaughtEpisode::of(&trace(&line)).unwrap_err();
            assert!(said.contains(problem), "{said}");
        }
    }

    #[test]
    fn thinking_of_a_field_is_put_in_front_and_thinking_in_the_text_stays() {
        assert_eq!(turn("", "7", Some(" up\n")).output(), "<think>\nup\n</think>\n\n7");
        assert_eq!(turn("", "\n\n7", Some("up")).output(), "<think>\nup\n</think>\n\n7");
        assert_eq!(turn("", "7", None).output(), "7");
        assert_eq!(turn("", "7", Some(" \n")).output(), "7");
        let inline = "<think>\nup\n</think>\n\n7";
        assert_eq!(turn("", inline, Some("up")).output(), inline);
    }
}
