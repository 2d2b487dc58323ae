//! One small client: blocking, shared by many threads, with bounds on time and size.
//!
//! It is `ureq` with safe defaults: an answer longer than its limit is an error and is not held in
//! memory, redirects are counted, a status is data until the caller asks for [`HttpAnswer::success`],
//! and a client for the local loopback uses no proxy (others follow the environment: `ALL_PROXY`,
//! `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). A key is sent to the address it was given for and not
//! to the target of a redirect.
//!
//! Not here: retries. Who asks knows whether asking twice is harmless, and only reads here how long
//! a server wants to be left alone ([`retry_after`]).

mod address;
mod error;
mod resolver;
mod retry_after;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::time::{Duration, SystemTime};

use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, header};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, ResponseExt, http};

pub use address::Address;
pub use error::HttpError;
pub(crate) use error::is_passing_status;
pub(crate) use retry_after::retry_after;

use self::resolver::Remembering;
use crate::secret::Secret;
use crate::shown;

/// Bytes read of an answer that is only shown in a message.
const ERROR_BODY_BYTES: u64 = 64 << 10;
/// Servers close connections they think idle, many after 5 seconds: ours are given up before.
const IDLE_AGE: Duration = Duration::from_secs(4);

/// The limits of a client.
#[derive(Debug, Clone)]
pub struct Limits {
    /// To resolve a name and to connect.
    pub connect: Duration,
    /// For a whole exchange, unless the caller reads the body: that may take hours.
    pub total: Duration,
    /// Between two pieces of a body.
    pub silence: Duration,
    /// Of a body that is held in memory.
    pub answer_bytes: u64,
    /// Redirects that are followed.
    pub redirects: u32,
    /// Connections kept for the next request.
    pub connections: usize,
}

/// A client with the key it sends.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    limits: Limits,
    secret: Option<Secret>,
}

/// A whole answer.
#[derive(Debug)]
pub struct HttpAnswer {
    /// The URL that answered, after redirects, without the query.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body: whole on success, the beginning of it otherwise.
    pub body: Vec<u8>,
}

/// The headers of an answer.
#[derive(Debug)]
pub struct Headers(HeaderMap);

/// An answer whose body has not been read yet.
pub struct Opened {
    /// The URL that answered, after redirects, without the query.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    body: Body,
}

/// The options of one exchange.
#[derive(Clone, Copy)]
struct Manner {
    redirects: Redirects,
    /// For all of it, or none.
    total: Option<Duration>,
}

/// Handling of redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// They are followed, as far as the limit goes.
    Follow,
    /// They are the answer.
    Show,
}

impl Client {
    /// A client for the machine at `address`, which `secret` is meant for.
    pub fn new(address: &Address, limits: Limits, secret: Option<Secret>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(limits.redirects)
            .redirect_auth_headers(RedirectAuthHeaders::Never)
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .timeout_global(Some(limits.total))
            .timeout_per_read(Some(limits.silence))
            .timeout_per_write(Some(limits.silence))
            .max_idle_connections(limits.connections)
            .max_idle_connections_per_host(limits.connections)
            .max_idle_age(IDLE_AGE)
            .input_buffer_size(64 << 10)
            .output_buffer_size(16 << 10)
            .user_agent(concat!("whetstone/", env!("CARGO_PKG_VERSION")));
        let config = if address.is_loopback() { config.proxy(None) } else { config };
        let parts = (DefaultConnector::default(), Remembering::default());
        Self { agent: Agent::with_parts(config.build(), parts.0, parts.1), limits, secret }
    }

    /// The key, to hide it in text from outside.
    pub(crate) fn secret(&self) -> Option<&Secret> {
        self.secret.as_ref()
    }

    /// The error of a body that the caller reads.
    pub(crate) fn broken(&self, url: &str, source: std::io::Error) -> HttpError {
        HttpError::of(url, &self.limits, source.into())
    }

    /// Asks for `url` and reads the answer, which may be a redirect.
    pub fn get(&self, url: &str) -> Result<HttpAnswer, HttpError> {
        let request = http::Request::get(url).header(header::ACCEPT, "application/json");
        self.read(self.send(url, request.body(()), self.whole(Redirects::Show))?)
    }

    /// Sends JSON to `url` and reads the answer. Redirects are the answer: a body is not sent on.
    pub fn post_json(&self, url: &str, json: &str) -> Result<HttpAnswer, HttpError> {
        let request =
            http::Request::post(url).header(header::CONTENT_TYPE, "application/json").body(json);
        self.read(self.send(url, request, self.whole(Redirects::Show))?)
    }

