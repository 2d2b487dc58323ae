//! The outcome of an episode: what the environment saw, and what that is worth.
//!
//! Evidence is the environment's own. A program's judgement is one kind of it; an environment that runs no
//! programs states whether the task was solved and what it observed, and needs no verdict for that.

use serde::{Deserialize, Serialize};

use crate::judgement::Judgement;
use crate::reward::Reward;
use crate::wire::Object;

/// The result of an episode and its reward.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The environment's evidence, which includes whether the task was solved.
    pub evidence: Evidence,
    /// The reward with its terms and gates.
    pub reward: Reward,
}

/// The environment's evidence about an episode, by kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    /// The judgement of a program.
    Program(Judgement),
    /// Nothing was run: the reward is made of static terms alone.
    NotRun,
    /// The observation of an environment that runs no programs.
    Observed(Observation),
}

/// An observation, as it stands in a scored line under `validation`:
///
/// ```json
/// {"kind":"guess","solved":true,"facts":{"guesses":2}}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The kind of environment.
    pub kind: String,
    /// Whether the task was solved.
    pub solved: bool,
    /// Whatever the environment wants to be read by people. The mean of a fact that is a number is a metric of
    /// a training step; nothing else is computed from it.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub facts: Object,
    /// One for each reply, in order, where the environment records them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Transition>,
}

/// What one reply of an episode did: the input of a process reward model, and what a page shows of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The state before the reply, in a few lines.
    pub state: String,
    /// The action as the environment understood it, or why there is none.
    pub action: String,
    /// The state after it.
    pub next_state: String,
    /// Whether the action was understood and allowed.
    pub valid: bool,
    /// Whether it brought the episode forward, by a rule of the environment: the label of the turn.
    pub progress: bool,
}

impl Outcome {
    /// The outcome of a program that was judged.
    pub fn of_program(judgement: Judgement, reward: Reward) -> Self {
        Self { evidence: Evidence::Program(judgement), reward }
    }

    /// The outcome of a reply that nothing was run for.
    pub fn not_run(reward: Reward) -> Self {
        Self { evidence: Evidence::NotRun, reward }
    }

    /// The outcome in an environment of this kind that runs no programs.
    pub fn observed(kind: &str, solved: bool, reward: Reward) -> Self {
        let (kind, facts) = (kind.to_owned(), Object::new());
        let observation = Observation { kind, solved, facts, transitions: Vec::new() };
        Self { evidence: Evidence::Observed(observation), reward }
    }

    /// Adds a fact for people to an observation; other evidence has its own.
    #[must_use]
    pub fn with_fact(mut self, name: &str, value: &impl Serialize) -> Self {
        if let Evidence::Observed(observation) = &mut self.evidence {
            observation.facts.put(name, value);
        }
        self
    }

    /// Adds the transitions of an episode to an observation; other evidence has none.
    #[must_use]
    pub fn with_transitions(mut self, transitions: Vec<Transition>) -> Self {
        if let Evidence::Observed(observation) = &mut self.evidence {
            observation.transitions = transitions;
        }
        self
    }

    /// The transitions of its episode: one a reply, or none.
    pub fn transitions(&self) -> &[Transition] {
        match &self.evidence {
            Evidence::Observed(observation) => &observation.transitions,
            Evidence::Program(_) | Evidence::NotRun => &[],
        }
    }

    /// Whether the task was solved. What was not run solved nothing.
    pub fn is_solved(&self) -> bool {
        self.evidence.solved() == Some(true)
    }

    /// The judgement, if the evidence is a program's.
    pub fn judgement(&self) -> Option<&Judgement> {
        self.evidence.judgement()
    }

    /// Whether the model got anywhere: a test passed, or a reward was earned. Where nothing was run there
    /// was no test to pass, and nothing speaks against it.
    pub fn got_anywhere(&self) -> bool {
        match &self.evidence {
            Evidence::Program(judgement) => judgement.counts().passed > 0,
            Evidence::NotRun => true,
            Evidence::Observed(observation) => observation.solved || self.reward.total() > 0.0,
        }
    }
}

impl Evidence {
    /// Whether the task was solved; none where nothing could be found out, because nothing was run or there
    /// are no tests.
    pub fn solved(&self) -> Option<bool> {
        match self {
            Self::Program(judgement) => {
                (judgement.counts().total > 0).then(|| judgement.verdict().is_pass())
            }
            Self::NotRun => None,
            Self::Observed(observation) => Some(observation.solved),
        }
    }

