//! One candidate answer as it stands in `rollouts.jsonl`, before and after scoring.
//!
//! ```json
//! {"step":0,"prompt_id":"mbpp/11","group_id":3,"text":"…","meta":{"temperature":0.7}}
//! ```
//!
//! Scoring adds `validation`, `reward` and `advantage`. A line that could not be judged has a
//! `validation` with an error and no reward; the type makes the other combinations impossible.
//! A line whose program was not run, because only static terms were asked for, says so.
//! Files of other tools are read by the names that they use for a task and a reply; a line without
//! `step` is of step 0.
//! Fields we do not know pass through untouched.

use std::borrow::Cow;

use serde::Deserialize;

use crate::extract::{Cause, Reply};
use crate::judgement::Infrastructure;
use crate::outcome::{Evidence, Outcome};
use crate::task::TaskId;
use crate::validation::Validation;
use crate::verdict::Verdict;
use crate::wire::{Object, Wire, WireError};

const VERSION: u64 = 1;

/// Names of the field with the task's id: ours first, then those of other tools.
const IDS: [&str; 2] = ["prompt_id", "task_id"];

/// Names of the field with the reply: ours first, then those of other tools.
const REPLIES: [&str; 3] = ["text", "completion", "response"];

/// A line of `rollouts.jsonl`: one candidate answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RolloutLine {
    /// The optimizer step that it was sampled for.
    pub step: u64,
    /// The task that it answers.
    pub prompt_id: TaskId,
    /// Index of the sample in its group, in its writer's numbering.
    pub group_id: Option<u64>,
    /// The answer.
    pub text: String,
    /// Sampling parameters: temperature, `top_p`, `max_new_tokens`, ….
    pub meta: Object,
    /// The score; `None` before scoring.
    pub score: Option<Score>,
    /// Fields of the line that are not ours.
    pub rest: Object,
}

/// The result of scoring a rollout.
#[derive(Debug, Clone, PartialEq)]
pub enum Score {
    /// It has an outcome: what the environment saw, and what that is worth.
    Scored {
        /// The outcome.
        outcome: Outcome,
        /// Its worth against the group's; `None` until the group is complete.
        advantage: Option<f64>,
    },
    /// The machine broke: no reward, left out of its group.
    Failed(Infrastructure),
}

impl Wire for RolloutLine {
    const NOUN: &'static str = "rollout";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        object.version(VERSION)?;
        let (id, reply) = (id_field(&object)?, reply_field(&object)?);
        let rollout = Self {
            step: object.take("step")?.unwrap_or_default(),
            prompt_id: object.require(id)?,
            group_id: object.take("group_id")?,
            text: object.require_reply(reply)?,
            meta: object.take("meta")?.unwrap_or_default(),
            score: take_score(&mut object)?,
            rest: Object::new(),
        };
        Ok(Self { rest: object, ..rollout })
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("step", &self.step);
        object.put("prompt_id", &self.prompt_id);
        object.put_some("group_id", self.group_id.as_ref());
        object.put("text", &self.text);
        object.put("meta", &self.meta);
        object.append(&self.rest);
        match &self.score {
            None => {}
            Some(Score::Failed(failed)) => {
                object.put("validation", &Validation::Failed(failed.clone()));
            }
            Some(Score::Scored { outcome, advantage }) => {
                object.put("validation", &outcome.evidence);
                object.put("reward", &outcome.reward);
                object.put_some("advantage", advantage.as_ref());
            }
        }
        object
    }
}

/// What is read of a turn: thinking that a server sent apart from the text.
#[derive(Deserialize)]
struct TurnThinking<'a> {
    #[serde(borrow, default)]
    reasoning: Option<Cow<'a, str>>,
}

impl RolloutLine {
    /// The cause of its verdict, if that is about the form of the reply.
    pub fn cause(&self) -> Option<Cause> {
        let Some(Score::Scored { outcome, .. }) = &self.score else { return None };
        cause_of(outcome.judgement()?.verdict(), &self.text, &self.meta)
    }
}

