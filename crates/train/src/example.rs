//! Training examples: sequences, in one order, in micro-batches.
//!
//! The order is the longest first, and among equals the order in which they came. It depends on the
//! step alone and not on the size of micro-batches, which are pieces of it: gradients are summed
//! sequence by sequence, so the sum has the same bits however it is cut. The longest first, because a
//! step that does not fit into memory should fail at once.

use std::ops::Range;

use whetstone_data::rows::Row;
use whetstone_model::decoder::Sequence;

/// A sequence whose tokens from some place on are trained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// All of its tokens, those of the prompt first.
    pub tokens: Vec<u32>,
    /// The first that is trained.
    pub first: usize,
}

impl Example {
    /// A prompt and what was said to it.
    pub fn new(prompt: &[u32], completion: &[u32]) -> Self {
        let tokens = prompt.iter().chain(completion).copied().collect();
        Self { tokens, first: prompt.len() }
    }

    /// Count of trained tokens.
    pub fn trained(&self) -> usize {
        self.tokens.len() - self.first
    }

    /// A mark for each token that is trained, which are all after the prompt.
    pub(crate) fn mask(&self) -> Vec<bool> {
        vec![true; self.trained()]
    }

    /// As the model takes it.
    pub(crate) fn sequence(&self) -> Sequence<'_> {
        Sequence { tokens: &self.tokens, asked: self.first..self.tokens.len() }
    }
}

impl From<&Row> for Example {
    fn from(row: &Row) -> Self {
        Self { tokens: row.tokens().to_vec(), first: row.first_label() }
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
        assert_eq!((example.tokens.as_slice(), example.trained()), (&[7, 8, 9][..], 1));
        assert_eq!(example.sequence().asked, 2..3);
    }
}
