//! The layer of the cache in memory: bounded, in two generations like the file.

use std::collections::HashMap;
use std::mem;

use super::key::Key;

/// The newest verdicts or results, at most so many.
#[derive(Debug)]
pub(super) struct Memory<V> {
    /// Entries of one generation.
    half: usize,
    young: HashMap<Key, V>,
    old: HashMap<Key, V>,
}

impl<V> Memory<V> {
    /// Room for `entries` values.
    pub(super) fn new(entries: usize) -> Self {
        Self { half: entries / 2, young: HashMap::new(), old: HashMap::new() }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(super) fn put(&mut self, key: Key, value: V) {
        if self.half == 0 {
            return;
        }
        if self.young.len() >= self.half {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::judgement::Judgement;
    use whetstone_core::verdict::Verdict;
    use whetstone_env::python::Quality;

    use super::super::Known;
    use super::*;

    #[test]
    fn it_holds_the_newest_and_never_more_than_allowed() {
        let mut memory = Memory::new(8);
        let key = |n: u8| Key([n; 32]);
        let judgement = Judgement::of_reply(Verdict::NoCode, 1).unwrap();
        let quality = Quality { complexity: 0.5, readability: 0.5, documentation: 0.5 };
        let known = Known { judgement, quality, defines_entry_point: true, limit_us: None };
        for n in 0..100 {
            memory.put(key(n), known.clone());
            assert!(memory.young.len() + memory.old.len() <= 8);
            let newest = (0..=n).rev().take(4);
            assert!(newest.into_iter().all(|n| memory.get(&key(n)).is_some()), "{n}");
        }
        assert!(memory.get(&key(0)).is_none());
    }
}
