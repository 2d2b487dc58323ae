//! Which samples become rows: those that show how a task is solved, in few turns and to the end.

use whetstone_core::taught::TaughtEpisode;
use whetstone_core::trace::Trace;

/// What becomes of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// A row is made of it.
    Kept,
    /// The task was not solved.
    Unsolved,
    /// It was, with more turns than rows may have.
    TooLong,
    /// It was, but the limit on tokens cut a reply off: its end would be learnt as one.
    CutOff,
    /// It was, in an episode whose reward is below the least that rows may have.
    LowReward,
    /// Nobody knows whether it was.
    NotJudged,
}

impl Keep {
    /// What becomes of a trace, if rows may have `most_turns` turns.
    pub(super) fn of(trace: &Trace, most_turns: u32) -> Self {
        let turns = match TaughtEpisode::of(trace) {
            Ok(episode) => episode.map_or(1, |episode| episode.turns().len()),
            Err(_) => return Self::NotJudged,
        };
        match trace.verdict {
            None => Self::NotJudged,
            Some(verdict) if !verdict.is_pass() => Self::Unsolved,
            Some(_) if turns > most_turns as usize => Self::TooLong,
            Some(_) if trace.rest.get("finish").is_some() => Self::CutOff,
            Some(_) => Self::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::{Object, Wire};

    use super::*;

    fn keep(fields: &str, most_turns: u32) -> Keep {
        let line =
            format!(r#"{{"task_id":"a","sample":0,"prompt":"p","text":"t","model":"m",{fields}}}"#);
        let object: Object = serde_json::from_str(&line).unwrap();
        Keep::of(&Trace::from_object(object).unwrap(), most_turns)
    }

    #[test]
    fn solved_within_the_limit_is_kept_and_all_else_has_its_reason() {
        let turn = r#"{"prompt":"p","text":"t"}"#;
        let episode = format!(
            r#""verdict":"solved","episode":{{"v":1,"solved":true,"turn_count":2,"turns":[{turn},{turn}],"validation":{{"kind":"guess","solved":true}}}}"#
        );
        assert_eq!(keep(&episode, 2), Keep::Kept);
        assert_eq!(keep(&episode, 1), Keep::TooLong);
        assert_eq!(keep(&episode.replace(r#""v":1"#, r#""v":9"#), 2), Keep::NotJudged);
        assert_eq!(keep(r#""verdict":"pass""#, 1), Keep::Kept, "one reply");
        assert_eq!(keep(r#""verdict":"pass","finish":"length""#, 1), Keep::CutOff);
        assert_eq!(keep(r#""verdict":"wrong""#, 1), Keep::Unsolved);
        assert_eq!(keep(r#""verdict":null"#, 1), Keep::NotJudged);
    }
}
