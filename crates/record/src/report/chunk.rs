//! Bytes as a page can carry them: deflated (zlib), then in base64 (RFC 4648).
//!
//! The alphabet has no `<`, `&` or quote: encoded data cannot end the element that contains it.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Packs `bytes`.
pub(super) fn pack(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(7));
    encoder.write_all(bytes)?;
    Ok(base64(&encoder.finish()?))
}

/// The name of an inline text in a content security policy.
pub fn policy_hash(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// Decodes the output of [`base64`].
#[cfg(test)]
pub(super) fn unbase64(text: &str) -> Vec<u8> {
    let letters: Vec<u8> = text.bytes().filter(|&letter| letter != b'=').collect();
    let value = |letter: u8| {
        (0..64).zip(ALPHABET).find(|&(_, &known)| known == letter).map_or(0, |found| found.0)
    };
    let mut bytes = Vec::new();
    for group in letters.chunks(4) {
        let bits = (0..4)
            .fold(0_u32, |bits, at| bits << 6 | group.get(at).map_or(0, |&letter| value(letter)));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in vectors {
            assert_eq!(base64(text.as_bytes()), expected);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn a_policy_names_a_text_by_its_sha256() {
        // From the text of the recommendation: `printf "alert('Hello, world.');" | openssl …`.
        let expected = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert_eq!(policy_hash("alert('Hello, world.');"), expected);
    }

    #[test]
    fn what_is_packed_unpacks_and_cannot_end_an_element() {
        let text = "</script><script>alert(1)</script>".repeat(100);
        let packed = pack(text.as_bytes()).unwrap();
        assert!(packed.bytes().all(|byte| ALPHABET.contains(&byte) || byte == b'='));
        assert!(packed.len() < text.len() / 10, "it is smaller");
        let mut back = String::new();
        let unpacked = unbase64(&packed);
        flate2::read::ZlibDecoder::new(&unpacked[..]).read_to_string(&mut back).unwrap();
        assert_eq!(back, text);
    }
}
