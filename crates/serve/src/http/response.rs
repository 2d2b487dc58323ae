//! An answer: a status, a kind of content, and a body that is there or is written when it is sent.
//!
//! Every answer says `Connection: close`. A body of unknown length goes out in chunks, so that one that
//! breaks off is seen to be broken.

use std::fmt;
use std::io::{self, Write};

use super::request::{Method, Refusal};

/// Headers of every response. `no-store`: completions stay in the run, not in a browser's cache.
const ALWAYS: &str = "Connection: close\r\n\
    Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n";

/// The content security policy of a response that is not a page.
const NOTHING: &str = "default-src 'none'";

/// The content type of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A page, and the policy that holds it.
    Page {
        /// The text of its content security policy.
        policy: String,
    },
    /// JSON.
    Json,
    /// A sentence.
    Text,
}

/// Writes a body.
pub type Writer = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// The body of a response.
pub enum Body {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Streams the body through this function. An error aborts the response.
    Streamed(Writer),
}

impl fmt::Debug for Body {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(out, "{} bytes", bytes.len()),
            Self::Streamed(_) => out.write_str("a stream"),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The content type.
    pub kind: Kind,
    /// The body.
    pub body: Body,
}

impl Response {
    /// JSON.
    pub fn json(bytes: Vec<u8>) -> Self {
        Self { status: 200, kind: Kind::Json, body: Body::Bytes(bytes) }
    }

    /// A page that is written when it is sent.
    pub fn page(policy: String, write: Writer) -> Self {
        Self { status: 200, kind: Kind::Page { policy }, body: Body::Streamed(write) }
    }

    /// Nothing but a sentence.
    pub fn sentence(status: u16, text: &str) -> Self {
        let body = Body::Bytes(format!("{text}\n").into_bytes());
        Self { status, kind: Kind::Text, body }
    }

    /// That there is nothing here.
    pub fn not_found() -> Self {
        super::request::NOT_FOUND.into()
    }

    /// Sends the answer. To HEAD, its head alone.
    pub(super) fn send(self, method: Method, out: &mut dyn Write) -> io::Result<()> {
        let length = match &self.body {
            Body::Bytes(bytes) => format!("Content-Length: {}", bytes.len()),
            Body::Streamed(_) => "Transfer-Encoding: chunked".to_owned(),
        };
        out.write_all(self.head(&length).as_bytes())?;
        match (method, self.body) {
            (Method::Head, _) => {}
            (Method::Get, Body::Bytes(bytes)) => out.write_all(&bytes)?,
            (Method::Get, Body::Streamed(write)) => {
                let mut chunks = Chunks { out };
                let mut buffered = io::BufWriter::with_capacity(64 << 10, &mut chunks);
                write(&mut buffered)?;
                buffered.flush()?;
                drop(buffered);
                chunks.end()?;
            }
        }
        out.flush()
    }

    fn head(&self, length: &str) -> String {
        let (kind, policy) = match &self.kind {
            Kind::Page { policy } => ("text/html; charset=utf-8", policy.as_str()),
            Kind::Json => ("application/json", NOTHING),
            Kind::Text => ("text/plain; charset=utf-8", NOTHING),
        };
        let allow = if self.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
        format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {kind}\r\n{length}\r\n{allow}{ALWAYS}\
             Content-Security-Policy: {policy}; frame-ancestors 'none'\r\n\r\n",
            self.status,
            phrase(self.status)
        )
    }
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Self {
        Self::sentence(refusal.status, refusal.reason)
    }
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}

/// A body in chunks: each with its length in front of it, and an empty one at the end.
struct Chunks<'a> {
    out: &'a mut dyn Write,
}

impl Chunks<'_> {
    fn end(self) -> io::Result<()> {
        self.out.write_all(b"0\r\n\r\n")
    }
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            write!(self.out, "{:x}\r\n", bytes.len())?;
            self.out.write_all(bytes)?;
            self.out.write_all(b"\r\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(response: Response, method: Method) -> (io::Result<()>, String) {
        let mut out = Vec::new();
        let result = response.send(method, &mut out);
        (result, String::from_utf8(out).unwrap())
    }

    fn stream(end: io::Result<()>) -> Response {
        let write = Box::new(move |out: &mut dyn Write| {
            out.write_all(b"hello")?;
            out.flush()?;
            out.write_all(b" you")?;
            end
        });
        Response::page("default-src 'none'".to_owned(), write)
    }

    #[test]
    fn a_stream_goes_out_in_chunks_and_one_that_breaks_has_no_last_one() {
        let (result, text) = sent(stream(Ok(())), Method::Get);
        assert!(result.is_ok() && text.contains("\r\nTransfer-Encoding: chunked\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n5\r\nhello\r\n4\r\n you\r\n0\r\n\r\n"), "{text}");
        let (result, text) = sent(stream(Err(io::Error::other("broken"))), Method::Get);
        assert!(result.is_err() && !text.contains("\r\n0\r\n\r\n"), "{text}");
    }

    #[test]
    fn a_head_has_the_length_and_no_body() {
        let (_, text) = sent(Response::sentence(404, "Nothing."), Method::Head);
        assert!(text.starts_with("HTTP/1.1 404 Not Found\r\n"), "{text}");
        assert!(text.contains("Content-Length: 9\r\n") && text.ends_with("\r\n\r\n"), "{text}");
    }
}
