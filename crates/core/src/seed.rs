//! One run seed, from which everything random is derived.
//!
//! `seed.derive(stage, index)` is the first eight bytes, little-endian, of BLAKE3 in key-derivation
//! mode over `seed ‖ len(stage) ‖ stage ‖ index`. A hash and not a mixing function of our own:
//! nearby seeds, stages and indices give unrelated streams, and the value is the same on every
//! platform and in every version. The vectors in the test below are a promise: a change to them
//! changes what every recorded seed means.
//!
//! Not here: a generator of random numbers. A consumer seeds its own with [`Seed::get`].

use serde::{Deserialize, Serialize};

/// Domain of our derivation; never to be used for anything else.
const CONTEXT: &str = "whetstone 2026-11 seed derivation v1";

/// The seed of a stream of random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(u64);

impl Seed {
    /// The seed a user gave for the whole run.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed of item `index` of `stage`, unrelated to that of any other stage or index.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_core::Seed;
    /// let run = Seed::new(42);
    /// assert_eq!(run.derive("rollout", 0), Seed::new(42).derive("rollout", 0));
    /// assert_ne!(run.derive("rollout", 0), run.derive("rollout", 1));
    /// assert_ne!(run.derive("rollout", 0), run.derive("shuffle", 0));
    /// ```
    #[must_use]
    pub fn derive(self, stage: &str, index: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&self.0.to_le_bytes());
        // The length keeps ("ab", …) and ("a", "b…") apart.
        hasher.update(&(stage.len() as u64).to_le_bytes());
        hasher.update(stage.as_bytes());
        hasher.update(&index.to_le_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Self(u64::from_le_bytes(first))
    }

    /// The number itself, to seed a generator with.
    pub const fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Made with another implementation, the Python package `blake3`:
    ///
    /// ```python
    /// name = stage.encode()
    /// text = struct.pack("<QQ", seed, len(name)) + name + struct.pack("<Q", index)
    /// digest = blake3(text, derive_key_context="whetstone 2026-11 seed derivation v1").digest()
    /// struct.unpack("<Q", digest[:8])
    /// ```
    #[test]
    fn the_vectors_never_change() {
        let vectors = [
            (0, "", 0, 0x8ab8_7d08_3ca1_61ce),
            (42, "rollout", 0, 0xfb9a_6481_c69e_4e93),
            (42, "rollout", 1, 0x25d7_b737_6beb_718c),
            (42, "shuffle", 0, 0x9fbf_148b_c440_b44e),
            (u64::MAX, "采样", u64::MAX, 0xeb00_b940_6183_dbd2),
        ];
        for (seed, stage, index, expected) in vectors {
            let got = Seed::new(seed).derive(stage, index).get();
            assert_eq!(got, expected, "derive({seed}, {stage:?}, {index}) = {got:#018x}");
        }
    }

    #[test]
    fn stage_and_index_cannot_be_confused() {
        let stages = ["", "a", "ab", "b", "a\0", "\0a"];
        let indices = [0, 1, 2, 255, 256, u64::MAX];
        let seeds = [0, 1, u64::MAX];
        let all: HashSet<_> = seeds
            .iter()
            .flat_map(|&seed| stages.iter().map(move |stage| (seed, stage)))
            .flat_map(|(seed, stage)| {
                indices.iter().map(move |&i| Seed::new(seed).derive(stage, i))
            })
            .collect();
        assert_eq!(all.len(), seeds.len() * stages.len() * indices.len());
    }

    #[test]
    fn derived_bits_are_balanced() {
        let ones: u32 =
            (0..4096).map(|index| Seed::new(7).derive("bits", index).get().count_ones()).sum();
        // 4096 * 64 fair bits: mean 131072, standard deviation 256; five of them.
        assert!(ones.abs_diff(131_072) < 1280, "{ones}");
    }
}
