//! A key that is sent and never shown.
//!
//! Servers often repeat the request in the text of an error, so hiding our own copy is not enough:
//! text from outside goes through [`Secret::hide_in`] before it may enter a message.

use std::fmt;

use ureq::http::HeaderValue;

/// The replacement of a key in a message.
const HIDDEN: &str = "[key]";
/// Least number of characters of a key at the end of a text that are hidden: fewer reveal nothing,
/// and many texts end like the beginning of a key.
const TELLING_CHARS: usize = 4;

/// An API key or a token. Neither `Debug` nor anything else prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a text cannot be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has characters that are not allowed in an HTTP header")]
pub struct NotAKey;

impl Secret {
    /// A key from `text`, without the white space around it; `None` if nothing is left.
    pub fn new(text: &str) -> Result<Option<Self>, NotAKey> {
        let text = text.trim();
        let is_sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        match (text.is_empty(), is_sendable) {
            (true, _) => Ok(None),
            (false, true) => Ok(Some(Self(text.to_owned()))),
            (false, false) => Err(NotAKey),
        }
    }

    /// The value of the header `authorization`, marked so that it is not printed.
    pub(crate) fn bearer(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .expect("a key is made of visible ASCII");
        value.set_sensitive(true);
        value
    }

    /// `text` without the key: as it is, as JSON escapes it, and the beginning of it at the end,
    /// where a text may have been cut.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        let escaped = self.0.replace('\\', "\\\\").replace('"', "\\\"");
        let slashed = escaped.replace('/', "\\/");
        let mut text = text.to_owned();
        for form in [&slashed, &escaped, &self.0] {
            text = text.replace(form.as_str(), HIDDEN);
        }
        let cut = (TELLING_CHARS..self.0.len()).rev().find(|&n| text.ends_with(&self.0[..n]));
        text.truncate(text.len() - cut.unwrap_or(0));
        text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text).unwrap().unwrap()
    }

    #[test]
    fn nothing_prints_it() {
        let key = secret("sk-abc");
        assert_eq!(format!("{key:?} {:?}", key.bearer()), "[key] Sensitive");
    }

    #[test]
    fn it_is_hidden_whole_escaped_and_cut_at_the_end() {
        let key = secret("sk-a/b\"c");
        assert_eq!(key.hide_in("got sk-a/b\"c, sorry"), "got [key], sorry");
        assert_eq!(key.hide_in(r#"{"got":"sk-a/b\"c"}"#), r#"{"got":"[key]"}"#);
        assert_eq!(key.hide_in(r#"{"got":"sk-a\/b\"c"}"#), r#"{"got":"[key]"}"#);
        assert_eq!(key.hide_in("got sk-a/b"), "got ");
        assert_eq!(key.hide_in("nothing of it"), "nothing of it");
        assert_eq!(key.hide_in("too many requests"), "too many requests");
    }

    #[test]
    fn white_space_around_it_is_dropped_and_a_line_break_within_is_refused() {
        assert_eq!(Secret::new(" sk-abc\n"), Ok(Some(secret("sk-abc"))));
        assert_eq!(Secret::new(" \n"), Ok(None));
        assert_eq!(Secret::new("sk-\nabc"), Err(NotAKey));
        assert_eq!(Secret::new("schlüssel"), Err(NotAKey));
    }
}
