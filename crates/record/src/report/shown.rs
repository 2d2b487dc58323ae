//! A completion as a page shows it, with a limit on all untrusted text.

use serde::Serialize;
use serde_json::{Value, json};
use whetstone_core::extract::Cause;
use whetstone_core::outcome::{Evidence, Observation};
use whetstone_core::reward::Reward;
use whetstone_core::rollout::{RolloutLine, Score};

use super::game::{self, GameFacts, ShownProgram};
use super::limits::{self, MAX_COMPLETION_BYTES, MAX_NAME_BYTES, MAX_TERMS};
use super::survey::reward;
use super::turns::ShownEpisode;

/// Bytes of an observation's facts, as JSON, that are shown.
const MAX_FACTS_BYTES: usize = 4 << 10;

/// One completion.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    text: &'a str,
    /// Bytes of the text that were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_bytes: Option<usize>,
    #[serde(flatten)]
    sampled: SamplingFields,
    /// The program of a reply to a Phaser task.
    #[serde(flatten)]
    program: Option<ShownProgram>,
    /// Text of the facts of a game, which counts against the page's bound.
    #[serde(skip)]
    facts_bytes: u64,
    validation: Option<Value>,
    /// Why it could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    reward: Option<&'a Reward>,
}

/// How it was sampled, and what follows from it. In files of other tools these fields may have any type; then they are not
/// shown.
#[derive(Serialize)]
pub(super) struct SamplingFields {
    #[serde(flatten)]
    episode: ShownEpisode,
    tokens: Option<u64>,
    finish: Option<String>,
    /// Of a verdict that is about the form of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

impl SamplingFields {
    /// Takes it out of a rollout.
    pub(super) fn take(rollout: &mut RolloutLine) -> Self {
        let cause = rollout.cause();
        let episode = ShownEpisode::of(rollout);
        let finish: Option<String> = rollout.meta.take("finish").ok().flatten();
        Self {
            episode,
            tokens: rollout.meta.take("tokens").ok().flatten(),
            finish: finish.map(|name| cut(&name, MAX_NAME_BYTES)),
            cause,
        }
    }
}

impl<'a> Shown<'a> {
    pub(super) fn new(rollout: &'a RolloutLine, sampled: SamplingFields) -> Self {
        let (text, left) = limits::cut(&rollout.text, MAX_COMPLETION_BYTES);
        let (validation, error) = match &rollout.score {
            Some(Score::Scored { outcome, .. }) => (evidence(&outcome.evidence), None),
            Some(Score::Failed(failed)) => (None, Some(limits::cut(&failed.0, 1 << 10).0)),
            None => (None, None),
        };
        let cut_bytes = (left > 0).then_some(left);
        let reward = reward(rollout).filter(|reward| is_small(reward));
        let program = ShownProgram::of(rollout);
        let facts_bytes = facts_bytes(rollout, validation.as_ref());
        Self { text, cut_bytes, sampled, program, facts_bytes, validation, error, reward }
    }