    /// The judgement of a program.
    pub fn judgement(&self) -> Option<&Judgement> {
        match self {
            Self::Program(judgement) => Some(judgement),
            Self::NotRun | Self::Observed(_) => None,
        }
    }

    /// The name in tables: a verdict's, or `not_run`, `solved` or `unsolved`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Program(judgement) => judgement.verdict().name(),
            Self::NotRun => "not_run",
            Self::Observed(Observation { solved: true, .. }) => "solved",
            Self::Observed(_) => "unsolved",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::judgement::{Counts, Held, Isolation};
    use crate::reward::Term;
    use crate::verdict::Verdict;

    fn reward(value: f64) -> Reward {
        let terms = BTreeMap::from([("tests".to_owned(), Term { value, weight: 1.0 })]);
        Reward::new(terms, BTreeMap::new()).unwrap()
    }

    fn judged(verdict: Verdict, passed: u32) -> Outcome {
        let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
        let judgement = Judgement::of_run(verdict, Counts { passed, total: 2 }, held).unwrap();
        Outcome::of_program(judgement, reward(0.0))
    }

    #[test]
    fn each_kind_of_evidence_says_whether_the_task_was_solved() {
        let cases = [
            (judged(Verdict::Pass, 2), Some(true), true, "pass"),
            (judged(Verdict::Wrong { test: 1 }, 1), Some(false), true, "wrong"),
            (judged(Verdict::Wrong { test: 0 }, 0), Some(false), false, "wrong"),
            (Outcome::not_run(reward(0.0)), None, true, "not_run"),
            (Outcome::observed("guess", true, reward(1.0)), Some(true), true, "solved"),
            (Outcome::observed("guess", false, reward(0.5)), Some(false), true, "unsolved"),
            (Outcome::observed("guess", false, reward(0.0)), Some(false), false, "unsolved"),
        ];
        for (outcome, solved, anywhere, name) in cases {
            assert_eq!(outcome.evidence.solved(), solved, "{outcome:?}");
            assert_eq!(outcome.is_solved(), solved == Some(true), "{outcome:?}");
            assert_eq!(outcome.got_anywhere(), anywhere, "{outcome:?}");
            assert_eq!(outcome.evidence.name(), name);
        }
        let no_code = Judgement::of_reply(Verdict::NoCode, 0).unwrap();
        assert_eq!(Evidence::Program(no_code).solved(), None, "there are no tests");
    }

    #[test]
    fn transitions_are_kept_with_an_observation_and_are_not_written_where_there_are_none() {
        let (state, next_state) = ("IIS: 3".to_owned(), "IIS: 2".to_owned());
        let action = "DROP_CONSTRAINT(c1)".to_owned();
        let turn = Transition { state, action, next_state, valid: true, progress: true };
        let outcome = Outcome::observed("solver", false, reward(0.0));
        let outcome = outcome.with_transitions(vec![turn.clone()]);
        assert_eq!(outcome.transitions(), [turn]);
        let Evidence::Observed(observation) = &outcome.evidence else { panic!("{outcome:?}") };
        let line = serde_json::to_string(observation).unwrap();
        let expected = r#"{"kind":"solver","solved":false,"transitions":[{"state":"IIS: 3","action":"DROP_CONSTRAINT(c1)","next_state":"IIS: 2","valid":true,"progress":true}]}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<Observation>(&line).unwrap(), *observation);
        assert!(
            Outcome::not_run(reward(0.0)).with_transitions(Vec::new()).transitions().is_empty()
        );
    }

    #[test]
    fn a_fact_is_kept_with_an_observation_and_with_nothing_else() {
        let outcome = Outcome::observed("guess", true, reward(1.0)).with_fact("guesses", &2);
        let Evidence::Observed(observation) = &outcome.evidence else { panic!("{outcome:?}") };
        let line = serde_json::to_string(observation).unwrap();
        assert_eq!(line, r#"{"kind":"guess","solved":true,"facts":{"guesses":2}}"#);
        assert_eq!(serde_json::from_str::<Observation>(&line).unwrap(), *observation);
        let not_run = Outcome::not_run(reward(0.0));
        assert_eq!(not_run.clone().with_fact("guesses", &2), not_run);
    }
}
