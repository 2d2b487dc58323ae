//! BPE training: which adjacent bytes are merged into one token.
//!
//! The most frequent pair of adjacent tokens becomes a token, repeatedly (Sennrich et al., 2016).
//! Ties are broken by the bytes of the pair: nothing depends on the order of texts, on threads or
//! on hashes. The crate `tokenizers` has a trainer as well, which breaks ties by hash.
//!
//! No two pairs spell the same token: what becomes of a stretch of bytes that nothing was merged with
//! from outside depends on these bytes alone, so it always ends in the same pair.
//!
//! All pairs are looked at for each merge, which is right for the thousands of tokens of a small
//! model and slow for a hundred thousand.

use std::collections::{BTreeMap, BTreeSet};

/// Two adjacent tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TokenPair {
    pub(super) left: u32,
    pub(super) right: u32,
}

/// A pair that occurs only once is not worth a token.
const LEAST: u64 = 2;

/// Tokens by their bytes, and the merges that make them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LearntMerges {
    /// The bytes of each token; token `n` below 256 is the byte `n`.
    pub(super) tokens: Vec<Vec<u8>>,
    /// The merges, the first learnt first.
    pub(super) merges: Vec<TokenPair>,
}

impl LearntMerges {
    /// All bytes, and no merge.
    pub(super) fn bytes() -> Self {
        Self { tokens: (0..=u8::MAX).map(|byte| vec![byte]).collect(), merges: Vec::new() }
    }

    /// Trains on words with their counts, until there are `size` tokens.
    pub(super) fn from_words(words: &BTreeMap<String, u64>, size: usize) -> Self {
        let mut learning = Learning::new(words);
        while learning.learnt.tokens.len() < size && learning.merge_one() {}
        learning.learnt
    }

    /// Makes a pair a token.
    fn add(&mut self, pair: TokenPair) -> u32 {
        let (left, right) = self.spelt(pair);
        let bytes = [left, right].concat();
        self.tokens.push(bytes);
        self.merges.push(pair);
        u32::try_from(self.tokens.len() - 1).expect("fewer tokens than a u32 can number")
    }

    /// The bytes of both tokens of a pair.
    fn spelt(&self, pair: TokenPair) -> (&[u8], &[u8]) {
        (&self.tokens[pair.left as usize], &self.tokens[pair.right as usize])
    }
}

/// Words as they are cut so far.
struct Learning {
    words: Vec<Word>,
    pairs: BTreeMap<TokenPair, PairUses>,
    learnt: LearntMerges,
}

struct Word {
    tokens: Vec<u32>,
    count: u64,
}

/// The count of a pair, and the words that contain it.
#[derive(Default)]
struct PairUses {
    count: u64,
    words: BTreeSet<usize>,
}

impl Learning {
    fn new(words: &BTreeMap<String, u64>) -> Self {
        let word = |(text, &count): (&String, &u64)| Word {
            tokens: text.bytes().map(u32::from).collect(),
            count,
        };
        let words = words.iter().map(word).collect();
        let mut learning = Self { words, pairs: BTreeMap::new(), learnt: LearntMerges::bytes() };
        for at in 0..learning.words.len() {
            learning.count(at);
        }
        learning
    }

    /// Makes the best pair a token; false if no pair is worth one.
    fn merge_one(&mut self) -> bool {
        let Some(pair) = self.best() else { return false };
        let token = self.learnt.add(pair);
        let uses = self.pairs.get(&pair).map(|uses| uses.words.clone());
        for at in uses.unwrap_or_default() {
            self.uncount(at);
            self.words[at].tokens = merged(&self.words[at].tokens, pair, token);
            self.count(at);
        }
        true
    }

    fn best(&self) -> Option<TokenPair> {
        let spelt = |pair: &TokenPair| self.learnt.spelt(*pair);
        let best = self.pairs.iter().max_by(|(one, uses), (two, others)| {
            uses.count.cmp(&others.count).then_with(|| spelt(two).cmp(&spelt(one)))
        });
        best.filter(|(_, uses)| uses.count >= LEAST).map(|(pair, _)| *pair)
    }

