//! Errors of an HTTP exchange.

use std::error::Error;
use std::io;
use std::time::Duration;

use super::Limits;
use crate::shown;

/// Why there is no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Nothing was sent: the address is not valid.
    #[error("`{url}` is not a valid address: {reason}")]
    Address {
        /// The given address.
        url: String,
        /// The problem.
        reason: String,
    },
    /// Connection refused, or the name is unknown.
    #[error("cannot reach `{url}`")]
    Unreachable {
        /// The URL.
        url: String,
        /// The error of the operating system.
        #[source]
        source: Box<ureq::Error>,
    },
    /// Too slow.
    #[error("`{url}` did not answer in time ({phase}, limit {} s)", limit.as_secs_f64())]
    Timeout {
        /// The URL.
        url: String,
        /// The phase that timed out.
        phase: String,
        /// The timeout.
        limit: Duration,
    },
    /// The connection ended before the answer did, or spoke no HTTP.
    #[error("the connection to `{url}` broke")]
    Broken {
        /// The URL.
        url: String,
        /// The cause.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The other side cannot be trusted, or does not speak TLS. A retry changes neither.
    #[error("cannot establish a secure connection to `{url}`: {reason}")]
    Tls {
        /// The URL.
        url: String,
        /// The problem with the certificate or the connection.
        reason: String,
    },
    /// More bytes than allowed.
    #[error("the response of `{url}` exceeds {limit_bytes} bytes")]
    TooLong {
        /// The URL that answered.
        url: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// An answer that says no.
    #[error("`{url}` answers {status}: {beginning}")]
    Status {
        /// The URL that answered.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of the body.
        beginning: String,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// More redirects than allowed, or one that cannot be followed.
    #[error("`{url}` redirects too often, or without a target")]
    Redirects {
        /// The URL.
        url: String,
    },
}

impl HttpError {
    /// Sorts what `ureq` reports.
    pub(super) fn of(url: &str, limits: &Limits, source: ureq::Error) -> Self {
        use ureq::{Error, Timeout};
        let url = shown::address(url, None);
        if let Some(reason) = distrust(&source) {
            return Self::Tls { url, reason };
        }
        match source {
            Error::Timeout(which) => {
                let limit = match which {
                    Timeout::Resolve | Timeout::Connect => limits.connect,
                    Timeout::PerRead | Timeout::PerWrite => limits.silence,
                    _ => limits.total,
                };
                Self::Timeout { url, phase: which.to_string(), limit }
            }
            Error::BadUri(reason) => Self::Address { url, reason },
            Error::Http(source) => Self::Address { url, reason: source.to_string() },
            Error::TooManyRedirects | Error::RedirectFailed => Self::Redirects { url },
            source @ (Error::HostNotFound
            | Error::ConnectionFailed
            | Error::ConnectProxyFailed(_)
            | Error::InvalidProxyUrl) => Self::Unreachable { url, source: Box::new(source) },
            Error::Io(source) if is_unreachable(&source) => {
                Self::Unreachable { url, source: Box::new(Error::Io(source)) }
            }
            source => Self::Broken { url, source: Box::new(source) },
        }
    }

    /// The error with its cause.
    pub(crate) fn in_one_line(&self) -> String {
        match self.source() {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }

    /// A word to count by.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Status { status, .. } => status.to_string(),
            Self::Timeout { .. } => "timeout".to_owned(),
            _ => "connection".to_owned(),
        }
    }

    /// Whether a second try may find the machine better.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Broken { .. } => true,
            Self::Status { status, .. } => is_passing_status(*status),
            Self::Address { .. }
            | Self::Tls { .. }
            | Self::TooLong { .. }
            | Self::Redirects { .. } => false,
        }
    }
}

/// Whether a status means "not now" and not "no".
pub(crate) fn is_passing_status(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

/// Why a connection cannot be made secure, if that is what `err` says and another try would say it
/// again. What TLS reports arrives wrapped in types that are not ours to know, so its words are
/// looked at; the tests hold them. Other troubles of TLS, like an alert of a server that is being
/// restarted, are broken connections.
fn distrust(err: &ureq::Error) -> Option<String> {
    let text = match err {
        ureq::Error::Tls(text) => return Some((*text).to_owned()),
        ureq::Error::Io(err) => err.to_string(),
        ureq::Error::Rustls(err) => err.to_string(),
        _ => return None,
    };
    if text.contains("InvalidContentType") {
        return Some("the server does not speak TLS; is it an http:// address?".to_owned());
    }
    let at = text.find("invalid peer certificate")?;
    Some(shown::beginning(&text.as_bytes()[at..], None))
}

fn is_unreachable(err: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        err.kind(),
        Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::AddrNotAvailable
            | Kind::NetworkDown
    )
}
