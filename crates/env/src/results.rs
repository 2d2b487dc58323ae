//! Results that an environment keeps from one run to the next: the seam between environments and a cache.
//!
//! An environment decides what a result follows from ([`ResultKey`]) and whether it would come out the same again; a
//! cache stores bytes. So a cache knows no environment, and an environment knows no file.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Stores results of environments. All threads share it.
pub trait ResultCache: Send + Sync {
    /// The bytes that were stored under a key; counted as a hit or a miss of the key's part.
    fn get(&self, key: &ResultKey) -> Option<Vec<u8>>;

    /// Stores bytes under a key. A cache may drop them, as too large for instance.
    fn put(&self, key: &ResultKey, value: &[u8]);
}

/// Names a result by everything that it follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResultKey {
    /// The kind of result, as reports name it.
    pub part: &'static str,
    /// A hash of everything that the result follows from.
    pub digest: [u8; 32],
}

/// A result that was found just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<T> {
    /// It would come out the same again.
    Steady(T),
    /// It depends on the machine and how busy it was: it is not kept.
    Varying(T),
}

impl ResultKey {
    /// The key of a result of this part that follows from these facts alone, the version of `whet` included.
    ///
    /// Every fact is hashed with its length before it, so that no two lists of facts have the same bytes.
    pub fn of(part: &'static str, facts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        let own: [&[u8]; 2] = [part.as_bytes(), env!("CARGO_PKG_VERSION").as_bytes()];
        for fact in own.iter().chain(facts) {
            hasher.update(&(fact.len() as u64).to_le_bytes());
            hasher.update(fact);
        }
        Self { part, digest: *hasher.finalize().as_bytes() }
    }
}

/// The result that the cache has under a key; else it is found now, and kept if it is steady.
///
/// Bytes that cannot be read as the result count as missing.
pub fn cached<T: Serialize + DeserializeOwned, E>(
    cache: Option<&dyn ResultCache>,
    key: impl FnOnce() -> ResultKey,
    find: impl FnOnce() -> Result<Found<T>, E>,
) -> Result<T, E> {
    let Some((cache, key)) = cache.map(|cache| (cache, key())) else {
        return find().map(Found::into_inner);
    };
    let known = cache.get(&key).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(known) = known {
        return Ok(known);
    }
    let found = find()?;
    if let Found::Steady(result) = &found
        && let Ok(bytes) = serde_json::to_vec(result)
    {
        cache.put(&key, &bytes);
    }
    Ok(found.into_inner())
}

impl<T> Found<T> {
    fn into_inner(self) -> T {
        match self {
            Self::Steady(result) | Self::Varying(result) => result,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::Mutex;

    use super::*;

    /// A cache in memory that counts lookups by part.
    #[derive(Default)]
    pub(crate) struct MemoryCache {
        entries: Mutex<BTreeMap<ResultKey, Vec<u8>>>,
        lookups: Mutex<Vec<(&'static str, bool)>>,
    }

    impl MemoryCache {
        /// The lookups so far, in order: the part, and whether it was a hit.
        pub(crate) fn lookups(&self) -> Vec<(&'static str, bool)> {
            self.lookups.lock().expect("no test panics there").clone()
        }
    }

    impl ResultCache for MemoryCache {
        fn get(&self, key: &ResultKey) -> Option<Vec<u8>> {
            let found = self.entries.lock().expect("no test panics there").get(key).cloned();
            self.lookups.lock().expect("no test panics there").push((key.part, found.is_some()));
            found
        }

        fn put(&self, key: &ResultKey, value: &[u8]) {
            self.entries.lock().expect("no test panics there").insert(*key, value.to_owned());
        }
    }

    fn find(cache: &MemoryCache, found: Found<u32>) -> u32 {
        let key = || ResultKey::of("test", &[b"a"]);
        let Ok(result) = cached(Some(cache), key, || Ok::<_, Infallible>(found));
        result
    }

    #[test]
    fn a_steady_result_is_found_once_and_a_varying_one_every_time() {
        let cache = MemoryCache::default();
        assert_eq!(find(&cache, Found::Varying(1)), 1);
        assert_eq!(find(&cache, Found::Steady(2)), 2);
        assert_eq!(find(&cache, Found::Steady(3)), 2, "the kept one");
        assert_eq!(cache.lookups(), [("test", false), ("test", false), ("test", true)]);
    }

    #[test]
    fn bytes_that_are_not_the_result_count_as_missing() {
        let cache = MemoryCache::default();
        cache.put(&ResultKey::of("test", &[b"a"]), b"{}");
        assert_eq!(find(&cache, Found::Steady(4)), 4);
        assert_eq!(find(&cache, Found::Steady(5)), 4);
    }

    #[test]
    fn text_cannot_move_from_one_fact_to_the_next_nor_a_result_to_another_part() {
        let key = ResultKey::of("a", &[b"xy", b"z"]);
        assert_ne!(key, ResultKey::of("a", &[b"x", b"yz"]));
        assert_ne!(key.digest, ResultKey::of("b", &[b"xy", b"z"]).digest);
        assert_eq!(key, ResultKey::of("a", &[b"xy", b"z"]));
    }
}
