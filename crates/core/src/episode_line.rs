//! A line of which the transitions of an episode are read, whatever else it holds.
//!
//! Scored rollouts, samples of an evaluation and episodes of a teacher are different lines with two fields in
//! common: the task, as `prompt_id` or `task_id`, and `validation`, which a teacher's line has under `episode`. A line without
//! `validation` was not scored.

use crate::outcome::{Evidence, Observation};
use crate::rollout::id_field;
use crate::task::TaskId;
use crate::taught::TaughtEpisode;
use crate::validation::Validation;
use crate::wire::{Object, Wire, WireError};

/// Transitions of one episode, at most.
pub const MAX_TRANSITIONS: usize = 1000;

/// A line about an episode.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeLine {
    /// The task of the episode.
    pub task: TaskId,
    /// What its environment saw; none before scoring.
    pub validation: Option<Validation>,
    /// The other fields of the line.
    pub rest: Object,
}

impl EpisodeLine {
    /// The observation of an environment that records transitions; none of other lines.
    pub fn observation(&self) -> Option<&Observation> {
        match &self.validation {
            Some(Validation::Seen(Evidence::Observed(observation))) => {
                Some(observation).filter(|observation| !observation.transitions.is_empty())
            }
            _ => None,
        }
    }
}

impl Wire for EpisodeLine {
    const NOUN: &'static str = "scored episode";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        let id = id_field(&object)?;
        let (task, scored) = (object.require(id)?, object.take("validation")?);
        // Scores of the line come first: they are the newer ones.
        let validation = match scored {
            Some(validation) => Some(validation),
            None => TaughtEpisode::of_line(&object)?
                .map(|taught| Validation::Seen(Evidence::Observed(taught.validation().clone()))),
        };
        let line = Self { task, validation, rest: object };
        let count = line.observation().map_or(0, |observation| observation.transitions.len());
        if count > MAX_TRANSITIONS {
            let problem = format!("{count} transitions, and {MAX_TRANSITIONS} are the most");
            return Err(WireError::Field { field: "validation", problem });
        }
        Ok(line)
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("prompt_id", &self.task);
        object.append(&self.rest);
        object.put_some("validation", self.validation.as_ref());
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<EpisodeLine, WireError> {
        EpisodeLine::from_object(serde_json::from_str(text).unwrap())
    }

    const TURN: &str = r#"{"state":"IIS: 2","action":"DROP(c1)","next_state":"IIS: 1","valid":true,"progress":true}"#;

    fn line(turns: usize) -> String {
        let turns = vec![TURN; turns].join(",");
        format!(
            r#"{{"task_id":"t/1","n":1.50,"validation":{{"kind":"solver","solved":false,"transitions":[{turns}]}}}}"#
        )
    }

    #[test]
    fn the_transitions_of_any_line_with_a_task_and_a_validation_are_read() {
        let found = parse(&line(2)).unwrap();
        assert_eq!(found.task.as_str(), "t/1");
        assert_eq!(found.observation().unwrap().transitions.len(), 2);
        assert_eq!(parse(&found.to_line()).unwrap(), found);
        for other in [
            r#"{"prompt_id":"a"}"#,
            r#"{"prompt_id":"a","validation":{"error":"no disk"}}"#,
            r#"{"prompt_id":"a","validation":{"kind":"guess","solved":true}}"#,
        ] {
            assert!(parse(other).unwrap().observation().is_none(), "{other}");
        }
    }

    #[test]
    fn the_episode_of_a_teacher_has_its_transitions_under_episode() {
        let observation = r#"{"kind":"solver","solved":true,"transitions":[TURN,TURN]}"#;
        let observation = observation.replace("TURN", TURN);
        let turns = r#"[{"prompt":"p","text":"a"},{"prompt":"q","text":"b"}]"#;
        let line = format!(
            r#"{{"v":1,"task_id":"t/1","sample":0,"prompt":"q","text":"b","model":"expert","episode":{{"v":1,"solved":true,"turn_count":2,"turns":{turns},"validation":{observation}}}}}"#
        );
        let found = parse(&line).unwrap();
        let seen = found.observation().unwrap();
        assert_eq!((seen.transitions.len(), seen.solved, found.task.as_str()), (2, true, "t/1"));
        assert_eq!(parse(&found.to_line()).unwrap(), found);
        let said = parse(&line.replace(r#""turn_count":2"#, r#""turn_count":3"#)).unwrap_err();
        assert!(said.to_string().starts_with("field `episode`: "), "{said}");
        assert!(parse(r#"{"task_id":"a","episode":17}"#).unwrap().observation().is_none());
    }

    #[test]
    fn a_line_that_is_not_one_names_its_field() {
        assert_eq!(parse(r#"{"validation":{}}"#), Err(WireError::Missing("prompt_id")));
        let both = r#"{"prompt_id":"a","task_id":"a"}"#;
        assert!(parse(both).unwrap_err().to_string().contains("the line has both"));
        let said = parse(&line(1).replace("\"progress\":true", "\"progress\":1")).unwrap_err();
        assert!(said.to_string().starts_with("field `validation`: "), "{said}");
        let said = parse(&line(1).replace("\"valid\":true,", "")).unwrap_err().to_string();
        assert!(said.contains("missing field `valid`"), "{said}");
        let said = parse(&line(MAX_TRANSITIONS + 1)).unwrap_err().to_string();
        assert_eq!(said, "field `validation`: 1001 transitions, and 1000 are the most");
    }
}
