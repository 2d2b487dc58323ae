//! An address, checked before anything is sent to it.

use ureq::http::Uri;

use super::HttpError;
use crate::shown;

/// An absolute `http` or `https` address without a password in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    uri: Uri,
}

impl Address {
    /// Checks `text`.
    pub fn parse(text: &str) -> Result<Self, HttpError> {
        let refuse = |reason: &str| HttpError::Address {
            url: shown::address(after_password(text), None),
            reason: reason.to_owned(),
        };
        let uri: Uri = text.parse().map_err(|_| refuse("it is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(refuse("it must begin with http:// or https://"));
        }
        let authority = uri.authority().ok_or_else(|| refuse("it names no machine"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("a name or password has no place in it; use a key"));
        }
        if authority.host().is_empty() {
            return Err(refuse("it names no machine"));
        }
        Ok(Self { text: text.to_owned(), uri })
    }

    /// The address as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address for messages: without its query.
    pub fn shown(&self) -> String {
        shown::address(&self.text, None)
    }

    /// The address with `ending` of its path replaced by `other`, without a query.
    pub fn beside(&self, ending: &str, other: &str) -> Option<String> {
        let start = self.uri.path().trim_end_matches('/').strip_suffix(ending)?;
        let authority = self.uri.authority()?;
        Some(format!("{}://{authority}{start}{other}", self.uri.scheme_str()?))
    }

    /// Whether it is this machine itself, which no proxy can reach.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_loopback_ip = host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        is_loopback_ip || host.eq_ignore_ascii_case("localhost")
    }
}

/// The part of an address that may be shown: nothing before the `@`, which may hold a password.
fn after_password(text: &str) -> &str {
    text.rsplit_once('@').map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(Address::parse(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        refused(
            "localhost:8129",
            "`localhost:8129` is not a valid address: it must begin with http:// or https://",
        );
        refused(
            "ftp://x/y",
            "`ftp://x/y` is not a valid address: it must begin with http:// or https://",
        );
        refused("http://a b/", "`http://a b/` is not a valid address: it is not a URL");
        refused("", "`` is not a valid address: it is not a URL");
    }

    #[test]
    fn a_password_is_refused_and_not_shown() {
        refused(
            "http://me:sesame@host/v1?x=1",
            "`host/v1` is not a valid address: a name or password has no place in it; use a key",
        );
    }

    #[test]
    fn the_neighbour_of_a_path_keeps_machine_and_port() {
        let beside =
            |text: &str| Address::parse(text).unwrap().beside("/chat/completions", "/models");
        assert_eq!(beside("http://h:81/v1/chat/completions?a=1").unwrap(), "http://h:81/v1/models");
        assert_eq!(beside("http://h/v1/chat/completions/").unwrap(), "http://h/v1/models");
        assert_eq!(beside("http://h/v1"), None);
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        let is_loopback = |text: &str| Address::parse(text).unwrap().is_loopback();
        assert!(is_loopback("http://LOCALHOST:1/"));
        assert!(is_loopback("http://127.8.9.1/"));
        assert!(is_loopback("https://[::1]:8/x"));
        assert!(!is_loopback("http://localhost.example.com/"));
        assert!(!is_loopback("http://10.0.0.1/"));
    }
}
