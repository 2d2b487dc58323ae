//! A Python string: Unicode, in which half of a surrogate pair may stand alone.
//!
//! Held as Python's `s.encode("utf-8", "surrogatepass")`, in which every string has one encoding.

use std::fmt;

/// A Python string.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Text(Vec<u8>);

impl Text {
    /// A string from its encoding; `None` if these bytes are none.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = bytes.as_slice();
        while let Err(error) = std::str::from_utf8(rest) {
            rest = &rest[error.valid_up_to()..];
            match rest {
                [0xED, 0xA0..=0xBF, 0x80..=0xBF, after @ ..] => rest = after,
                _ => return None,
            }
        }
        Some(Self(bytes))
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The string, unless a surrogate stands alone in it.
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], ok: bool) {
        assert_eq!(Text::from_bytes(bytes.to_vec()).is_some(), ok, "{bytes:x?}");
    }

    #[test]
    fn lone_surrogates_are_text_and_other_broken_bytes_are_not() {
        check("aß€😀".as_bytes(), true);
        check(b"\xED\xA0\x80", true);
        check(b"a\xED\xBF\xBFb\xED\xA0\x80", true);
        check(b"\xED\xA0", false);
        check(b"\xED\xA0a", false);
        check(b"\xC0\x80", false);
        check(b"\xFF", false);
        check(b"\xF4\x90\x80\x80", false);
        check(b"abc\xE2\x82", false);
    }

    #[test]
    fn a_string_with_a_lone_surrogate_is_no_rust_string() {
        assert_eq!(Text::from("aß").to_str(), Some("aß"));
        assert_eq!(
            Text::from_bytes(b"\xED\xA0\x80".to_vec()).and_then(|t| t.to_str().map(str::len)),
            None
        );
    }
}