    /// Asks for the headers of `url` alone, which may be those of a redirect.
    pub fn head(&self, url: &str) -> Result<HttpAnswer, HttpError> {
        let request = http::Request::head(url).body(());
        let opened = self.send(url, request, self.whole(Redirects::Show))?;
        let Opened { url, status, headers, .. } = opened;
        Ok(HttpAnswer { url, status, headers, body: Vec::new() })
    }

    /// Asks for `url` from byte `from` on; the body is read by the caller.
    pub fn open(&self, url: &str, from: u64, redirects: Redirects) -> Result<Opened, HttpError> {
        let request = http::Request::get(url);
        let request = match from {
            0 => request,
            _ => request.header(header::RANGE, format!("bytes={from}-")),
        };
        self.send(url, request.body(()), Manner { redirects, total: None })
    }

    /// An exchange whose body is read into memory.
    fn whole(&self, redirects: Redirects) -> Manner {
        Manner { redirects, total: Some(self.limits.total) }
    }

    fn send<B: ureq::AsSendBody>(
        &self,
        url: &str,
        request: http::Result<http::Request<B>>,
        manner: Manner,
    ) -> Result<Opened, HttpError> {
        let failed = |source: ureq::Error| HttpError::of(url, &self.limits, source);
        let mut request = request.map_err(|source| failed(source.into()))?;
        if let Some(secret) = &self.secret {
            request.headers_mut().insert(header::AUTHORIZATION, secret.bearer());
        }
        let redirects = match manner.redirects {
            Redirects::Follow => self.limits.redirects,
            Redirects::Show => 0,
        };
        let is_usual = redirects == self.limits.redirects && manner.total.is_some();
        let request = if is_usual {
            // Only requests without settings of their own share what TLS remembers.
            request
        } else {
            let request = self.agent.configure_request(request);
            request.max_redirects(redirects).timeout_global(manner.total).build()
        };
        let response = self.agent.run(request).map_err(failed)?;
        let url = shown::address(&response.get_uri().to_string(), self.secret());
        let (parts, body) = response.into_parts();
        Ok(Opened { url, status: parts.status.as_u16(), headers: Headers(parts.headers), body })
    }

    /// Reads a body into memory, as far as the limit goes.
    pub(crate) fn read(&self, opened: Opened) -> Result<HttpAnswer, HttpError> {
        let Opened { url, status, headers, body } = opened;
        let is_success = (200..300).contains(&status);
        let limit = if is_success { self.limits.answer_bytes } else { ERROR_BODY_BYTES };
        let too_long = || HttpError::TooLong { url: url.clone(), limit_bytes: limit };
        if is_success && body.content_length().is_some_and(|length| length > limit) {
            return Err(too_long());
        }
        let mut bytes = Vec::new();
        let read = body.into_reader().take(limit + 1).read_to_end(&mut bytes);
        if is_success {
            // Of an error the beginning is enough, even if the rest never came.
            read.map_err(|source| self.broken(&url, source))?;
        }
        if is_success && bytes.len() as u64 > limit {
            return Err(too_long());
        }
        Ok(HttpAnswer { url, status, headers, body: bytes })
    }
}

impl HttpAnswer {
    /// The answer, if its status says success.
    pub fn success(self, secret: Option<&Secret>) -> Result<Self, HttpError> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let beginning = match self.body.as_slice() {
            // An answer to `HEAD` has no body; the public hub says it in a header.
            [] => self.headers.get("x-error-message").unwrap_or("(no text)").as_bytes(),
            body => body,
        };
        let beginning = shown::beginning(beginning, secret);
        let retry_after = retry_after(&self.headers, SystemTime::now());
        Err(HttpError::Status { url: self.url, status: self.status, beginning, retry_after })
    }

    /// The target of a redirect.
    pub(crate) fn redirect(&self) -> Option<&str> {
        redirect(self.status, &self.headers)
    }
}

impl Headers {
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of(map: HeaderMap) -> Self {
        Self(map)
    }

    /// The first header of that name, if it is text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }
}

impl Opened {
    /// The target of a redirect.
    pub(crate) fn redirect(&self) -> Option<&str> {
        redirect(self.status, &self.headers)
    }

    /// The body, piece by piece: as long as it is declared to be, or as it comes.
    pub fn into_reader(self) -> impl Read {
        self.body.into_reader()
    }
}

/// The `Location` header, if the status is that of a redirect.
fn redirect(status: u16, headers: &Headers) -> Option<&str> {
    headers.get("location").filter(|_| (300..400).contains(&status))
}
