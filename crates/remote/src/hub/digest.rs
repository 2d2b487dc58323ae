//! Whether the bytes are those that an `ETag` names.
//!
//! On the public hub an `ETag` is a hash: SHA-256 of a large file's bytes, or Git's SHA-1 of a
//! small one, which is over `blob LENGTH\0` and the bytes. SHA-1 is written out below: it guards
//! against a broken transfer here and not against an enemy, and is not worth a dependency.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::repo;

/// The kind of hash in an `ETag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    GitBlob,
}

impl Hash {
    /// The hash that `etag` is, if it is one.
    pub(crate) fn of_etag(etag: &str) -> Option<Self> {
        match etag.len() {
            64 if repo::is_hex(etag) => Some(Self::Sha256),
            40 if repo::is_hex(etag) => Some(Self::GitBlob),
            _ => None,
        }
    }

    /// The hash of a file, as an `ETag` writes it.
    pub(super) fn of_file(self, path: &Path) -> io::Result<String> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        self.of_reader(file, length)
    }

    /// The hash of the `length` bytes that `reader` gives.
    pub(crate) fn of_reader(self, mut reader: impl Read, length: u64) -> io::Result<String> {
        match self {
            Self::Sha256 => {
                let mut hasher = Sha256::new();
                io::copy(&mut reader, &mut hasher)?;
                Ok(hex(&hasher.finalize()))
            }
            Self::GitBlob => {
                let head = format!("blob {length}\0");
                Ok(hex(&sha1(&mut BufReader::new(head.as_bytes().chain(reader)))?))
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// SHA-1 (FIPS 180-4) of all that `reader` gives.
fn sha1(reader: &mut impl Read) -> io::Result<[u8; 20]> {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let (mut block, mut length) = ([0; 64], 0u64);
    loop {
        let filled = fill(reader, &mut block)?;
        length += filled as u64;
        if filled == block.len() {
            compress(&mut state, &block);
            continue;
        }
        block[filled..].fill(0);
        block[filled] = 0x80;
        if filled >= 56 {
            compress(&mut state, &block);
            block.fill(0);
        }
        block[56..].copy_from_slice(&(length * 8).to_be_bytes());
        compress(&mut state, &block);
        let mut digest = [0; 20];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        return Ok(digest);
    }
}

#[expect(clippy::many_single_char_names, reason = "the names of the standard")]
fn compress(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut words = [0u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for i in 16..80 {
        words[i] = (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (i, word) in words.iter().enumerate() {
        let (mix, constant) = match i / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6u32),
        };
        let next = a.rotate_left(5).wrapping_add(mix).wrapping_add(e);
        (e, d, c, b, a) =
            (d, c, b.rotate_left(30), a, next.wrapping_add(constant).wrapping_add(*word));
    }
    for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
        *sum = sum.wrapping_add(part);
    }
}

/// Fills `block`, or as much of it as there is.
fn fill(reader: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match reader.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The examples of FIPS 180, and lengths around the end of a block by Python's `hashlib`.
    #[test]
    fn sha1_gives_the_published_values() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(hex(&sha1(&mut &bytes[..]).unwrap()), expected, "{} bytes", bytes.len());
        };
        check(b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        check(b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d");
        check(
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        );
        check(&[b'a'; 55], "c1c8bbdc22796e28c0e15163d20899b65621d65a");
        check(&[b'a'; 63], "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
        check(&[b'a'; 64], "0098ba824b5c16427bd7a1122a5a442a25ec644d");
        check(&vec![b'a'; 1_000_000], "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }

    /// `printf 'hello\n' | git hash-object --stdin` and `sha256sum`.
    #[test]
    fn a_file_has_the_hash_that_git_and_the_hub_give_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hello");
        fs::write(&path, "hello\n").unwrap();
        let hash = |hash: Hash| hash.of_file(&path).unwrap();
        assert_eq!(hash(Hash::GitBlob), "ce013625030ba8dba906f756967f9e9ca394464a");
        let sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        assert_eq!(hash(Hash::Sha256), sha256);
        assert_eq!(Hash::of_etag(sha256), Some(Hash::Sha256));
        assert_eq!(Hash::of_etag("d41d8cd98f00b204e9800998ecf8427e"), None);
    }
}