    fn count(&mut self, at: usize) {
        let Word { tokens, count } = &self.words[at];
        for pair in tokens.windows(2) {
            let uses = self.pairs.entry(TokenPair { left: pair[0], right: pair[1] }).or_default();
            uses.count += count;
            uses.words.insert(at);
        }
    }

    fn uncount(&mut self, at: usize) {
        let Word { tokens, count } = &self.words[at];
        for pair in tokens.windows(2) {
            let pair = TokenPair { left: pair[0], right: pair[1] };
            let Some(uses) = self.pairs.get_mut(&pair) else { continue };
            uses.count -= count;
            uses.words.remove(&at);
            if uses.count == 0 {
                self.pairs.remove(&pair);
            }
        }
    }
}

/// The tokens with each occurrence of the pair, from the left, as one.
fn merged(tokens: &[u32], pair: TokenPair, token: u32) -> Vec<u32> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let [first, tail @ ..] = rest {
        let found = *first == pair.left && tail.first() == Some(&pair.right);
        out.push(if found { token } else { *first });
        rest = if found { &tail[1..] } else { tail };
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;

    fn learn(words: &[(&str, u64)], size: usize) -> LearntMerges {
        let words = words.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect();
        LearntMerges::from_words(&words, size)
    }

    /// The merges as texts, in their order.
    fn merges(learnt: &LearntMerges) -> Vec<(String, String)> {
        let text = |id: u32| String::from_utf8(learnt.tokens[id as usize].clone()).unwrap();
        learnt.merges.iter().map(|pair| (text(pair.left), text(pair.right))).collect()
    }

    #[track_caller]
    fn check(words: &[(&str, u64)], size: usize, expected: &[(&str, &str)]) {
        let found = merges(&learn(words, size));
        let found: Vec<(&str, &str)> =
            found.iter().map(|(left, right)| (left.as_str(), right.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_most_frequent_pair_is_merged_first() {
        // The words of the paper. es and st occur 9 times, lo 7; es comes first by its bytes.
        let words = [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)];
        let expected = [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w"), ("e", "w")];
        check(&words, 256 + 5, &expected);
    }

    #[test]
    fn of_equally_frequent_pairs_the_first_by_its_bytes_is_merged() {
        check(&[("zy", 3), ("ab", 3), ("aa", 3)], 258, &[("a", "a"), ("a", "b")]);
        // Ordered by their bytes, not by their ids: `b` is 98 and `aa` is 256.
        let words = [("aa", 9), ("aax", 3), ("bx", 3)];
        check(&words, 258, &[("a", "a"), ("aa", "x")]);
    }

    #[test]
    fn a_pair_that_stands_once_is_no_token() {
        check(&[("ab", 1), ("cd", 2)], 1000, &[("c", "d")]);
        assert_eq!(learn(&[], 1000), LearntMerges::bytes());
    }

    #[test]
    fn runs_are_merged_from_the_left() {
        assert_eq!(merged(&[1, 1, 1, 2, 1, 1], TokenPair { left: 1, right: 1 }, 9), [9, 1, 2, 9]);
        check(&[("    ", 4)], 1000, &[(" ", " "), ("  ", "  ")]);
    }

    proptest! {
        #[test]
        fn tokens_are_distinct_and_spelt_by_their_merges(
            words in btree_map("[ab]{1,12}|[abc]{1,6}", 1u64..9, 1..12),
        ) {
            let learnt = LearntMerges::from_words(&words, 300);
            let mut sorted = learnt.tokens.clone();
            sorted.sort();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), learnt.tokens.len());
            for (token, &pair) in learnt.tokens[256..].iter().zip(&learnt.merges) {
                let (left, right) = learnt.spelt(pair);
                prop_assert_eq!(token, &[left, right].concat());
            }
        }
    }
}
