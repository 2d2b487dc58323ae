//! A text in a pickle, in zlib, in base64: how `LiveCodeBench` packs its private tests.
//!
//! A pickle is a program for a machine that can build any object and call any function. This reader knows the
//! operations that write one text and refuses every other, so nothing in a file is ever called.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// The packed text, of at most `limit` bytes.
pub(super) fn text(packed: &str, limit: usize) -> Result<String, String> {
    let bytes = from_base64(packed.trim())?;
    let mut pickle = Vec::new();
    // A few bytes more for the frame of the pickle.
    let most = limit as u64 + 64;
    let mut inflated = ZlibDecoder::new(bytes.as_slice()).take(most + 1);
    inflated.read_to_end(&mut pickle).map_err(|err| format!("not zlib in the base64: {err}"))?;
    if pickle.len() as u64 > most {
        return Err(format!("unpacked it has more than {} MiB", limit >> 20));
    }
    pickled_text(&pickle).map(str::to_owned)
}

/// The text of a pickle that holds one text.
fn pickled_text(pickle: &[u8]) -> Result<&str, String> {
    let mut rest = Bytes { bytes: pickle, at: 0 };
    let mut text = None;
    loop {
        let at = rest.at;
        match rest.one()? {
            // PROTO, FRAME, MEMOIZE, BINPUT, LONG_BINPUT: they say how it was written, and remember the text.
            0x80 | b'q' => drop(rest.take(1)?),
            0x95 => drop(rest.take(8)?),
            b'r' => drop(rest.take(4)?),
            0x94 => {}
            // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8.
            0x8c if text.is_none() => text = Some(rest.text(1)?),
            b'X' if text.is_none() => text = Some(rest.text(4)?),
            0x8d if text.is_none() => text = Some(rest.text(8)?),
            b'.' => break,
            other => {
                return Err(format!(
                    "a pickle of something else than one text: operation {other:#04x} at byte {at}; write \
                     the tests as JSON"
                ));
            }
        }
    }
    if rest.at != pickle.len() {
        return Err(format!("bytes after the end of the pickle, at byte {}", rest.at));
    }
    text.ok_or_else(|| "the pickle is empty".to_owned())
}

/// A pickle, read from its beginning.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| format!("the pickle breaks off at byte {}", self.at))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn one(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// A text behind its length, which has so many bytes.
    fn text(&mut self, width: usize) -> Result<&'a str, String> {
        let length =
            self.take(width)?.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        let text = self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        std::str::from_utf8(text)
            .map_err(|err| format!("the text of the pickle is not UTF-8: {err}"))
    }
}

/// The bytes of base64 with its usual letters and padding.
fn from_base64(text: &str) -> Result<Vec<u8>, String> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    if padding > 2 || (padding > 0 && !text.len().is_multiple_of(4)) || body.len() % 4 == 1 {
        return Err("base64 that breaks off".to_owned());
    }
    let mut bytes = Vec::with_capacity(body.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0u32, 0);
    for (at, letter) in body.bytes().enumerate() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(format!("not base64 at byte {at}")),
        };
        (held, bits) = (held << 6 | u32::from(value), bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.extend(held.checked_shr(bits).map(|byte| byte.to_le_bytes()[0]));
            held &= (1 << bits) - 1;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `base64.b64encode(zlib.compress(pickle.dumps('[{"input": "3\\n", …}]')))` of Python 3.11.
    pub(in crate::source) const PACKED: &str =
        "eJxrYJlqwwABPRbR1UqZeQWlJUpWCkrGMXlKOgpK+aUlUAETiEBJanFJSWVBKkiouCQlM0+pNnaKHgCVnxRK";

    #[test]
    fn a_packed_text_is_read_whatever_protocol_wrote_it() {
        let expected = "[{\"input\": \"3\\n\", \"output\": \"4\\n\", \"testtype\": \"stdin\"}]";
        assert_eq!(text(PACKED, 1 << 20).unwrap(), expected);
        // `pickle.dumps("abc", protocol)`.
        for pickle in [
            &b"\x80\x02X\x03\0\0\0abcq\0."[..],
            &b"\x80\x04\x95\x07\0\0\0\0\0\0\0\x8c\x03abc\x94."[..],
            &b"\x80\x05\x8d\x03\0\0\0\0\0\0\0abc\x94."[..],
        ] {
            assert_eq!(pickled_text(pickle), Ok("abc"));
        }
    }

    #[test]
    fn a_pickle_that_calls_something_is_refused_by_its_operation() {
        // `os.system("true")` as `__reduce__` writes it.
        let call = b"\x80\x04\x95\x1f\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85R.";
        let said = pickled_text(call).unwrap_err();
        let expected = "a pickle of something else than one text: operation 0x8c at byte 19; write the tests as JSON";
        assert_eq!(said, expected);
        assert!(pickled_text(b"\x80\x04cos\nsystem\n.").unwrap_err().contains("operation 0x63"));
        assert!(pickled_text(b"\x80\x04]\x94.").unwrap_err().contains("operation 0x5d"));
    }

    #[test]
    fn what_breaks_off_or_goes_on_is_refused() {
        let said = |pickle: &[u8]| pickled_text(pickle).unwrap_err();
        assert_eq!(said(b"\x80\x04X\xff\xff\xff\xffabc"), "the pickle breaks off at byte 7");
        assert_eq!(said(b"\x80"), "the pickle breaks off at byte 1");
        assert_eq!(said(b"\x80\x04."), "the pickle is empty");
        assert_eq!(said(b"\x80\x04\x8c\x01a.b"), "bytes after the end of the pickle, at byte 6");
        assert!(said(b"\x80\x04\x8c\x01\xff.").starts_with("the text of the pickle is not UTF-8"));
    }

    #[test]
    fn base64_is_read_strictly() {
        assert_eq!(from_base64("aGVsbG8="), Ok(b"hello".to_vec()));
        assert_eq!(from_base64("aGVsbG8"), Ok(b"hello".to_vec()));
        assert_eq!(from_base64("/+8="), Ok(vec![0xff, 0xef]));
        assert_eq!(from_base64("aGV-"), Err("not base64 at byte 3".to_owned()));
        assert_eq!(from_base64("aGVsb"), Err("base64 that breaks off".to_owned()));
        assert_eq!(from_base64("aGVsbG8==="), Err("base64 that breaks off".to_owned()));
    }

    #[test]
    fn a_text_that_would_fill_the_memory_is_refused() {
        assert!(text(PACKED, 1 << 20).is_ok());
        let said = text(PACKED, 0);
        assert_eq!(said, Err("unpacked it has more than 0 MiB".to_owned()));
        assert!(text("aGVsbG8=", 1 << 20).unwrap_err().starts_with("not zlib in the base64"));
    }
}
