//! The layer of the cache in memory: bounded, in two generations like the file.

use std::collections::HashMap;
use std::mem;

use whetstone_core::judgement::Judgement;

use super::key::Key;

/// The newest verdicts, at most so many.
#[derive(Debug)]
pub(super) struct Memory {
    /// Entries of one generation.
    half: usize,
    young: HashMap<Key, Judgement>,
    old: HashMap<Key, Judgement>,
}

impl Memory {
    /// Room for `entries` verdicts.
    pub(super) fn new(entries: usize) -> Self {
        Self { half: entries / 2, young: HashMap::new(), old: HashMap::new() }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Judgement> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(super) fn put(&mut self, key: Key, judgement: Judgement) {
        if self.half == 0 {
            return;
        }
        if self.young.len() >= self.half {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, judgement);
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::verdict::Verdict;

    use super::*;

    #[test]
    fn it_holds_the_newest_and_never_more_than_allowed() {
        let mut memory = Memory::new(8);
        let key = |n: u8| Key([n; 32]);
        let judgement = Judgement::of_reply(Verdict::NoCode, 1).unwrap();
        for n in 0..100 {
            memory.put(key(n), judgement.clone());
            assert!(memory.young.len() + memory.old.len() <= 8);
            let newest = (0..=n).rev().take(4);
            assert!(newest.into_iter().all(|n| memory.get(&key(n)).is_some()), "{n}");
        }
        assert!(memory.get(&key(0)).is_none());
    }
}