/// The cause of a verdict that is about the form of a reply, from what the `meta` of its line says of how it ended;
/// see [`Cause`]. Lines of other tools may have anything there; what is no field of ours is taken for unknown.
pub fn cause_of(verdict: &Verdict, text: &str, meta: &Object) -> Option<Cause> {
    if !Cause::is_of_form(verdict) {
        return None;
    }
    let turns = noted::<Vec<TurnThinking<'_>>>(meta, "turns");
    let reasoning = turns.and_then(|mut turns| turns.pop()?.reasoning);
    let opened = noted(meta, "thinking_opened").unwrap_or(false);
    let reply = Reply { text, reasoning: reasoning.as_deref(), opened };
    Cause::of(verdict, reply, noted(meta, "finish"))
}

fn noted<'a, T: Deserialize<'a>>(meta: &'a Object, field: &str) -> Option<T> {
    serde_json::from_str(meta.get(field)?).ok()
}

/// The field of a line with the task's id: ours, or what other tools call it.
///
/// # Errors
///
/// If a line has more than one of them.
pub fn id_field(object: &Object) -> Result<&'static str, WireError> {
    one_of(&IDS, object)
}

/// The field of a line with the reply: ours, or what other tools call it.
///
/// # Errors
///
/// If a line has more than one of them.
pub fn reply_field(object: &Object) -> Result<&'static str, WireError> {
    one_of(&REPLIES, object)
}

