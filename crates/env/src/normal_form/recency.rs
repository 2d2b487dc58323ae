//! Names as how recently they were used: what stays the same when they are spelled otherwise.
//!
//! A name's token is the number of other names that were used since its last use, as in a move-to-front
//! code. Unlike a number by first occurrence, it changes only nearby when a line with a new name is put in.

use std::collections::HashSet;
use std::hash::Hash;

use super::grams::{Token, token};

/// Names that are told apart by their recency; older ones are all alike, which bounds the search.
const REMEMBERED: usize = 64;

/// Kinds of tokens of names.
const NEW: u8 = b'n';
const RECENT: u8 = b'r';
const OLD: u8 = b'o';

/// The names of a program, the most recently used first.
#[derive(Debug)]
pub(super) struct Recency<N> {
    recent: Vec<N>,
    seen: HashSet<N>,
}

impl<N: Copy + Eq + Hash> Recency<N> {
    pub(super) fn new() -> Self {
        Self { recent: Vec::new(), seen: HashSet::new() }
    }

    /// The token of a use of `name`.
    pub(super) fn use_of(&mut self, name: N) -> Token {
        let token = match self.recent.iter().position(|other| *other == name) {
            Some(at) => {
                self.recent.remove(at);
                token(RECENT, &at.to_string())
            }
            None if self.seen.insert(name) => token(NEW, ""),
            None => token(OLD, ""),
        };
        self.recent.insert(0, name);
        self.recent.truncate(REMEMBERED);
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(names: &str) -> Vec<Token> {
        let mut recency = Recency::new();
        names.chars().map(|name| recency.use_of(name)).collect()
    }

    #[test]
    fn spelling_is_not_in_a_token_and_order_is() {
        assert_eq!(tokens("abab"), tokens("xyxy"));
        assert_ne!(tokens("abab"), tokens("abba"));
        assert_eq!(tokens("abcab")[3..], [token(RECENT, "2"), token(RECENT, "2")]);
    }

    #[test]
    fn what_was_forgotten_is_old_and_not_new() {
        let mut recency = Recency::new();
        let first: Vec<Token> = (0..100).map(|name| recency.use_of(name)).collect();
        assert!(first.iter().all(|found| *found == token(NEW, "")));
        assert_eq!(recency.use_of(0), token(OLD, ""));
        assert_eq!(recency.use_of(99), token(RECENT, "1"));
    }
}
