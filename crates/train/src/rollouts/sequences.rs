//! Turns of rollouts as sequences to learn from.

use std::ops::Range;

use whetstone_core::completion::{Finish, SampledTokens};
use whetstone_rollout::collect::Turn;

use crate::example::Example;

/// An episode, or turns of one, as a sequence to train on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SampledSequence {
    pub(crate) example: Example,
    /// The log-probabilities that it was sampled with; 0 for tokens that the model did not say.
    pub(crate) sampled: Vec<f64>,
    /// Where the tokens of each turn are.
    pub(crate) turns: Vec<TurnTokens>,
    /// Why its last turn ended.
    pub(crate) finish: Finish,
}

/// The tokens of a turn, counted from the first trained one of their sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnTokens {
    /// The turn's index in its rollout.
    pub(crate) turn: usize,
    pub(crate) tokens: Range<usize>,
}

/// A rollout of a step by the index of its group, and of itself there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RolloutIndex {
    pub(crate) group: usize,
    pub(crate) rollout: usize,
}

/// Turns of a rollout by their index, in which turns that follow each other are joined. Turns in which nothing was sampled
/// are none.
pub(crate) fn sampled_sequences<'t>(
    turns: impl IntoIterator<Item = (usize, &'t Turn)>,
) -> Vec<SampledSequence> {
    let mut sequences: Vec<SampledSequence> = Vec::new();
    for (index, turn) in turns {
        let Some(tokens) = said(turn) else { continue };
        let finish = turn.completion.finish;
        if let Some(last) = sequences.last_mut()
            && last.example.append_turn(&turn.prompt, tokens.ids())
        {
            let answer = last.example.scored() - last.sampled.len() - tokens.ids().len();
            last.sampled.extend(std::iter::repeat_n(0.0, answer));
            last.finish = finish;
        } else {
            let example = Example::new(&turn.prompt, tokens.ids());
            sequences.push(SampledSequence {
                example,
                sampled: Vec::new(),
                turns: Vec::new(),
                finish,
            });
        }
        if let Some(last) = sequences.last_mut() {
            let begin = last.sampled.len();
            last.sampled.extend(tokens.logps().iter().copied().map(f64::from));
            last.turns.push(TurnTokens { turn: index, tokens: begin..last.sampled.len() });
        }
    }
    sequences
}

/// The tokens of a turn; none if nothing was sampled.
fn said(turn: &Turn) -> Option<&SampledTokens> {
    turn.completion.tokens.as_ref().filter(|tokens| !tokens.ids().is_empty())
}
