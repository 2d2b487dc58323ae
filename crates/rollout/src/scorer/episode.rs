//! Replies that are there already, told to an episode: how tasks that ask for no program are scored.
//!
//! The replies of all turns are told in order. An episode that asks on after the last one is cut short, as it
//! was when the replies were sampled.

use serde::Deserialize;
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::outcome::Outcome;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::{Environment, Next};

use crate::collect::broken;

/// The little of a line that is needed beside its last reply.
#[derive(Default, Deserialize)]
struct Turns {
    #[serde(default)]
    meta: Meta,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    turns: Vec<TurnText>,
}

#[derive(Deserialize)]
struct TurnText {
    text: Option<String>,
}

/// The replies before the last one. A line of another tool may have anything there; then it has none.
pub(crate) fn earlier_replies(line: &[u8]) -> Vec<String> {
    let turns: Turns = serde_json::from_slice(line).unwrap_or_default();
    let mut turns = turns.meta.turns;
    turns.pop();
    turns.into_iter().filter_map(|turn| turn.text).collect()
}

/// What these replies to a task are worth.
pub(super) fn outcome(
    environment: &dyn Environment,
    task: &Task,
    seed: Seed,
    replies: &[Reply<'_>],
) -> Result<Outcome, Infrastructure> {
    let mut episode = environment.open(task, seed).map_err(broken)?;
    for &reply in replies {
        if let Next::Done(outcome) = episode.reply(reply).map_err(broken)? {
            return Ok(outcome);
        }
    }
    episode.cut_short().map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_turn_is_the_lines_own_text_and_lines_of_others_have_no_turns() {
        let line = r#"{"text":"c","meta":{"turns":[{"prompt":[1],"text":"a"},{"text":"b"},{}]}}"#;
        assert_eq!(earlier_replies(line.as_bytes()), ["a", "b"]);
        for other in [r#"{"text":"c"}"#, r#"{"text":"c","meta":{"turns":7}}"#, "no JSON"] {
            assert!(earlier_replies(other.as_bytes()).is_empty(), "{other}");
        }
    }
}