    /// Text that counts against the page's bound.
    pub(super) fn text_bytes(&self) -> u64 {
        let program = self.program.as_ref().map_or(0, ShownProgram::text_bytes);
        self.text.len() as u64 + self.sampled.episode.text_bytes() + program + self.facts_bytes
    }
}

/// A judgement as in the record, with the program's answer. A program chooses the name of its
/// exceptions, and their length; an answer has a limit of its own.
///
/// An observation with more facts than a page can hold is shown without them; its transitions stand with the turns. Those
/// of a game have limits of their own.
fn evidence(evidence: &Evidence) -> Option<Value> {
    let mut found = match evidence {
        Evidence::NotRun => return None,
        Evidence::Program(judgement) => serde_json::to_value(judgement).ok()?,
        Evidence::Observed(seen) if seen.kind == game::KIND => {
            let facts = GameFacts::of(&seen.facts);
            return Some(json!({"kind": seen.kind, "solved": seen.solved, "facts": facts}));
        }
        Evidence::Observed(seen) => {
            let transitions = Vec::new();
            serde_json::to_value(Observation { transitions, ..seen.clone() }).ok()?
        }
    };
    if let Some(facts) = found.get("facts")
        && facts.to_string().len() > MAX_FACTS_BYTES
    {
        found["facts"] = Value::Null;
    }
    if let Some(Value::String(kind)) = found.get_mut("kind") {
        *kind = cut(kind, MAX_NAME_BYTES);
    }
    Some(found)
}

/// Bytes of the facts of a game; those of other environments are few.
fn facts_bytes(rollout: &RolloutLine, validation: Option<&Value>) -> u64 {
    let facts = validation.filter(|_| game::observation(rollout).is_some());
    facts.map_or(0, |found| found["facts"].to_string().len() as u64)
}

fn cut(text: &str, limit_bytes: usize) -> String {
    limits::cut(text, limit_bytes).0.to_owned()
}

/// A reward has a few terms with short names; one with thousands would fill the page.
fn is_small(reward: &Reward) -> bool {
    let mut names = reward.terms().keys().chain(reward.gates().keys());
    let few = reward.terms().len() <= MAX_TERMS && reward.gates().len() <= MAX_TERMS;
    few && names.all(|name| name.len() <= MAX_NAME_BYTES)
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::super::limits::{MAX_EPISODE_BYTES, MAX_TURNS};
    use super::*;

    fn shown(line: &Value) -> Value {
        let object = serde_json::from_str(&line.to_string()).unwrap();
        let mut rollout = RolloutLine::from_object(object).unwrap();
        let sampled = SamplingFields::take(&mut rollout);
        serde_json::to_value(Shown::new(&rollout, sampled)).unwrap()
    }

    #[test]
    fn every_text_of_a_rollout_has_a_bound() {
        let long = "y".repeat(1 << 20);
        let line = serde_json::json!({
            "step": 1, "prompt_id": "x", "text": long,
            "meta": {"finish": long, "tokens": "many", "turns": vec![serde_json::json!({"text": long}); 99]},
            "validation": {"verdict": "raised", "test": 0, "kind": long, "tests_passed": 0,
                "tests_total": 1, "cpu_ms": 1.0, "isolation": "full"},
            "reward": {"total": 0.0, "terms": {(long.as_str()): 0.0}},
        });
        let shown = shown(&line);
        assert_eq!(shown["validation"]["kind"].as_str().unwrap().len(), MAX_NAME_BYTES);
        assert_eq!((&shown["reward"], &shown["tokens"]), (&Value::Null, &Value::Null));
        assert_eq!(shown["turns"].as_array().unwrap().len(), MAX_TURNS);
        assert!(shown.to_string().len() < 2 * MAX_COMPLETION_BYTES + MAX_EPISODE_BYTES);
    }

    #[test]
    fn the_cause_of_a_verdict_about_form_is_shown() {
        let line = |verdict: &str, details: &Value| {
            let mut validation = serde_json::json!({
                "verdict": verdict, "tests_passed": 0, "tests_total": 1, "cpu_ms": 0.0, "isolation": null,
            });
            for (name, value) in details.as_object().unwrap() {
                validation[name] = value.clone();
            }
            serde_json::json!({
                "step": 1, "prompt_id": "x", "text": "I think", "meta": {"finish": "length"},
                "validation": validation, "reward": {"total": 0.0, "terms": {}},
            })
        };
        let loading = serde_json::json!({"kind": "AssertionError", "isolation": "full"});
        assert_eq!(shown(&line("no_code", &json!({})))["cause"], "cut_off");
        assert_eq!(shown(&line("load_error", &loading))["cause"], "own_test_failed");
        let wrong = serde_json::json!({"test": 0, "isolation": "full"});
        assert_eq!(shown(&line("wrong", &wrong)).get("cause"), None);
    }

    #[test]
    fn what_a_program_answered_is_shown_and_has_a_bound() {
        let line = |got: &str| {
            serde_json::json!({
                "step": 1, "prompt_id": "x", "text": "t",
                "validation": {"verdict": "wrong", "test": 0, "got": got, "tests_passed": 0,
                    "tests_total": 1, "cpu_ms": 1.0, "isolation": "full"},
                "reward": {"total": 0.0, "terms": {}},
            })
        };
        assert_eq!(shown(&line("[2, 1]"))["validation"]["got"], "[2, 1]");
        let long = shown(&line(&"y".repeat(1 << 20)));
        assert!(long["validation"]["got"].as_str().unwrap().len() < 1 << 10);
    }
}