/// The name that a line uses; the first if it has none of them.
fn one_of(names: &[&'static str], object: &Object) -> Result<&'static str, WireError> {
    let mut used = names.iter().copied().filter(|name| object.get(name).is_some());
    let first = used.next().unwrap_or(names[0]);
    match used.next() {
        None => Ok(first),
        Some(field) => {
            let problem = format!("means the same as `{first}`, and the line has both");
            Err(WireError::Field { field, problem })
        }
    }
}

fn take_score(object: &mut Object) -> Result<Option<Score>, WireError> {
    let validation = object.take("validation")?;
    let reward = object.take("reward")?;
    let advantage = object.take("advantage")?;
    let contradiction =
        |field, problem: &str| Err(WireError::Field { field, problem: problem.to_owned() });
    match (validation, reward, advantage) {
        (None, None, None) => Ok(None),
        (Some(Validation::Seen(evidence)), Some(reward), advantage) => {
            Ok(Some(Score::Scored { outcome: Outcome { evidence, reward }, advantage }))
        }
        (Some(Validation::Failed(failed)), None, None) => Ok(Some(Score::Failed(failed))),
        (Some(Validation::Seen(Evidence::NotRun)), None, _) => {
            contradiction("reward", "missing for a line scored without running it")
        }
        (Some(Validation::Seen(_)), None, _) => contradiction("reward", "missing for a verdict"),
        (Some(Validation::Failed(_)), _, _) => {
            contradiction("reward", "a line that could not be judged has none")
        }
        (None, _, _) => contradiction("validation", "missing for a reward or an advantage"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RolloutLine, WireError> {
        RolloutLine::from_object(serde_json::from_str(text).unwrap())
    }

    const JUDGED: &str = concat!(
        r#"{"step":1200,"prompt_id":"seed_000123","group_id":3,"text":"[PLAN]","#,
        r#""meta":{"temperature":0.70,"max_new_tokens":1800},"mine":[1.0],"#,
        r#""validation":{"verdict":"wrong","test":1,"tests_passed":1,"tests_total":3,"#,
        r#""cpu_ms":1.9,"isolation":"full"},"#,
        r#""reward":{"total":0.5,"terms":{"tests":0.5},"weights":{"tests":1.0},"gates":{}},"#,
        r#""advantage":-0.7}"#
    );

    #[test]
    fn a_scored_line_comes_back_byte_for_byte() {
        assert_eq!(parse(JUDGED).unwrap().to_line(), JUDGED);
    }

    #[test]
    fn a_line_from_elsewhere_needs_only_step_prompt_and_text() {
        let rollout = parse(r#"{"step":0,"prompt_id":"a","text":""}"#).unwrap();
        assert_eq!(rollout.score, None);
        assert_eq!(parse(r#"{"step":0,"prompt_id":"a"}"#), Err(WireError::Missing("text")));
        let theirs = parse(r#"{"task_id":"a","completion":"t"}"#).unwrap();
        assert_eq!((theirs.step, theirs.text.as_str()), (0, "t"));
        assert_eq!(theirs.to_line(), r#"{"step":0,"prompt_id":"a","text":"t","meta":{}}"#);
        assert!(parse(r#"{"task_id":"a","completion":"t","text":"u"}"#).is_err());
    }

    #[test]
    fn the_cause_of_a_verdict_is_derived_from_the_reply_and_how_it_ended() {
        let line = |text: &str, meta: &str| {
            let validation = r#"{"verdict":"no_code","tests_passed":0,"tests_total":1,"cpu_ms":0.0,"isolation":null}"#;
            let line = format!(
                r#"{{"step":0,"prompt_id":"a","text":"{text}","meta":{meta},"validation":{validation},"reward":{{"total":0.0,"terms":{{}}}}}}"#
            );
            parse(&line).unwrap().cause().unwrap()
        };
        assert_eq!(line("I think", r#"{"finish":"stop"}"#), Cause::Prose);
        assert_eq!(line("I think", r#"{"finish":"length"}"#), Cause::CutOff);
        assert_eq!(line("I think", r#"{"finish":7,"turns":"two"}"#), Cause::Prose);
        assert_eq!(line("I think", r#"{"thinking_opened":true}"#), Cause::ThinkingUnclosed);
        let apart = r#"{"turns":[{"prompt":[],"finish":"stop"},{"reasoning":"x\n\u0060\u0060\u0060\ny\n"}]}"#;
        assert_eq!(line("Done", apart), Cause::InThinking);
        assert_eq!(parse(JUDGED).unwrap().cause(), None);
        assert_eq!(parse(r#"{"prompt_id":"a","text":""}"#).unwrap().cause(), None);
    }

    #[test]
    fn a_broken_machine_is_never_paid() {
        let line = r#"{"step":0,"prompt_id":"a","text":"","validation":{"error":"no disk"}}"#;
        let failed = Score::Failed(Infrastructure("no disk".to_owned()));
        assert_eq!(parse(line).unwrap().score, Some(failed));
        let paid = line.replace(r#"disk"}"#, r#"disk"},"reward":{"total":0.0}"#);
        let err = parse(&paid).unwrap_err().to_string();
        assert_eq!(err, "field `reward`: a line that could not be judged has none");
    }

    #[test]
    fn a_line_that_was_not_run_has_a_reward_and_no_verdict() {
        let line = concat!(
            r#"{"step":0,"prompt_id":"a","text":"","meta":{},"validation":{"skipped":"runtime"},"#,
            r#""reward":{"total":0.5,"terms":{"syntax":1.0},"weights":{"syntax":0.5},"gates":{}},"#,
            r#""advantage":0.0}"#
        );
        let rollout = parse(line).unwrap();
        let Some(Score::Scored { outcome, advantage: Some(0.0) }) = &rollout.score else {
            panic!("{rollout:?}")
        };
        assert_eq!(outcome.evidence, Evidence::NotRun);
        assert_eq!(rollout.to_line(), line);
        let unpaid = format!("{}}}", &line[..line.find(r#","reward""#).unwrap()]);
        let err = parse(&unpaid).unwrap_err().to_string();
        assert_eq!(err, "field `reward`: missing for a line scored without running it");
    }

    #[test]
    fn an_observation_without_a_program_has_a_reward_and_no_verdict() {
        let line = concat!(
            r#"{"step":0,"prompt_id":"a","text":"7","meta":{},"#,
            r#""validation":{"kind":"guess","solved":true,"facts":{"guesses":2}},"#,
            r#""reward":{"total":0.5,"terms":{"guess":0.5},"weights":{"guess":1.0},"gates":{}},"#,
            r#""advantage":0.0}"#
        );
        let rollout = parse(line).unwrap();
        assert_eq!(rollout.to_line(), line);
        let Some(Score::Scored { outcome, .. }) = rollout.score else { panic!("no outcome") };
        assert!(outcome.is_solved() && outcome.judgement().is_none());
    }

    #[test]
    fn a_reward_without_a_verdict_is_refused() {
        let line = r#"{"step":0,"prompt_id":"a","text":"","reward":{"total":0.0}}"#;
        let err = parse(line).unwrap_err().to_string();
        assert_eq!(err, "field `validation`: missing for a reward or an advantage");
    }

    #[test]
    fn a_step_below_zero_names_its_field() {
        let err = parse(r#"{"step":-1,"prompt_id":"a","text":""}"#).unwrap_err().to_string();
        assert_eq!(err, "field `step`: invalid value: integer `-1`, expected u64");
    }
}
