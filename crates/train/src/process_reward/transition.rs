//! Transitions of episodes as tokens with a label.
//!
//! One function renders the text, in training and in scoring alike:
//!
//! ```text
//! State:
//! Status: INFEASIBLE
//! IIS: 3 [c1, c4, c7]
//! Action: DROP_CONSTRAINT(c4)
//! Next state:
//! Status: OPTIMAL
//! ```
//!
//! followed by the token that ends a message, behind which the score is read. States are the environment's
//! own lines: what it wants a change to be seen by (the size of an IIS, counts of rows, the status) stands in
//! them. A text of more than the limit loses tokens in its middle, so that none is left out.

use std::collections::BTreeMap;

use whetstone_core::outcome::Transition;
use whetstone_data::rows::Tokens;
use whetstone_model::Pretrained;

use super::episodes::LabelledEpisode;
use crate::error::TrainError;
use crate::rows::Ending;

/// A transition as tokens, with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenTransition {
    /// The text, and the token that ends it.
    pub tokens: Vec<u32>,
    /// Whether it brought its episode forward.
    pub label: bool,
    /// The number of its task.
    pub task: usize,
}

/// Transitions as tokens, and how many of them were too long.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenTransitions {
    /// All of them, in the order of their episodes.
    pub transitions: Vec<TokenTransition>,
    /// Transitions that lost tokens in their middle.
    pub cut: usize,
    /// Tokens of the longest, before it was cut.
    pub longest: usize,
}

/// A transition as a process reward model reads it.
pub fn render(transition: &Transition) -> String {
    let Transition { state, action, next_state, .. } = transition;
    format!("State:\n{state}\nAction: {action}\nNext state:\n{next_state}\n")
}

/// Makes tokens of transitions, with a limit on their number.
#[derive(Clone, Copy)]
pub(crate) struct Tokenizing<'a> {
    tokens: Ending<'a>,
    limit: usize,
}

impl<'a> Tokenizing<'a> {
    /// With the tokenizer of a model.
    ///
    /// # Errors
    ///
    /// If the model has no token that ends a message.
    pub(crate) fn new(model: &'a Pretrained, limit: usize) -> Result<Self, TrainError> {
        let tokens = Ending::of(model).ok_or_else(|| {
            TrainError::Settings("the model has no token that ends a message".to_owned())
        })?;
        Ok(Self { tokens, limit })
    }

    /// The tokens of a transition, and how many there were before it was cut.
    pub(crate) fn tokens(self, transition: &Transition) -> (Vec<u32>, usize) {
        let mut tokens = self.tokens.encode(&render(transition));
        tokens.push(self.tokens.end());
        let count = tokens.len();
        if count > self.limit {
            let head = self.limit / 2;
            tokens.drain(head..head + count - self.limit);
        }
        (tokens, count)
    }
}

/// Makes tokens of the transitions of episodes.
///
/// # Errors
///
/// If the model has no token that ends a message.
pub fn token_transitions(
    model: &Pretrained,
    episodes: &[LabelledEpisode],
    limit: usize,
) -> Result<TokenTransitions, TrainError> {
    let tokenizing = Tokenizing::new(model, limit)?;
    let mut tasks: BTreeMap<&str, usize> = BTreeMap::new();
    let mut made = TokenTransitions::default();
    for episode in episodes {
        let next = tasks.len();
        let task = *tasks.entry(episode.task.as_str()).or_insert(next);
        for transition in &episode.transitions {
            let (tokens, count) = tokenizing.tokens(transition);
            made.cut += usize::from(count > limit);
            made.longest = made.longest.max(count);
            made.transitions.push(TokenTransition { tokens, label: transition.progress, task });
        }
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{episode, transition};
    use super::*;
    use crate::testing::{settings, student};

    #[test]
    fn a_transition_is_rendered_with_both_states_and_the_action() {
        let text = render(&transition("Rows: 3", "Rows: 2", true));
        assert_eq!(text, "State:\nRows: 3\nAction: act\nNext state:\nRows: 2\n");
    }

    #[test]
    fn tokens_end_and_those_of_one_task_have_its_number() {
        let (_dir, student) = student(&settings());
        let turns = [transition("a", "b", true), transition("b", "c", false)];
        let episodes =
            [episode("x", &turns, true), episode("y", &turns, false), episode("x", &turns, true)];
        let made = token_transitions(&student.model, &episodes, 500).unwrap();
        let found: Vec<(usize, bool)> =
            made.transitions.iter().map(|one| (one.task, one.label)).collect();
        assert_eq!(found, [(0, true), (0, false), (1, true), (1, false), (0, true), (0, false)]);
        let end = student.model.tokenizer.eos().unwrap();
        assert!(made.transitions.iter().all(|one| one.tokens.last() == Some(&end)));
        assert_eq!(made.cut, 0);
        let text = student.model.tokenizer.encode(&render(&turns[0])).unwrap();
        assert_eq!(made.transitions[0].tokens[..text.len()], text);
    }

    #[test]
    fn what_is_too_long_loses_its_middle_and_is_counted() {
        let (_dir, student) = student(&settings());
        let episodes = [episode("x", &[transition("a", "b", true)], true)];
        let whole = token_transitions(&student.model, &episodes, 500).unwrap();
        let (tokens, limit) = (&whole.transitions[0].tokens, 10);
        let cut = token_transitions(&student.model, &episodes, limit).unwrap();
        assert_eq!((cut.cut, cut.longest), (1, tokens.len()));
        let expected = [&tokens[..5], &tokens[tokens.len() - 5..]].concat();
        assert_eq!(cut.transitions[0].tokens, expected);
    }
}
