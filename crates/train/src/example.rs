//! Training examples: sequences, in one order, in micro-batches.
//!
//! The order is the longest first, and among equals the order in which they came. It depends on the
//! step alone and not on the size of micro-batches, which are pieces of it: gradients are summed
//! sequence by sequence, so the sum has the same bits however it is cut. The longest first, because a
//! step that does not fit into memory should fail at once.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use whetstone_data::rows::Row;
use whetstone_model::decoder::Sequence;

/// A sequence of which some tokens are trained: what the model said, and nothing that it was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SavedExample")]
pub struct Example {
    /// All of its tokens, those of the prompt first.
    pub tokens: Vec<u32>,
    /// The first that is trained.
    pub first: usize,
    /// Tokens behind it that are not: answers of the environment between the turns of an episode.
    pub untrained: Vec<Range<usize>>,
}

impl Example {
    /// A prompt and what was said to it.
    pub fn new(prompt: &[u32], completion: &[u32]) -> Self {
        let tokens = prompt.iter().chain(completion).copied().collect();
        Self { tokens, first: prompt.len(), untrained: Vec::new() }
    }

    /// Appends the next turn of an episode, if `prompt` begins with this sequence: what the environment
    /// answered is not trained, and the completion is. Otherwise nothing changes, and it says so.
    pub(crate) fn append_turn(&mut self, prompt: &[u32], completion: &[u32]) -> bool {
        let Some(answer) = prompt.strip_prefix(self.tokens.as_slice()) else { return false };
        let begin = self.tokens.len();
        self.tokens.extend_from_slice(answer);
        if !answer.is_empty() {
            self.untrained.push(begin..self.tokens.len());
        }
        self.tokens.extend_from_slice(completion);
        true
    }

    /// Count of tokens from the first trained one on. The model scores all of them; [`Self::mask`] says which
    /// are trained.
    pub(crate) fn scored(&self) -> usize {
        self.tokens.len() - self.first
    }

    /// Count of tokens that are trained.
    pub(crate) fn trained_tokens(&self) -> usize {
        self.scored() - self.untrained.iter().map(Range::len).sum::<usize>()
    }

    /// A mark for each token from the first trained one on: whether it is trained.
    pub(crate) fn mask(&self) -> Vec<bool> {
        let mut mask = vec![true; self.scored()];
        for range in &self.untrained {
            mask[range.start - self.first..range.end - self.first].fill(false);
        }
        mask
    }

    /// Of values for each token from the first trained one on, those of the trained tokens.
    pub(crate) fn of_trained(&self, values: &[f64]) -> Vec<f64> {
        let trained = values.iter().zip(self.mask()).filter(|(_, trained)| *trained);
        trained.map(|(&value, _)| value).collect()
    }

    /// As the model takes it.
    pub(crate) fn sequence(&self) -> Sequence<'_> {
        Sequence { tokens: &self.tokens, asked: self.first..self.tokens.len() }
    }
}

/// An example as a checkpoint has it, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedExample {
    tokens: Vec<u32>,
    first: usize,
    untrained: Vec<Range<usize>>,
}

impl TryFrom<SavedExample> for Example {
    type Error = String;

    fn try_from(saved: SavedExample) -> Result<Self, String> {
        let SavedExample { tokens, first, untrained } = saved;
        let all = tokens.len();
        let mut end = first;
        for range in &untrained {
            if range.start < end || range.end < range.start {
                return Err(format!("a row of {all} tokens has a wrong range {range:?}"));
            }
            end = range.end;
        }
        if first == 0 || first >= all || end > all {
            return Err(format!("a row of {all} tokens has tokens {first} to {end}"));
        }
        Ok(Self { tokens, first, untrained })
    }
}

impl From<&Row> for Example {
    fn from(row: &Row) -> Self {
        let (tokens, first) = (row.tokens().to_vec(), row.first_label());
        Self { tokens, first, untrained: Vec::new() }
    }
}

/// The places of examples in the order in which they are learnt from.
pub(crate) fn order<'a>(examples: impl IntoIterator<Item = &'a Example>) -> Vec<usize> {
    let lengths: Vec<usize> = examples.into_iter().map(|example| example.tokens.len()).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(lengths[at]));
    order
}

/// The pieces of `count` sequences, so many in each.
pub(crate) fn pieces(count: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(size.max(1)).map(move |begin| begin..count.min(begin + size.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(length: usize) -> Example {
        Example::new(&[1], &vec![2; length - 1])
    }

    #[test]
    fn the_longest_come_first_and_equals_stay_in_their_order() {
        let examples = [3, 5, 3, 5, 4].map(example);
        assert_eq!(order(&examples), [1, 3, 4, 0, 2]);
    }

    #[test]
    fn pieces_cover_everything_once() {
        let cut = |count, size| pieces(count, size).collect::<Vec<_>>();
        assert_eq!(cut(5, 2), [0..2, 2..4, 4..5]);
        assert_eq!(cut(4, 8).first(), Some(&(0..4)));
        assert_eq!(cut(4, 8).len(), 1);
        assert!(cut(0, 2).is_empty());
    }

    #[test]
    fn what_is_trained_begins_after_the_prompt() {
        let example = Example::new(&[7, 8], &[9]);
        assert_eq!((example.tokens.as_slice(), example.scored()), (&[7, 8, 9][..], 1));
        assert_eq!(example.sequence().asked, 2..3);
        assert_eq!(example.mask(), [true]);
    }

    #[test]
    fn of_an_episode_only_what_the_model_said_is_trained() {
        let mut episode = Example::new(&[1, 2], &[7, 8]);
        assert!(episode.append_turn(&[1, 2, 7, 8, 3, 4], &[9]));
        assert!(episode.append_turn(&[1, 2, 7, 8, 3, 4, 9], &[10, 11]), "an answer of no tokens");
        assert_eq!(episode.tokens, [1, 2, 7, 8, 3, 4, 9, 10, 11]);
        assert_eq!(episode.mask(), [true, true, false, false, true, true, true]);
        assert_eq!((episode.scored(), episode.trained_tokens()), (7, 5));
        let values: Vec<f64> = (0..7).map(f64::from).collect();
        assert_eq!(episode.of_trained(&values), [0.0, 1.0, 4.0, 5.0, 6.0]);
        let before = episode.clone();
        assert!(!episode.append_turn(&[1, 2, 7, 0], &[9]), "another conversation");
        assert_eq!(episode, before);
    }
}
