//! Places in a seeded order, by what something holds and not by where it stands.

use whetstone_core::Seed;

/// A digest that tells texts apart.
pub(super) type Digest = [u8; 16];

/// The digest of some parts; where one ends matters.
pub(super) fn digest(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}

/// The place of a digest in the order of a seed.
pub(super) fn place(seed: Seed, stage: &str, digest: &Digest) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    seed.derive(stage, u64::from_le_bytes(first)).get()
}
